/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm_rig.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>

struct sockaddr_in own_address(uint16_t port)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct ibv_gid_entry e;

	for (uint32_t i = 0; i < 256; i++) {
		if (ibv_query_gid_ex(rig_context(), 1, i, &e, 0) ||
		    e.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    memcmp(e.gid.raw, mapped, sizeof(mapped)) != 0 || e.gid.raw[12] == 127)
			continue;
		memcpy(&addr.sin_addr, e.gid.raw + 12, 4);
		return addr;
	}
	rig_skip("the adapter has no IPv4 address");
}

unsigned int scale(void)
{
	const char *text = getenv("TRAFFIC_SCALE");

	return text ? (unsigned int)strtoul(text, NULL, 0) : 1;
}

struct rdma_cm_id *listen_at(struct rdma_event_channel *channel, int backlog)
{
	struct sockaddr_in addr = own_address(0);
	struct rdma_cm_id *id = NULL;

	check_ok(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	check_ok(rdma_bind_addr(id, (struct sockaddr *)&addr));
	check_ok(rdma_listen(id, backlog));
	return id;
}

uint16_t port_of(struct rdma_cm_id *listener)
{
	return ntohs(rdma_get_src_port(listener));
}

struct rdma_cm_id *route_to(struct rdma_event_channel *channel, uint16_t port)
{
	struct sockaddr_in addr = own_address(port);
	struct rdma_cm_id *id = NULL;

	check_ok(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	check_ok(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, WAIT_MS));
	expect_ack(channel, ADDR_RESOLVED, 0);
	check_ok(rdma_resolve_route(id, WAIT_MS));
	expect_ack(channel, ROUTE_RESOLVED, 0);
	return id;
}

void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	check_ok(rdma_create_qp(id, NULL, &attr));
}

void make_small_qp(struct rdma_cm_id *id)
{
	static struct ibv_cq *cq;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (!cq)
		cq = must(ibv_create_cq(id->verbs, 16, NULL, NULL, 0));
	attr.send_cq = attr.recv_cq = cq;
	check_ok(rdma_create_qp(id, NULL, &attr));
}

void serve(struct rdma_event_channel *channel, unsigned int count)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;

	for (unsigned int ended = 0; ended < count;) {
		if (!is_readable(channel->fd, WAIT_MS))
			rig_fail(__FILE__, __LINE__, "after %u of %u connections nothing comes",
				 ended, count);
		check_ok(rdma_get_cm_event(channel, &event));
		id = event->id;
		type = event->event;
		check_equal(event->status, 0);
		check_ok(rdma_ack_cm_event(event));
		switch (type) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			make_small_qp(id);
			check_ok(rdma_accept(id, NULL));
			break;
		case RDMA_CM_EVENT_ESTABLISHED:
			check_equal(qp_state(id), IBV_QPS_RTS);
			break;
		default:
			check_equal(type, RDMA_CM_EVENT_DISCONNECTED);
			destroy(id);
			ended++;
			break;
		}
	}
}

struct ibv_qp_attr qp_attr(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	check_ok(ibv_query_qp(id->qp, &attr, 0xffffff, &init));
	return attr;
}

enum ibv_qp_state qp_state(struct rdma_cm_id *id)
{
	return qp_attr(id).qp_state;
}

void destroy(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	check_ok(rdma_destroy_id(id));
}

struct rdma_cm_event *expect_at(const char *file, int line, struct rdma_event_channel *channel,
				enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event;

	if (!is_readable(channel->fd, WAIT_MS))
		rig_fail(file, line, "%s does not come", rdma_event_str(type));
	if (rdma_get_cm_event(channel, &event))
		rig_fail(file, line, "rdma_get_cm_event: %s", strerror(errno));
	if (event->event != type || event->status != status)
		rig_fail(file, line, "%s (%d) comes, not %s (%d)", rdma_event_str(event->event),
			 event->status, rdma_event_str(type), status);
	return event;
}

struct rdma_cm_id *expect_request(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event = expect(channel, CONNECT_REQUEST, 0);
	struct rdma_cm_id *id = event->id;

	check_ok(rdma_ack_cm_event(event));
	return id;
}

void check_quiet(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	/* The descriptor may be readable for an event that the library does not report. */
	check_ok(fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	if (!rdma_get_cm_event(channel, &event))
		rig_fail(__FILE__, __LINE__, "%s (%d) comes, and nothing should",
			 rdma_event_str(event->event), event->status);
	check_equal(errno, EAGAIN);
	check_ok(fcntl(channel->fd, F_SETFL, 0));
}

struct cm_pair pair_requested(void)
{
	struct cm_pair p = {
		.listen_channel = must(rdma_create_event_channel()),
		.channel = must(rdma_create_event_channel()),
	};

	p.listener = listen_at(p.listen_channel, 8);
	p.active = route_to(p.channel, port_of(p.listener));
	make_qp(p.active);
	check_ok(rdma_connect(p.active, NULL));
	p.passive = expect_request(p.listen_channel);
	make_qp(p.passive);
	return p;
}

struct cm_pair pair_accepted(void)
{
	struct cm_pair p = pair_requested();

	check_ok(rdma_accept(p.passive, NULL));
	check(is_readable(p.channel->fd, WAIT_MS));
	return p;
}

struct cm_pair pair_connected(void)
{
	struct cm_pair p = pair_accepted();

	expect_ack(p.channel, ESTABLISHED, 0);
	expect_ack(p.listen_channel, ESTABLISHED, 0);
	return p;
}

void pair_end(struct cm_pair *p)
{
	if (p->active)
		destroy(p->active);
	if (p->passive)
		destroy(p->passive);
	if (p->listener)
		destroy(p->listener);
	rdma_destroy_event_channel(p->channel);
	rdma_destroy_event_channel(p->listen_channel);
}

/* ---- memory ---- */

#define SMALL_CHANGE                                                                               \
	(64u << 10) /* what malloc keeps for its threads, and arrays that are one longer */

struct holdings holdings(void)
{
	struct mallinfo2 info = mallinfo2();
	struct holdings h = { .bytes = info.uordblks + info.hblkhd };
	DIR *dir = must(opendir("/proc/self/fd"));

	while (readdir(dir))
		h.fds++;
	closedir(dir);
	return h;
}

void check_given_back(const struct holdings *before)
{
	struct holdings now;

	wait_for((now = holdings(), now.bytes <= before->bytes + SMALL_CHANGE) &&
		 now.fds <= before->fds);
}
