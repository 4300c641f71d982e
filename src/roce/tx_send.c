/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends the runs of a batch. Control messages take time, and from the second one on the kernel allocates
 * memory for them. So a traffic class, a TTL or a short segment length that many sends in a row have
 * becomes the default of their socket, and only other values are passed with each send.
 */
#include "roce/tx_send.h"

#include <errno.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <sys/uio.h>

#include "roce/sock_call.h"
#include "roce/tx_types.h"
#include "util/api.h"

enum {
	/* Sends in a row with a value after which it becomes the socket's default. */
	DEFAULT_AFTER = 16,
	/* Longest segment length that becomes a default: such packets fit every MTU. */
	DEFAULT_SEGMENT_MAX = 256,
	SEND_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL,
};

/* ---- defaults of a socket ---- */

static void set_ip_default(const struct roce_endpoint *ep, struct roce_tx_socket *socket,
			   const struct roce_route *route)
{
	int level = ep->ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	int tclass = route->tclass, ttl = route->ttl;

	if (route->group || ++socket->other_ip < DEFAULT_AFTER)
		return;
	socket->other_ip = 0;
	if (!setsockopt(socket->fd, level, ep->ipv4 ? IP_TTL : IPV6_UNICAST_HOPS, &ttl,
			sizeof(ttl)))
		socket->ttl = ttl;
	if (!setsockopt(socket->fd, level, ep->ipv4 ? IP_TOS : IPV6_TCLASS, &tclass,
			sizeof(tclass)))
		socket->tclass = tclass;
}

static bool set_segment(struct roce_tx_socket *socket, uint16_t segment)
{
	int value = segment;

	if (setsockopt(socket->fd, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof(value)))
		return false;
	socket->segment = segment;
	return true;
}

/*
 * A ping-pong sends a request and an acknowledgement each time. With the request's length as default, that
 * send needs no control message, and so the cheaper sendto(). Shorter sends are not affected by it; longer
 * ones have to pass a segment length of 0.
 */
static void set_segment_default(struct roce_tx_socket *socket, uint16_t segment)
{
	if (segment != socket->next_segment) {
		socket->next_segment = segment;
		socket->other_segment = 0;
	}
	if (++socket->other_segment < DEFAULT_AFTER)
		return;
	socket->other_segment = 0;
	set_segment(socket, segment);
}

/* Control messages of a send. */
enum {
	CMSG_SEGMENT = 1 << 0,
	CMSG_TCLASS = 1 << 1,
	CMSG_TTL = 1 << 2,
};

/* Control messages beyond the socket's defaults. `segment` is 0 for a single packet. */
static inline unsigned int cmsg_needed(const struct roce_tx_socket *socket,
				       const struct roce_route *route, uint16_t segment,
				       uint32_t bytes)
{
	unsigned int needed = 0;

	if (segment ? segment != socket->segment : socket->segment && bytes > socket->segment)
		needed |= CMSG_SEGMENT;
	if (route->tclass != socket->tclass)
		needed |= CMSG_TCLASS;
	if (route->ttl != (unlikely(route->group) ? ROCE_TTL : socket->ttl))
		needed |= CMSG_TTL;
	return needed;
}

/* For batches other than the primary one, which may not read the defaults. */
static unsigned int cmsg_all(const struct roce_endpoint *ep, uint16_t segment)
{
	bool segments = segment || atomic_load_explicit(&ep->segment, memory_order_relaxed);

	return CMSG_TCLASS | CMSG_TTL | (segments ? CMSG_SEGMENT : 0);
}

/* A send of the primary batch needed a control message: perhaps it should be a default. */
static __attribute__((cold, noinline)) void update_defaults(const struct roce_endpoint *ep,
							    struct roce_tx_socket *socket,
							    const struct roce_run *r)
{
	if (socket->ttl == r->route.ttl && socket->tclass == r->route.tclass)
		socket->other_ip = 0;
	else
		set_ip_default(ep, socket, &r->route);
	if (r->count > 1 && r->segment != socket->segment && r->segment <= DEFAULT_SEGMENT_MAX)
		set_segment_default(socket, r->segment);
}

