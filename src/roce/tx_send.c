/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a batch leaves: what its sockets say by themselves and what each send has to, and what becomes of
 * runs that the kernel does not take.
 */
#include <errno.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <sys/uio.h>

#include "roce/tx_priv.h"
#include "util/api.h"

enum {
	/* Sends in a row with another traffic class or TTL, after which these become the socket's. */
	TUNE_AFTER = 16,
	/* Segments that are short enough to be every send's: they fit wherever IP goes. */
	TUNE_SEGMENT = 256,
};

/*
 * What all packets of a socket have is better set there: control messages take their time, and from
 * the second on the kernel allocates memory for them.
 */
static void set_route(const struct roce_endpoint *ep, struct roce_source *socket,
		      const struct roce_route *route)
{
	int level = ep->ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	int tclass = route->tclass, ttl = route->ttl;

	if (route->group || ++socket->others < TUNE_AFTER)
		return;
	socket->others = 0;
	if (!setsockopt(socket->fd, level, level == IPPROTO_IP ? IP_TTL : IPV6_UNICAST_HOPS, &ttl,
			sizeof(ttl)))
		socket->ttl = ttl;
	if (!setsockopt(socket->fd, level, level == IPPROTO_IP ? IP_TOS : IPV6_TCLASS, &tclass,
			sizeof(tclass)))
		socket->tclass = tclass;
}

static bool set_segment(struct roce_source *socket, uint16_t segment)
{
	int value = segment;

	if (setsockopt(socket->fd, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof(value)))
		return false;
	socket->segment = segment;
	return true;
}

/*
 * A ping-pong sends a request and an acknowledgement each time. With the length of the first set at
 * the socket it needs no control message, and so the cheaper sendto(). What is no longer than that
 * leaves as it is; what is longer has to say that it is no row of segments.
 */
static void wish_segment(struct roce_source *socket, uint16_t segment)
{
	if (segment != socket->wished) {
		socket->wished = segment;
		socket->alike = 0;
	}
	if (++socket->alike < TUNE_AFTER)
		return;
	socket->alike = 0;
	set_segment(socket, segment);
}

/* What a send has to say, because its socket does not have it set. */
enum {
	SAY_SEGMENT = 1 << 0,
	SAY_TCLASS = 1 << 1,
	SAY_TTL = 1 << 2,
};

/* `segment` is 0 for a packet alone. */
static inline unsigned int to_say(const struct roce_source *socket, const struct roce_route *route,
				  uint16_t segment, uint32_t bytes)
{
	unsigned int say = 0;

	if (segment ? segment != socket->segment : socket->segment && bytes > socket->segment)
		say |= SAY_SEGMENT;
	if (route->tclass != socket->tclass)
		say |= SAY_TCLASS;
	if (route->ttl != (unlikely(route->group) ? ROCE_TTL : socket->ttl))
		say |= SAY_TTL;
	return say;
}

/* Who does not tune does not know what is set. */
static unsigned int to_say_all(const struct roce_endpoint *ep, uint16_t segment)
{
	bool segments = segment || atomic_load_explicit(&ep->segment, memory_order_relaxed);

	return SAY_TCLASS | SAY_TTL | (segments ? SAY_SEGMENT : 0);
}

/* A send had something to say: perhaps the next ones need not. */
static __attribute__((cold, noinline)) void
tune(const struct roce_endpoint *ep, struct roce_source *socket, const struct roce_run *r)
{
	if (socket->ttl == r->route.ttl && socket->tclass == r->route.tclass)
		socket->others = 0;
	else
		set_route(ep, socket, &r->route);
	if (r->count > 1 && r->segment != socket->segment && r->segment <= TUNE_SEGMENT)
		wish_segment(socket, r->segment);
}

