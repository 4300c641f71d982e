/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/rx.h"

#include <errno.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "roce/clock.h"
#include "roce/decode.h"
#include "roce/delay_queue.h"
#include "roce/endpoint.h"
#include "roce/endpoint_types.h"
#include "roce/inspect.h"
#include "roce/ip_header.h"
#include "roce/reuseport.h"
#include "roce/sock_call.h"
#include "util/api.h"

enum {
	RX_DATAGRAMS = 16,
	RX_BYTES = 64 << 10, /* the most that GRO joins */
	RX_CONTROL = 192,
	/* Bounds of rx->busy_after. */
	BUSY_AFTER_MIN = 2,
	BUSY_AFTER_MAX = 16,
};

struct roce_rx {
	struct roce_delay_queue delayed;
	bool busy;          /* more than one datagram is expected: read with recvmmsg() */
	uint8_t hits;       /* polls in a row that found a datagram */
	uint8_t busy_after; /* hits that make it busy */
	/*
	 * Metadata of the current datagram. Consecutive datagrams mostly belong to one flow, that is, they come
	 * from flow_from to meta.dst at flow_port; addresses and the start of the ICRC are kept then.
	 */
	struct roce_meta meta;
	struct roce_icrc_flow flow;
	union roce_sockaddr flow_from;
	uint16_t flow_port;
	/* IPv4 id of the flow's latest datagram, and its difference to the one before. */
	uint16_t flow_id, flow_step;
	/* Always prepared for the next system call: reset_message() undoes what the kernel wrote. */
	struct mmsghdr msg[RX_DATAGRAMS];
	struct iovec iov[RX_DATAGRAMS];
	union roce_sockaddr from[RX_DATAGRAMS];
	union {
		char bytes[RX_CONTROL];
		struct cmsghdr align;
	} control[RX_DATAGRAMS];
	uint8_t buf[RX_DATAGRAMS][RX_BYTES];
};

/* Capture and faults of a poll, read once, so that a packet tests both at once. */
enum {
	INSPECT_CAPTURE = 1 << 0,
	INSPECT_FAULT = 1 << 1,
};

/* State of one poll. roce_rx_datagram() has neither `rx` nor `ep`, and no inspection. */
struct receive {
	struct roce_rx *rx;
	struct roce_endpoint *ep;
	const struct roce_icrc_flow *flow;
	struct roce_meta *meta;
	roce_rx_fn *fn;
	void *arg;
	uint64_t *drops; /* without `ep`: counters by reason */
	uint32_t packets;
	unsigned int inspect;
	uint64_t bytes;
};

static void reset_message(struct msghdr *msg)
{
	msg->msg_namelen = sizeof(union roce_sockaddr);
	msg->msg_controllen = RX_CONTROL;
}

int roce_rx_create(struct roce_rx **out)
{
	struct roce_rx *rx = malloc(sizeof(*rx));

	if (!rx)
		return -ENOMEM;
	/* Not `buf`, whose pages are then allocated only when data arrives. */
	memset(rx, 0, offsetof(struct roce_rx, buf));
	rx->busy_after = BUSY_AFTER_MIN;
	for (unsigned int i = 0; i < RX_DATAGRAMS; i++) {
		rx->iov[i] = (struct iovec){ rx->buf[i], RX_BYTES };
		rx->msg[i].msg_hdr = (struct msghdr){
			.msg_name = &rx->from[i],
			.msg_iov = &rx->iov[i],
			.msg_iovlen = 1,
			.msg_control = rx->control[i].bytes,
		};
		reset_message(&rx->msg[i].msg_hdr);
	}
	*out = rx;
	return 0;
}

void roce_rx_destroy(struct roce_rx *rx)
{
	if (!rx)
		return;
	roce_delay_queue_clear(&rx->delayed);
	free(rx);
}

uint64_t roce_rx_due(const struct roce_rx *rx)
{
	return roce_delay_queue_due(&rx->delayed);
}

/* ---- one packet ---- */

