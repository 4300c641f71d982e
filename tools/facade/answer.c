/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers to netlink requests. The file is mapped for each request, since requests are rare. The answers go
 * through the kernel, by a second socket: poll(), recvmsg() and non-blocking mode of the program's socket work
 * without being wrapped.
 */
#include "answer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "map.h"
#include "netlink_record.h"

struct file {
	const char *at;
	size_t len;
};

struct request {
	const struct nlmsghdr *head;
	int from;         /* socket that answers */
	uint32_t to_port; /* port of the program's socket */
};

static int map_file(struct file *f)
{
	char name[PATH_MAX];
	struct stat st;
	void *at = MAP_FAILED;
	int fd;

	if (!facade_file(FACADE_NETLINK_FILE, name, sizeof(name)))
		return -ENOENT;
	fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!syscall(SYS_fstat, fd, &st) && st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	syscall(SYS_close, fd);
	if (at == MAP_FAILED)
		return -ENOENT;
	*f = (struct file){ at, (size_t)st.st_size };
	return 0;
}

static void unmap_file(struct file *f)
{
	munmap((void *)f->at, f->len);
}

static const struct nlmsghdr *message_of(const struct facade_record *r)
{
	return (const struct nlmsghdr *)(r + 1);
}

static const struct facade_record *next_record(const struct file *f, const struct facade_record *r)
{
	size_t off = 0;
	uint32_t len;

	if (r)
		off = (size_t)((const char *)r - f->at) + sizeof(*r) +
		      NLMSG_ALIGN(message_of(r)->nlmsg_len);
	if (off + sizeof(*r) + NLMSG_HDRLEN > f->len)
		return NULL;
	r = (const struct facade_record *)(f->at + off);
	/* A message that does not end within the file ends the list. */
	len = message_of(r)->nlmsg_len;
	return len >= NLMSG_HDRLEN && len <= f->len - off - sizeof(*r) ? r : NULL;
}

/* The attribute `type` of a message whose attributes begin after `head` bytes of payload. */
static const struct nlattr *find_attr(const struct nlmsghdr *m, size_t head, uint16_t type)
{
	size_t off = NLMSG_HDRLEN + NLMSG_ALIGN(head);
	const struct nlattr *a;

	while (off + NLA_HDRLEN <= m->nlmsg_len) {
		a = (const struct nlattr *)((const char *)m + off);
		if (a->nla_len < NLA_HDRLEN || off + a->nla_len > m->nlmsg_len)
			return NULL;
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
		off += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

static bool attrs_agree(const struct nlmsghdr *request, const struct facade_record *r)
{
	const struct nlmsghdr *m = message_of(r);
	size_t off = NLMSG_HDRLEN + NLMSG_ALIGN(r->head);
	const struct nlattr *a, *other;

	while (off + NLA_HDRLEN <= request->nlmsg_len) {
		a = (const struct nlattr *)((const char *)request + off);
		if (a->nla_len < NLA_HDRLEN || off + a->nla_len > request->nlmsg_len)
			return true;
		other = find_attr(m, r->head, a->nla_type & NLA_TYPE_MASK);
		if (other && (other->nla_len != a->nla_len ||
			      memcmp(other + 1, a + 1, a->nla_len - NLA_HDRLEN)))
			return false;
		off += NLA_ALIGN(a->nla_len);
	}
	return true;
}

static bool same_command(const struct nlmsghdr *request, const struct facade_record *r)
{
	const struct genlmsghdr *g = NLMSG_DATA(request);

	if (r->type != request->nlmsg_type || request->nlmsg_len < (size_t)NLMSG_HDRLEN + r->head)
		return false;
	return !r->head || g->cmd == r->cmd;
}

bool answer_known(const void *buf, size_t len)
{
	const struct facade_record *r = NULL;
	const struct nlmsghdr *head = buf;
	bool known = false;
	struct file f;

	/* A list of all families is the kernel's to give. */
	if (!NLMSG_OK(head, len) || !find_attr(head, GENL_HDRLEN, CTRL_ATTR_FAMILY_NAME) ||
	    map_file(&f))
		return false;
	while (!known && (r = next_record(&f, r)))
		known = same_command(head, r) && attrs_agree(head, r);
	unmap_file(&f);
	return known;
}

/* Sends the message with the addresses of the request; `size` bytes of its payload follow. */
static int reply(const struct request *q, struct nlmsghdr head, const void *payload, size_t size)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_pid = q->to_port };
	struct iovec iov[] = { { &head, sizeof(head) }, { (void *)payload, size } };
	struct msghdr msg = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = iov, .msg_iovlen = 2
	};

	head.nlmsg_len = (uint32_t)(sizeof(head) + size);
	head.nlmsg_seq = q->head->nlmsg_seq;
	head.nlmsg_pid = q->to_port;
	/* The reader is the thread that asks: with a full socket the kernel would block it for ever. */
	if (syscall(SYS_sendmsg, q->from, &msg, MSG_DONTWAIT) >= 0)
		return 0;
	return errno == EAGAIN ? -ENOBUFS : -errno;
}