struct outgoing {
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

static void fill_message(const struct roce_tx *tx, const struct roce_run *r, uint32_t offset,
			 uint32_t bytes, bool segments, struct outgoing *o, unsigned int i)
{
	const struct roce_source *socket = &tx->ep->source[r->route.socket];
	uint16_t segment = segments ? r->segment : 0;
	unsigned int say = roce_tx_is_tuner(tx) ? to_say(socket, &r->route, segment, bytes)
						: to_say_all(tx->ep, segment);
	char *start = o->control[i].bytes, *at = start;
	bool ipv4 = tx->ep->ipv4;
	int value;

	o->iov[i] = (struct iovec){ (void *)(tx->buf + offset), bytes };
	if (say & SAY_SEGMENT)
		at = add_control(at, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	if (say & SAY_TCLASS) {
		value = r->route.tclass;
		at = add_control(at, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS,
				 &value, sizeof(value));
	}
	if (say & SAY_TTL) {
		value = r->route.ttl;
		at = add_control(at, ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
				 ipv4 ? IP_TTL : IPV6_HOPLIMIT, &value, sizeof(value));
	}
	o->msg[i].msg_hdr = (struct msghdr){
		.msg_name = (void *)&r->route.to,
		.msg_namelen = r->route.to_len,
		.msg_iov = &o->iov[i],
		.msg_iovlen = 1,
		.msg_control = at == start ? NULL : start,
		.msg_controllen = at - start,
	};
}

static inline void sent(struct roce_tx *tx, uint32_t packets, uint32_t bytes)
{
	roce_count_packets(tx->ep->count.tx, roce_tx_is_tuner(tx), packets, bytes);
}

static bool is_full(int err)
{
	return err == EAGAIN || err == ENOBUFS || err == ENOMEM;
}

/* The packet at place i of a run. */
static uint8_t *packet_of(struct roce_tx *tx, const struct roce_run *r, uint32_t i, uint32_t *len)
{
	uint32_t at = i * r->segment;

	*len = r->bytes - at < r->segment ? r->bytes - at : r->segment;
	return tx->buf + r->offset + at;
}

/* Of a run that cannot leave as a whole, one packet after the other: each as a run, for the time. */
static __attribute__((cold, noinline)) int send_singly(struct roce_tx *tx, struct roce_run *r)
{
	struct roce_source *socket = &tx->ep->source[r->route.socket];

	while (r->sent < r->count) {
		uint32_t len;
		uint8_t *packet = packet_of(tx, r, r->sent, &len);
		struct roce_run one = *r;
		struct outgoing o;
		int err;

		one.offset = packet - tx->buf;
		one.bytes = len;
		one.count = 1;
		fill_message(tx, &one, one.offset, len, false, &o, 0);
		roce_count_call(tx->ep->count.tx, roce_tx_is_tuner(tx));
		err = sendmsg(socket->fd, &o.msg[0].msg_hdr, MSG_DONTWAIT | MSG_NOSIGNAL) < 0
			      ? errno
			      : 0;
		if (!err) {
			sent(tx, 1, len);
			/* So it was the segments that were refused, and will be again. */
			if (r->refused)
				atomic_store_explicit(&tx->ep->segment, false,
						      memory_order_relaxed);
		} else if (err == EINTR) {
			continue;
		} else if (is_full(err)) {
			roce_count(&tx->ep->count.tx_full, 1);
			return -EAGAIN;
		} else {
			roce_count(&tx->ep->count.tx_lost, 1);
		}
		r->sent++;
	}
	tx->head++;
	return 0;
}

/* Every packet has id 0 until it leaves. */
static void make_single(struct roce_tx *tx, struct roce_run *r)
{
	r->single = true;
	for (uint32_t i = 0; i < r->count && tx->ep->ipv4; i++) {
		uint32_t len;
		uint8_t *packet = packet_of(tx, r, i, &len);

		roce_move_id(packet, len, i, 0);
	}
}

/* What a kernel or an interface says to a send of segments that it would take one by one. */
static bool is_refusal(int err)
{
	return err == EIO || err == EINVAL || err == EOPNOTSUPP || err == ENOPROTOOPT;
}

/* The first run of a system call did not leave. */
static __attribute__((cold, noinline)) int send_failed(struct roce_tx *tx, int err)
{
	struct roce_run *r = tx->head;
	struct roce_source *socket = &tx->ep->source[r->route.socket];

	if (is_full(err)) {
		roce_count(&tx->ep->count.tx_full, 1);
		return -EAGAIN;
	}
	if (err == EINTR)
		return 0;
	/* The last packet of a run that is too long may be short enough. */
	if (is_refusal(err) && socket->segment && roce_tx_is_tuner(tx) && set_segment(socket, 0))
		return 0; /* it may not be the packets that are refused */
	if (r->count > 1 && (is_refusal(err) || err == EMSGSIZE)) {
		r->refused = err != EMSGSIZE;
		make_single(tx, r);
		return 0;
	}
	roce_count(&tx->ep->count.tx_lost, r->count);
	tx->head++;
	return 0;
}

enum { SEND_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL };

/* `count` runs by one system call; returns how many left, or -1. */
static __attribute__((noinline)) int send_messages(const struct roce_tx *tx, int fd,
						   const struct roce_run *r, unsigned int count)
{
	struct outgoing o;

	for (unsigned int i = 0; i < count; i++, r++)
		fill_message(tx, r, r->offset, r->bytes, r->count > 1, &o, i);
	if (count == 1)
		return roce_sendmsg(fd, &o.msg[0].msg_hdr, SEND_FLAGS) < 0 ? -1 : 1;
	return sendmmsg(fd, o.msg, count, SEND_FLAGS);
}

/* With nothing to say a single send needs no message around it. */
static inline int send_plain(const struct roce_tx *tx, const struct roce_source *socket,
			     const struct roce_run *r)
{
	ssize_t n = roce_sendto(socket->fd, tx->buf + r->offset, r->bytes, SEND_FLAGS,
				&r->route.to.any, r->route.to_len);

	return n < 0 ? -1 : 1;
}

/* One system call for all runs from the head on that leave by the same socket. */
static inline int send_some(struct roce_tx *tx)
{
	struct roce_run *r = tx->head, *next = r + 1;
	struct roce_endpoint *ep = tx->ep;
	struct roce_source *socket = &ep->source[r->route.socket];
	bool sole = roce_tx_is_tuner(tx), plain = false;
	uint32_t packets = 0, bytes = 0;
	int done;

	if (likely(sole)) {
		plain = !to_say(socket, &r->route, r->count > 1 ? r->segment : 0, r->bytes);
		if (plain)
			socket->others = 0;
		else
			tune(ep, socket, r);
	}
	while (unlikely(next < tx->end) && next->route.socket == r->route.socket && !next->single)
		next++;
	if (likely(plain && next == r + 1))
		done = send_plain(tx, socket, r);
	else
		done = send_messages(tx, socket->fd, r, next - r);
	roce_count_call(ep->count.tx, sole);
	if (unlikely(done <= 0))
		return send_failed(tx, errno);
	tx->head += done;
	do {
		packets += r->count;
		bytes += r->bytes;
	} while (unlikely(++r < tx->head));
	roce_count_packets(ep->count.tx, sole, packets, bytes);
	return 0;
}

int roce_tx_send(struct roce_tx *tx)
{
	int err = 0;

	while (!err && tx->head < tx->end)
		err = unlikely(tx->head->single) ? send_singly(tx, tx->head) : send_some(tx);
	return err;
}