static __attribute__((cold, noinline)) void capture(const struct receive *r,
						    const struct roce_pkt *pkt, const uint8_t *data,
						    size_t len, enum roce_drop why)
{
	const struct roce_inspect *inspect = r->ep->inspect;
	char text[256] = "";
	struct roce_frame frame = {
		.src = r->meta->src,
		.dst = r->meta->dst,
		.sport = r->meta->sport,
		.dport = r->ep->port,
		.ip_id = r->meta->ip_id,
		.tclass = r->meta->tclass,
		.ttl = r->meta->ttl,
	};

	if (why)
		snprintf(text, sizeof(text), "dropped: %s", roce_drop_name(why));
	else if (inspect->comment)
		inspect->comment(NULL, pkt, false, text, sizeof(text));
	roce_capture_frame(inspect->capture, &frame, data, len, text[0] ? text : NULL);
}

static inline unsigned int inspect_bits(const struct roce_inspect *inspect)
{
	if (!roce_inspect_enabled())
		return 0;
	return (inspect->capture && roce_capture_on(inspect->capture) ? INSPECT_CAPTURE : 0) |
	       (inspect->fault && roce_fault_on(inspect->fault) ? INSPECT_FAULT : 0);
}

/* Sets the fields of a UD packet that its bytes do not hold. */
static inline void mark_datagram(const struct roce_meta *meta, struct roce_pkt *pkt)
{
	if (likely((pkt->op & ROCE_PKT_TRANSPORT_MASK) != ROCE_TR_UD))
		return;
	pkt->ud.roce_kind = meta->ipv4 ? 2 : 1;
	if (meta->multicast)
		pkt->flags |= ROCE_PKT_MCAST;
}

/* Decodes and checks a packet. */
static inline enum roce_drop open_packet(struct receive *r, const uint8_t *data, size_t len,
					 struct roce_pkt *pkt, struct roce_payload *payload)
{
	enum roce_drop why = roce_decode_inline(data, len, pkt, payload);

	if (unlikely(why))
		return why;
	if (unlikely(!roce_icrc_check(r->flow, data, len, &r->meta->ip_id)))
		return ROCE_DROP_ICRC;
	mark_datagram(r->meta, pkt);
	return ROCE_OK;
}

static inline void hand_over(struct receive *r, struct roce_pkt *pkt,
			     const struct roce_payload *payload, const uint8_t *data, size_t len)
{
	struct roce_meta *meta = r->meta;

	meta->raw = data;
	meta->raw_len = len;
	r->packets++;
	r->bytes += len;
	r->fn(r->arg, pkt, payload, meta);
}

/* As hand_over(), with capture. */
static __attribute__((cold, noinline)) void deliver(struct receive *r, struct roce_pkt *pkt,
						    const struct roce_payload *payload,
						    const uint8_t *data, size_t len)
{
	if (r->inspect & INSPECT_CAPTURE)
		capture(r, pkt, data, len, ROCE_OK);
	hand_over(r, pkt, payload, data, len);
}

static __attribute__((cold, noinline)) void drop(struct receive *r, const uint8_t *data, size_t len,
						 enum roce_drop why)
{
	if (!r->ep) {
		r->drops[why]++;
		return; /* only packets of an endpoint are captured */
	}
	roce_count(&r->ep->count.rx_drop[why], 1);
	if (r->inspect & INSPECT_CAPTURE && why != ROCE_DROP_PROBE && why != ROCE_DROP_TRUNCATED)
		capture(r, NULL, data, len, why);
}

/* Delivers a packet that was delayed by a fault. */
static void deliver_delayed(struct receive *r, struct roce_delayed *d)
{
	struct roce_meta meta, *saved = r->meta;
	struct roce_payload payload;
	struct roce_pkt pkt;
	const uint8_t *data = d->data + sizeof(meta);
	size_t len = d->len - sizeof(meta);

	memcpy(&meta, d->data, sizeof(meta));
	r->meta = &meta;
	if (!roce_decode(data, len, &pkt, &payload)) {
		mark_datagram(&meta, &pkt);
		deliver(r, &pkt, &payload, data, len);
	}
	r->meta = saved;
	free(d);
}

