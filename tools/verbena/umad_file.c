/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write() of a program cannot be refused here: a MAD that the kernel would refuse, such as one of an agent that is
 * not registered, is dropped. Longer messages (RMPP) are dropped, too.
 */
#include "umad_file.h"

#include <endian.h>
#include <errno.h>
#include <rdma/rdma_user_ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../facade/umad_record.h"
#include "umad_agent.h"

#define AGENTS        32 /* IB_UMAD_MAX_AGENTS of the kernel */
#define CLASS_SA      0x03
#define MAD_HEADER    24 /* the part of a request that comes back with ETIMEDOUT */
#define PENDING_LIMIT 256

/* A request that nobody answers. */
struct pending {
	TAILQ_ENTRY(pending) entry;
	uint64_t deadline_ms;
	struct ib_user_mad_hdr hdr;
	uint8_t mad[MAD_HEADER];
};

struct umad_file {
	LIST_ENTRY(umad_file) entry; /* of device->files */
	int fd;
	struct umad_device *device;
	bool has_agents;     /* has ever had any: the format of headers is settled */
	bool has_pkey_index; /* headers are struct ib_user_mad_hdr, not the older, shorter one */
	struct umad_agent agents[AGENTS];
	TAILQ_HEAD(, pending) pending;
	unsigned int pending_count;
};

struct umad_file *umad_file_create(int fd, struct umad_device *device)
{
	struct umad_file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->fd = fd;
	f->device = device;
	LIST_INSERT_HEAD(&device->files, f, entry);
	TAILQ_INIT(&f->pending);
	return f;
}

static void forget(struct umad_file *f, struct pending *p)
{
	TAILQ_REMOVE(&f->pending, p, entry);
	f->pending_count--;
	free(p);
}

void umad_file_destroy(struct umad_file *f)
{
	while (!TAILQ_EMPTY(&f->pending))
		forget(f, TAILQ_FIRST(&f->pending));
	LIST_REMOVE(f, entry);
	close(f->fd);
	free(f);
}

/* ---- ioctl ---- */

static bool is_taken(const struct umad_file *f, const struct umad_agent *a)
{
	const struct umad_file *other;

	LIST_FOREACH(other, &f->device->files, entry)
		for (int i = 0; i < AGENTS; i++)
			if (other->agents[i].used && umad_agents_overlap(&other->agents[i], a))
				return true;
	return false;
}

static int add_agent(struct umad_file *f, const struct umad_agent *a, uint32_t *id)
{
	int err = umad_agent_check(a, !f->device->port.lid);

	if (err)
		return err;
	if (is_taken(f, a))
		return -EINVAL;
	for (uint32_t i = 0; i < AGENTS; i++) {
		if (f->agents[i].used)
			continue;
		f->agents[i] = *a;
		f->agents[i].used = true;
		f->has_agents = true;
		*id = i;
		return 0;
	}
	return -ENOMEM;
}

static int register_agent(struct umad_file *f, struct ib_user_mad_reg_req *req)
{
	struct umad_agent agent;
	uint32_t id;
	int err;

	umad_agent_from_req(req, &agent);
	err = add_agent(f, &agent, &id);
	if (!err)
		req->id = id;
	return err;
}

static int register_agent2(struct umad_file *f, struct ib_user_mad_reg_req2 *req)
{
	bool is_first = !f->has_agents;
	struct umad_agent agent;
	uint32_t id;
	int err = umad_agent_from_req2(req, &agent);

	if (!err)
		err = add_agent(f, &agent, &id);
	if (err)
		return err;
	req->id = id;
	f->has_pkey_index |= is_first;
	return 0;
}

static int unregister_agent(struct umad_file *f, uint32_t id)
{
	struct pending *p, *next;

	if (id >= AGENTS || !f->agents[id].used)
		return -EINVAL;
	f->agents[id].used = false;
	for (p = TAILQ_FIRST(&f->pending); p; p = next) {
		next = TAILQ_NEXT(p, entry);
		if (p->hdr.id == id)
			forget(f, p);
	}
	return 0;
}

static int carry_out(struct umad_file *f, uint32_t request, uint8_t *argument)
{
	union {
		struct ib_user_mad_reg_req reg;
		struct ib_user_mad_reg_req2 reg2;
		uint32_t id;
	} u;
	int err;

	_Static_assert(sizeof(u) <= UMAD_ARGUMENT_MAX, "arguments fit a message");
	memcpy(&u, argument, sizeof(u));
	switch (request) {
	case IB_USER_MAD_REGISTER_AGENT:
		err = register_agent(f, &u.reg);
		break;
	case IB_USER_MAD_REGISTER_AGENT2:
		err = register_agent2(f, &u.reg2);
		break;
	case IB_USER_MAD_UNREGISTER_AGENT:
		return unregister_agent(f, u.id);
	case IB_USER_MAD_ENABLE_PKEY:
		if (f->has_agents)
			return -EINVAL;
		f->has_pkey_index = true;
		return 0;
	default:
		return -ENOTTY;
	}
	memcpy(argument, &u, sizeof(u));
	return err;
}