static int reply_status(const struct request *q, int err)
{
	struct nlmsgerr status = { .error = err, .msg = *q->head };
	struct nlmsghdr head = { .nlmsg_type = NLMSG_ERROR };

	return reply(q, head, &status, sizeof(status));
}

static int reply_done(const struct request *q)
{
	struct nlmsghdr head = { .nlmsg_type = NLMSG_DONE, .nlmsg_flags = NLM_F_MULTI };
	int status = 0;

	return reply(q, head, &status, sizeof(status));
}

static int reply_record(const struct request *q, const struct facade_record *r, bool dump)
{
	struct nlmsghdr head = *message_of(r);

	head.nlmsg_flags |= dump ? NLM_F_MULTI : 0;
	return reply(q, head, message_of(r) + 1, head.nlmsg_len - sizeof(head));
}

/* As the kernel: an unknown command is EOPNOTSUPP, an unknown object ENODEV. */
static int answer_request(const struct request *q, const struct file *f)
{
	bool dump = (q->head->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	const struct facade_record *r = NULL;
	bool known = false, found = false;
	int err = 0;

	while (!err && (dump || !found) && (r = next_record(f, r))) {
		if (!same_command(q->head, r))
			continue;
		known = true;
		if (!attrs_agree(q->head, r))
			continue;
		found = true;
		err = reply_record(q, r, dump);
	}
	if (err)
		return err;
	if (!known)
		return reply_status(q, -EOPNOTSUPP);
	if (dump)
		return reply_done(q);
	if (!found)
		return reply_status(q, -ENODEV);
	return q->head->nlmsg_flags & NLM_F_ACK ? reply_status(q, 0) : 0;
}

/* The port that `fd` receives at; a socket that has none yet is bound, as the kernel does at the first send. */
static int port_of(int fd, uint32_t *port)
{
	struct sockaddr_nl name = { .nl_family = AF_NETLINK };
	socklen_t len = sizeof(name);

	if (getsockname(fd, (struct sockaddr *)&name, &len))
		return -errno;
	if (!name.nl_pid) {
		if (bind(fd, (struct sockaddr *)&name, sizeof(name)) ||
		    getsockname(fd, (struct sockaddr *)&name, &len))
			return -errno;
	}
	*port = name.nl_pid;
	return 0;
}

static int answer_all(struct request *q, const struct file *f, const char *buf, size_t len)
{
	size_t step;
	int err = 0;

	for (q->head = (const void *)buf; !err && NLMSG_OK(q->head, len);
	     q->head = (const void *)buf) {
		if (q->head->nlmsg_flags & NLM_F_REQUEST)
			err = answer_request(q, f);
		/* The padding of the last message may be missing. */
		step = NLMSG_ALIGN(q->head->nlmsg_len);
		step = step < len ? step : len;
		buf += step;
		len -= step;
	}
	return err;
}

int answer_requests(int fd, const void *buf, size_t len)
{
	struct request q = { 0 };
	struct file f;
	int err = port_of(fd, &q.to_port);

	if (err)
		return err;
	err = map_file(&f);
	if (err)
		return err;
	q.from = (int)syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
	if (q.from < 0) {
		err = -errno;
	} else {
		err = answer_all(&q, &f, buf, len);
		syscall(SYS_close, q.from);
	}
	unmap_file(&f);
	return err;
}