static __attribute__((cold, noinline)) void deliver_with_faults(struct receive *r,
								struct roce_pkt *pkt,
								const struct roce_payload *payload,
								const uint8_t *data, size_t len)
{
	uint64_t now = roce_now_ns();
	struct roce_verdict v =
		roce_fault_judge(r->ep->inspect->fault, ROCE_DIR_IN, pkt, &r->meta->src, now);
	struct roce_delayed *swapped = roce_delay_queue_take_swap(&r->rx->delayed, r->ep);
	uint8_t copy[ROCE_MAX_PACKET];
	struct roce_payload other;
	struct roce_pkt changed;
	enum roce_drop why;

	switch (v.action) {
	case ROCE_FAULT_DROP:
		drop(r, data, len, ROCE_DROP_FAULT);
		break;
	case ROCE_FAULT_DELAY:
	case ROCE_FAULT_REORDER:
		if (!roce_delay_queue_add(&r->rx->delayed, now + v.delay_ns,
					  v.action == ROCE_FAULT_REORDER, r->ep, r->meta,
					  sizeof(*r->meta), data, len))
			deliver(r, pkt, payload, data, len);
		break;
	case ROCE_FAULT_CORRUPT:
		memcpy(copy, data, len);
		v.bit %= len * 8;
		copy[v.bit / 8] ^= 1 << v.bit % 8;
		why = open_packet(r, copy, len, &changed, &other);
		if (why)
			drop(r, copy, len, why);
		else
			deliver(r, &changed, &other, copy, len);
		break;
	case ROCE_FAULT_DUP:
		changed = *pkt; /* the callee may change its packet */
		deliver(r, &changed, payload, data, len);
		deliver(r, pkt, payload, data, len);
		break;
	default:
		deliver(r, pkt, payload, data, len);
		break;
	}
	if (swapped)
		deliver_delayed(r, swapped);
}

static __attribute__((cold, noinline)) void refuse(struct receive *r, const uint8_t *data,
						   size_t len, enum roce_drop why)
{
	if (!len || (r->ep && roce_reuseport_take_probe(r->ep, data, len)))
		why = ROCE_DROP_PROBE;
	drop(r, data, len, why);
}

static inline void take_packet(struct receive *r, const uint8_t *data, size_t len)
{
	struct roce_payload payload;
	struct roce_pkt pkt;
	enum roce_drop why = open_packet(r, data, len, &pkt, &payload);

	if (unlikely(why))
		refuse(r, data, len, why);
	else if (likely(!r->inspect))
		hand_over(r, &pkt, &payload, data, len);
	else if (r->inspect & INSPECT_FAULT)
		deliver_with_faults(r, &pkt, &payload, data, len);
	else
		deliver(r, &pkt, &payload, data, len);
}

/*
 * Takes all packets of a datagram. meta->ip_id is a guess at the IPv4 id of the first one; returns the id
 * that was found.
 */
static inline __attribute__((always_inline)) uint16_t
take_datagram(struct receive *r, const uint8_t *data, size_t len, size_t segment)
{
	struct roce_meta *meta = r->meta;
	uint16_t count = 0;

	if (!segment || segment > len)
		segment = len;
	do {
		size_t n = len < segment ? len : segment;

		take_packet(r, data, n);
		/* The sender's kernel numbers the segments of a send. */
		meta->ip_id++;
		count++;
		data += n;
		len -= n;
	} while (len);
	return meta->ip_id - count;
}

uint32_t roce_rx_datagram(const uint8_t *data, size_t len, size_t segment, struct roce_meta *meta,
			  const struct roce_icrc_flow *flow, uint64_t drops[ROCE_DROP_COUNT],
			  roce_rx_fn *fn, void *arg)
{
	struct receive r = {
		.flow = flow,
		.meta = meta,
		.drops = drops,
		.fn = fn,
		.arg = arg,
	};

	meta->ip_id = 0;
	take_datagram(&r, data, len, segment);
	return r.packets;
}

/* ---- sockets ---- */

#define CONTROL_IS(c, level, type) ((c)->cmsg_level == (level) && (c)->cmsg_type == (type))