static void handle_ioctl(struct umad_file *f, const uint8_t *data, size_t len, int answer_to)
{
	struct umad_answer answer = { .err = -EINVAL };
	struct umad_request request;

	if (len == sizeof(request)) {
		memcpy(&request, data, sizeof(request));
		memcpy(answer.argument, request.argument, sizeof(answer.argument));
		answer.err = carry_out(f, request.request, answer.argument);
	}
	send(answer_to, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- MADs ---- */

static size_t header_len(const struct umad_file *f)
{
	return f->has_pkey_index ? sizeof(struct ib_user_mad_hdr)
				 : sizeof(struct ib_user_mad_hdr_old);
}

/* A program that does not read loses what comes, as it does with the kernel's limit. */
static void deliver(struct umad_file *f, struct ib_user_mad_hdr *hdr, const uint8_t *mad,
		    size_t len)
{
	uint8_t buf[sizeof(*hdr) + HCA_MAD_BYTES];
	size_t head = header_len(f);

	hdr->length = (uint32_t)(head + len);
	memcpy(buf, hdr, head);
	memcpy(buf + head, mad, len);
	send(f->fd, buf, head + len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The header of a response, which comes from where the request went. */
static void turn_round(struct ib_user_mad_hdr *hdr)
{
	hdr->status = 0;
	hdr->timeout_ms = 0;
	hdr->retries = 0;
	hdr->qkey = 0;
	hdr->grh_present = 0;
}

static void expect_timeout(struct umad_file *f, const struct ib_user_mad_hdr *hdr,
			   const uint8_t *mad, uint64_t now_ms)
{
	struct pending *p;

	if (!hdr->timeout_ms || f->pending_count == PENDING_LIMIT)
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->deadline_ms = now_ms + (uint64_t)hdr->timeout_ms * ((uint64_t)hdr->retries + 1);
	p->hdr = *hdr;
	memcpy(p->mad, mad, MAD_HEADER);
	TAILQ_INSERT_TAIL(&f->pending, p, entry);
	f->pending_count++;
}

static void handle_mad(struct umad_file *f, const uint8_t *data, size_t len, uint64_t now_ms)
{
	struct ib_user_mad_hdr hdr = { 0 };
	uint8_t mad[HCA_MAD_BYTES] = { 0 };
	const struct sa_port *port = &f->device->port;
	size_t head = header_len(f);

	if (len < head + MAD_HEADER || len > head + HCA_MAD_BYTES)
		return;
	memcpy(&hdr, data, head);
	memcpy(mad, data + head, len - head);
	if (hdr.id >= AGENTS || !f->agents[hdr.id].used || mad[MAD_METHOD] & MAD_METHOD_RESPONSE)
		return;
	/* The kernel puts a number of the agent into the upper half of the id, for it to have the response. */
	mad[MAD_TID] = mad[MAD_TID + 1] = mad[MAD_TID + 2] = 0;
	mad[MAD_TID + 3] = (uint8_t)(hdr.id + 1);
	if (port->lid && be16toh(hdr.lid) == port->sm_lid && be32toh(hdr.qpn) == HCA_GSI_QPN &&
	    mad[MAD_CLASS] == CLASS_SA && sa_answer(f->device->subnet, port, mad)) {
		turn_round(&hdr);
		deliver(f, &hdr, mad, sizeof(mad));
		return;
	}
	expect_timeout(f, &hdr, mad, now_ms);
}

uint64_t umad_file_expire(struct umad_file *f, uint64_t now_ms)
{
	uint64_t next_ms = UINT64_MAX;
	struct pending *p, *next;

	for (p = TAILQ_FIRST(&f->pending); p; p = next) {
		next = TAILQ_NEXT(p, entry);
		if (p->deadline_ms > now_ms) {
			next_ms = p->deadline_ms < next_ms ? p->deadline_ms : next_ms;
			continue;
		}
		p->hdr.status = ETIMEDOUT;
		deliver(f, &p->hdr, p->mad, MAD_HEADER);
		forget(f, p);
	}
	return next_ms;
}

/* The first descriptor that came with a message; further ones are closed. -1: none came. */
static int take_descriptor(struct msghdr *msg)
{
	struct cmsghdr *c;
	int fd, first = -1;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + CMSG_LEN(sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
			memcpy(&fd, CMSG_DATA(c) + at, sizeof(int));
			if (first < 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

bool umad_file_receive(struct umad_file *f, uint64_t now_ms)
{
	uint8_t data[4096];
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(f->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	int fd;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	fd = take_descriptor(&msg);
	if (fd >= 0) {
		handle_ioctl(f, data, (size_t)n, fd);
		close(fd);
		return true;
	}
	if (!n)
		return false;
	if (!(msg.msg_flags & MSG_TRUNC))
		handle_mad(f, data, (size_t)n, now_ms);
	return true;
}