/* ---- messages ---- */

struct messages {
	struct mmsghdr msg[ROCE_TX_RUNS];
	struct iovec iov[ROCE_TX_RUNS];
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t)) + 2 * CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control[ROCE_TX_RUNS];
};

static char *add_control(char *at, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *c = (struct cmsghdr *)at;

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), data, len);
	return at + CMSG_SPACE(len);
}

/* Makes m->msg[i] of `bytes` bytes at `offset`, which are segments, or one packet. */
static void fill_message(const struct roce_tx *tx, const struct roce_run *r, uint32_t offset,
			 uint32_t bytes, bool segments, struct messages *m, unsigned int i)
{
	const struct roce_tx_socket *socket = &tx->ep->tx_socket[r->route.socket];
	uint16_t segment = segments ? r->segment : 0;
	unsigned int needed = roce_tx_is_primary(tx)
				      ? cmsg_needed(socket, &r->route, segment, bytes)
				      : cmsg_all(tx->ep, segment);
	char *start = m->control[i].bytes, *at = start;
	bool ipv4 = tx->ep->ipv4;
	int value;

	m->iov[i] = (struct iovec){ (void *)(tx->buf + offset), bytes };
	if (needed & CMSG_SEGMENT)
		at = add_control(at, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	if (needed & CMSG_TCLASS) {
		value = r->route.tclass;
		at = add_control(at, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS,
				 &value, sizeof(value));
	}
	if (needed & CMSG_TTL) {
		value = r->route.ttl;
		at = add_control(at, ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
				 ipv4 ? IP_TTL : IPV6_HOPLIMIT, &value, sizeof(value));
	}
	m->msg[i].msg_hdr = (struct msghdr){
		.msg_name = (void *)&r->route.to,
		.msg_namelen = r->route.to_len,
		.msg_iov = &m->iov[i],
		.msg_iovlen = 1,
		.msg_control = at == start ? NULL : start,
		.msg_controllen = at - start,
	};
}

/* ---- failures ---- */

static bool is_full(int err)
{
	return err == EAGAIN || err == ENOBUFS || err == ENOMEM;
}

/* Errors of kernels and interfaces that refuse segments, but may take single packets. */
static bool is_refusal(int err)
{
	return err == EIO || err == EINVAL || err == EOPNOTSUPP || err == ENOPROTOOPT;
}

/* Packet i of a run. */
static uint8_t *packet_of(struct roce_tx *tx, const struct roce_run *r, uint32_t i, uint32_t *len)
{
	uint32_t at = i * r->segment;

	*len = r->bytes - at < r->segment ? r->bytes - at : r->segment;
	return tx->buf + r->offset + at;
}

/* Sends a run one packet after the other. */
static __attribute__((cold, noinline)) int send_singly(struct roce_tx *tx, struct roce_run *r)
{
	struct roce_endpoint *ep = tx->ep;
	int fd = ep->tx_socket[r->route.socket].fd;

	while (r->sent < r->count) {
		uint32_t len;
		uint8_t *packet = packet_of(tx, r, r->sent, &len);
		struct messages m;

		fill_message(tx, r, packet - tx->buf, len, false, &m, 0);
		roce_count_call(ep->count.tx, roce_tx_is_primary(tx));
		if (roce_sendmsg(fd, &m.msg[0].msg_hdr, SEND_FLAGS) >= 0) {
			roce_count_packets(ep->count.tx, roce_tx_is_primary(tx), 1, len);
			/* So it was the segments that were refused; stop using them. */
			if (r->refused)
				atomic_store_explicit(&ep->segment, false, memory_order_relaxed);
		} else if (errno == EINTR) {
			continue;
		} else if (is_full(errno)) {
			roce_count(&ep->count.tx_full, 1);
			return -EAGAIN;
		} else {
			roce_count(&ep->count.tx_lost, 1);
		}
		r->sent++;
	}
	tx->head++;
	return 0;
}

/* Has a run sent one packet after the other: each gets IPv4 id 0 then. */
static void make_single(struct roce_tx *tx, struct roce_run *r)
{
	r->single = true;
	for (uint32_t i = 0; i < r->count && tx->ep->ipv4; i++) {
		uint32_t len;
		uint8_t *packet = packet_of(tx, r, i, &len);

		roce_move_id(packet, len, i, 0);
	}
}

/* The first run of a system call did not leave. 0: go on. */
static __attribute__((cold, noinline)) int send_failed(struct roce_tx *tx, int err)
{
	struct roce_run *r = tx->head;
	struct roce_tx_socket *socket = &tx->ep->tx_socket[r->route.socket];

	if (is_full(err)) {
		roce_count(&tx->ep->count.tx_full, 1);
		return -EAGAIN;
	}
	if (err == EINTR)
		return 0;
	/* The default segment length may be the reason: try without. */
	if (is_refusal(err) && socket->segment && roce_tx_is_primary(tx) && set_segment(socket, 0))
		return 0;
	/* Of a run that is too long for the MTU, the last packet may be short enough. */
	if (r->count > 1 && (is_refusal(err) || err == EMSGSIZE)) {
		r->refused = err != EMSGSIZE;
		make_single(tx, r);
		return 0;
	}
	roce_count(&tx->ep->count.tx_lost, r->count);
	tx->head++;
	return 0;
}

/* ---- sending ---- */

/* `count` runs by one system call; returns how many left, or -1. */
static __attribute__((noinline)) int send_messages(const struct roce_tx *tx, int fd,
						   const struct roce_run *r, unsigned int count)
{
	struct messages m;

	for (unsigned int i = 0; i < count; i++, r++)
		fill_message(tx, r, r->offset, r->bytes, r->count > 1, &m, i);
	if (count == 1)
		return roce_sendmsg(fd, &m.msg[0].msg_hdr, SEND_FLAGS) < 0 ? -1 : 1;
	return roce_sendmmsg(fd, m.msg, count, SEND_FLAGS);
}

/* One run without control messages. */
static inline int send_plain(const struct roce_tx *tx, const struct roce_tx_socket *socket,
			     const struct roce_run *r)
{
	ssize_t n = roce_sendto(socket->fd, tx->buf + r->offset, r->bytes, SEND_FLAGS,
				&r->route.to.any, r->route.to_len);

	return n < 0 ? -1 : 1;
}

/* One system call for all runs from the head on that have the same socket. */
static inline int send_some(struct roce_tx *tx)
{
	struct roce_run *r = tx->head, *next = r + 1;
	struct roce_endpoint *ep = tx->ep;
	struct roce_tx_socket *socket = &ep->tx_socket[r->route.socket];
	bool primary = roce_tx_is_primary(tx), plain = false;
	uint32_t packets = 0, bytes = 0;
	int done;

	if (likely(primary)) {
		plain = !cmsg_needed(socket, &r->route, r->count > 1 ? r->segment : 0, r->bytes);
		if (plain)
			socket->other_ip = 0;
		else
			update_defaults(ep, socket, r);
	}
	while (unlikely(next < tx->end) && next->route.socket == r->route.socket && !next->single)
		next++;
	if (likely(plain && next == r + 1))
		done = send_plain(tx, socket, r);
	else
		done = send_messages(tx, socket->fd, r, next - r);
	roce_count_call(ep->count.tx, primary);
	if (unlikely(done <= 0))
		return send_failed(tx, errno);
	tx->head += done;
	do {
		packets += r->count;
		bytes += r->bytes;
	} while (unlikely(++r < tx->head));
	roce_count_packets(ep->count.tx, primary, packets, bytes);
	return 0;
}

int roce_tx_send(struct roce_tx *tx)
{
	int err = 0;

	while (!err && tx->head < tx->end)
		err = unlikely(tx->head->single) ? send_singly(tx, tx->head) : send_some(tx);
	return err;
}