/* IP_TOS is one byte, all others are an int. */
static inline int control_int(const struct cmsghdr *c)
{
	int value;

	if (c->cmsg_len == CMSG_LEN(1))
		return *CMSG_DATA(c);
	memcpy(&value, CMSG_DATA(c), sizeof(value));
	return value;
}

static __attribute__((cold, noinline)) void read_interface(const struct cmsghdr *c,
							   struct roce_addr *dst)
{
	struct in_pktinfo in;
	struct in6_pktinfo in6;

	if (CONTROL_IS(c, IPPROTO_IP, IP_PKTINFO)) {
		memcpy(&in, CMSG_DATA(c), sizeof(in));
		dst->ifindex = in.ipi_ifindex;
	} else if (CONTROL_IS(c, IPPROTO_IPV6, IPV6_PKTINFO)) {
		memcpy(&in6, CMSG_DATA(c), sizeof(in6));
		dst->ifindex = in6.ipi6_ifindex;
	}
}

/*
 * Reads the kernel's control messages, each of which takes at least CMSG_SPACE(sizeof(int)). Returns the
 * segment length of UDP_GRO, 0 without.
 */
static inline size_t read_control(const char *p, size_t len, struct roce_meta *meta)
{
	const char *end = p + len;
	size_t segment = 0;

	while (end - p >= (ptrdiff_t)CMSG_SPACE(sizeof(int))) {
		const struct cmsghdr *c = (const struct cmsghdr *)p;

		if (CONTROL_IS(c, IPPROTO_IP, IP_TTL) || CONTROL_IS(c, IPPROTO_IPV6, IPV6_HOPLIMIT))
			meta->ttl = control_int(c);
		else if (CONTROL_IS(c, IPPROTO_IP, IP_TOS) ||
			 CONTROL_IS(c, IPPROTO_IPV6, IPV6_TCLASS))
			meta->tclass = control_int(c);
		else if (CONTROL_IS(c, IPPROTO_UDP, UDP_GRO))
			segment = control_int(c);
		else
			read_interface(c, &meta->dst);
		if (unlikely(c->cmsg_len < sizeof(*c)))
			break;
		p += CMSG_ALIGN(c->cmsg_len);
	}
	return segment;
}

/* The first receiver that asks becomes the endpoint's primary one. */
static bool is_primary(const struct roce_rx *rx, struct roce_endpoint *ep)
{
	const struct roce_rx *none = NULL;

	if (likely(atomic_load_explicit(&ep->primary_rx, memory_order_relaxed) == rx))
		return true;
	return atomic_compare_exchange_strong(&ep->primary_rx, &none, rx);
}

static __attribute__((cold, noinline)) bool switch_flow(struct roce_rx *rx,
							struct roce_endpoint *ep,
							const union roce_sockaddr *from,
							const struct roce_addr *dst)
{
	struct roce_meta *meta = &rx->meta;
	struct roce_addr src;
	uint16_t sport;

	if (!roce_addr_from_sockaddr(from, &src, &sport))
		return false;
	*meta = (struct roce_meta){
		.src = src,
		.dst = *dst,
		.sport = sport,
		.ipv4 = ep->ipv4,
		.multicast = roce_addr_is_multicast(dst),
	};
	rx->flow_from = *from;
	rx->flow_port = ep->port;
	rx->flow_id = rx->flow_step = 0;
	roce_icrc_flow_init(&rx->flow, &src, dst, sport, ep->port);
	return true;
}

/* Prepares rx->meta and rx->flow for a datagram; false when its address family is unknown. */
static inline bool find_flow(struct roce_rx *rx, struct roce_endpoint *ep,
			     const union roce_sockaddr *from, const struct roce_addr *dst)
{
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): a copy, or the flow is made anew */
	if (likely(!memcmp(&rx->flow_from, from, sizeof(*from)) &&
		   !memcmp(rx->meta.dst.gid, dst->gid, sizeof(dst->gid)) &&
		   rx->flow_port == ep->port))
		return true;
	return switch_flow(rx, ep, from, dst);
}

static void take_message(struct receive *r, struct mmsghdr *m, const struct roce_addr *dst)
{
	struct roce_meta *meta = r->meta;
	struct roce_rx *rx = r->rx;
	struct msghdr *msg = &m->msg_hdr;
	const uint8_t *data = msg->msg_iov->iov_base;
	size_t control = msg->msg_controllen, segment;
	uint16_t id;

	reset_message(msg);
	if (unlikely(!find_flow(rx, r->ep, msg->msg_name, dst)))
		return;
	if (unlikely(msg->msg_flags & MSG_TRUNC)) {
		drop(r, data, RX_BYTES, ROCE_DROP_TRUNCATED);
		return;
	}
	meta->dst.ifindex = dst->ifindex; /* unless a control message follows */
	meta->tclass = 0;
	meta->ttl = ROCE_TTL; /* unless a control message follows */
	segment = read_control(msg->msg_control, control, meta);
	meta->ip_id = rx->flow_id + rx->flow_step;
	id = take_datagram(r, data, m->msg_len, segment);
	rx->flow_step = id - rx->flow_id;
	rx->flow_id = id;
}

/* Reads up to `most` datagrams into the buffers. Returns how many, or -errno. */
static inline int receive_some(struct roce_rx *rx, struct roce_endpoint *ep, int fd,
			       unsigned int most)
{
	int n, err;

	if (likely(most == 1)) {
		n = (int)roce_recvmsg(fd, &rx->msg[0].msg_hdr, MSG_DONTWAIT);
		if (n >= 0) {
			rx->msg[0].msg_len = n;
			n = 1;
		}
	} else {
		n = roce_recvmmsg(fd, rx->msg, most, MSG_DONTWAIT);
	}
	roce_count_call(ep->count.rx, is_primary(rx, ep));
	if (n >= 0)
		return n;
	err = errno;
	return err == EAGAIN || err == EINTR ? 0 : -err;
}

/*
 * recvmsg() is the cheapest way to read one datagram, recvmmsg() to read several. A poll that finds a
 * datagram may mean a burst, or a peer that sends one and waits. So recvmmsg() is tried after `busy_after`
 * hits in a row, and busy_after doubles when it finds only one datagram.
 */
static inline unsigned int how_many(const struct roce_rx *rx, unsigned int budget)
{
	return likely(!rx->busy) ? 1 : budget < RX_DATAGRAMS ? budget : RX_DATAGRAMS;
}

static inline void update_busy(struct roce_rx *rx, int found)
{
	if (likely(!rx->busy && found > 0)) {
		rx->busy = ++rx->hits >= rx->busy_after;
		return;
	}
	if (found > 1)
		rx->busy_after = BUSY_AFTER_MIN;
	else if (found == 1 && rx->busy_after < BUSY_AFTER_MAX)
		rx->busy_after *= 2;
	rx->busy = found > 1;
	rx->hits = 0;
}

static inline void take_messages(struct receive *r, int n, const struct roce_addr *dst)
{
	for (struct mmsghdr *m = r->rx->msg, *end = m + n; m < end; m++)
		take_message(r, m, dst);
}

/* Reads on while the buffers are filled; `taken` datagrams were read. Returns their total, or -errno. */
static __attribute__((noinline)) int take_more(struct receive *r, int taken, unsigned int budget)
{
	unsigned int most = how_many(r->rx, budget), total = taken;
	int n = taken;

	while ((unsigned int)n == most && total < budget) {
		most = how_many(r->rx, budget - total);
		n = receive_some(r->rx, r->ep, r->ep->fd, most);
		if (n < 0)
			return n;
		take_messages(r, n, &r->ep->local);
		total += n;
	}
	return total;
}

/* The lock is not held during r->fn(), which may join and leave groups. */
static __attribute__((noinline)) int poll_groups(struct receive *r, unsigned int budget)
{
	struct roce_endpoint *ep = r->ep;
	unsigned int total = 0;

	while (total < budget) {
		unsigned int most = budget - total;
		struct roce_addr dst;
		struct epoll_event ev;
		int n;

		most = most < RX_DATAGRAMS ? most : RX_DATAGRAMS;
		pthread_mutex_lock(&ep->group_lock);
		n = epoll_wait(ep->group_fd, &ev, 1, 0);
		if (n == 1) {
			const struct roce_group *g = ev.data.ptr;

			dst = g->addr;
			n = receive_some(r->rx, ep, g->fd, most);
		}
		pthread_mutex_unlock(&ep->group_lock);
		if (n <= 0)
			break;
		take_messages(r, n, &dst);
		total += n;
	}
	return total;
}

static __attribute__((cold, noinline)) void deliver_due(struct receive *r)
{
	uint64_t now = roce_now_ns();
	struct roce_delayed *d;

	while ((d = roce_delay_queue_take(&r->rx->delayed, now, r->ep)))
		deliver_delayed(r, d);
}

/* The rare parts of a poll: multicast, and packets that faults delayed. */
static __attribute__((noinline)) int poll_rest(struct receive *r, int n, unsigned int budget)
{
	struct roce_endpoint *ep = r->ep;

	if (n >= 0 && (unsigned int)n < budget &&
	    atomic_load_explicit(&ep->has_groups, memory_order_relaxed))
		n += poll_groups(r, budget - n);
	if (!roce_delay_queue_is_empty(&r->rx->delayed))
		deliver_due(r);
	return n;
}

static inline bool has_rest(const struct roce_rx *rx, const struct roce_endpoint *ep)
{
	return atomic_load_explicit(&ep->has_groups, memory_order_relaxed) ||
	       !roce_delay_queue_is_empty(&rx->delayed);
}

/* Everything after the first read of a poll, which found `n` datagrams. */
static __attribute__((noinline)) int take_in(struct roce_rx *rx, struct roce_endpoint *ep, int n,
					     unsigned int budget, roce_rx_fn *fn, void *arg)
{
	struct receive r = {
		.rx = rx,
		.ep = ep,
		.flow = &rx->flow,
		.meta = &rx->meta,
		.fn = fn,
		.arg = arg,
		.inspect = inspect_bits(ep->inspect),
	};

	if (likely(n > 0)) {
		take_messages(&r, n, &ep->local);
		if (unlikely(rx->busy && (unsigned int)n == how_many(rx, budget)))
			n = take_more(&r, n, budget);
	}
	update_busy(rx, n);
	if (unlikely(has_rest(rx, ep)))
		n = poll_rest(&r, n, budget);
	if (likely(r.packets))
		roce_count_packets(ep->count.rx, is_primary(rx, ep), r.packets, r.bytes);
	if (unlikely(r.inspect & INSPECT_CAPTURE))
		roce_capture_flush(ep->inspect->capture);
	return n;
}

int roce_rx_poll(struct roce_rx *rx, struct roce_endpoint *ep, unsigned int budget, roce_rx_fn *fn,
		 void *arg)
{
	int n;

	if (unlikely(inspect_bits(ep->inspect) & INSPECT_CAPTURE))
		roce_endpoint_enable_ttl(ep);
	n = receive_some(rx, ep, ep->fd, how_many(rx, budget));
	/* Most polls find nothing. */
	if (likely(!n) && likely(!has_rest(rx, ep) && !inspect_bits(ep->inspect))) {
		update_busy(rx, 0);
		return 0;
	}
	return take_in(rx, ep, n, budget, fn, arg);
}

void roce_meta_grh(const struct roce_meta *meta, uint8_t grh[40])
{
	const struct roce_ip ip = {
		.src = meta->src.gid,
		.dst = meta->dst.gid,
		.id = meta->ip_id,
		.tclass = meta->tclass,
		.ttl = meta->ttl,
		.proto = IPPROTO_UDP,
	};
	uint16_t udp_len = ROCE_UDP_BYTES + meta->raw_len;

	if (meta->ipv4) {
		memset(grh, 0, 20);
		roce_put_ipv4(grh + 20, &ip, ROCE_IPV4_BYTES + udp_len);
	} else {
		roce_put_ipv6(grh, &ip, udp_len);
	}
}
