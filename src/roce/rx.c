/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/rx.h"

#include <errno.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "roce/decode.h"
#include "roce/hold.h"
#include "roce/udp_priv.h"
#include "util/api.h"

enum {
	RX_DATAGRAMS = 16,
	RX_BYTES = 64 << 10, /* what GRO may join */
	RX_CONTROL = 192,
	PATIENCE_LEAST = 2,
	PATIENCE_MOST = 16,
};

struct roce_rx {
	struct roce_hold hold;
	bool busy;        /* there is likely more than one datagram */
	uint8_t hits;     /* looks in a row that found one */
	uint8_t patience; /* so many of them mean so */
	/*
	 * Of the datagram in work. The next one is more often than not of the same flow, that is,
	 * from flow_from to meta.dst and flow_port: addresses and the start of the ICRC stay then.
	 */
	struct roce_meta meta;
	struct roce_icrc_flow flow;
	union roce_sockaddr flow_from;
	uint16_t flow_port;
	/* The IPv4 id of its latest datagram, and how much more that was than the one before. */
	uint16_t flow_id, flow_step;
	/* Always ready for the kernel: who has read what it wrote there undoes it. */
	struct mmsghdr msg[RX_DATAGRAMS];
	struct iovec iov[RX_DATAGRAMS];
	union roce_sockaddr from[RX_DATAGRAMS];
	union {
		char bytes[RX_CONTROL];
		struct cmsghdr align;
	} control[RX_DATAGRAMS];
	uint8_t buf[RX_DATAGRAMS][RX_BYTES];
};

/* Who looks on, or spoils; folded so that packets mostly need one test. */
enum {
	WATCH_CAPTURE = 1 << 0,
	WATCH_FAULT = 1 << 1,
};

/* All that handling one packet needs. The pure part has no `rx` and `ep`, and nobody who looks on. */
struct receive {
	struct roce_rx *rx;
	struct roce_endpoint *ep;
	const struct roce_icrc_flow *flow;
	struct roce_meta *meta;
	roce_rx_fn *fn;
	void *arg;
	uint64_t *drops; /* the pure part's; else the endpoint has them */
	uint32_t packets;
	unsigned int watch;
	uint64_t bytes;
};

static void make_ready(struct msghdr *msg)
{
	msg->msg_namelen = sizeof(union roce_sockaddr);
	msg->msg_controllen = RX_CONTROL;
}

int roce_rx_create(struct roce_rx **out)
{
	struct roce_rx *rx = malloc(sizeof(*rx));

	if (!rx)
		return -ENOMEM;
	/* Buffers are not touched before there is something in them. */
	memset(rx, 0, offsetof(struct roce_rx, buf));
	rx->patience = PATIENCE_LEAST;
	for (unsigned int i = 0; i < RX_DATAGRAMS; i++) {
		rx->iov[i] = (struct iovec){ rx->buf[i], RX_BYTES };
		rx->msg[i].msg_hdr = (struct msghdr){
			.msg_name = &rx->from[i],
			.msg_iov = &rx->iov[i],
			.msg_iovlen = 1,
			.msg_control = rx->control[i].bytes,
		};
		make_ready(&rx->msg[i].msg_hdr);
	}
	*out = rx;
	return 0;
}

void roce_rx_destroy(struct roce_rx *rx)
{
	if (!rx)
		return;
	roce_hold_clear(&rx->hold);
	free(rx);
}

uint64_t roce_rx_due(const struct roce_rx *rx)
{
	return roce_hold_due(&rx->hold);
}

/* ---- one packet ---- */

static __attribute__((cold, noinline)) void capture(const struct receive *r,
						    const struct roce_pkt *pkt, const uint8_t *data,
						    size_t len, enum roce_drop why)
{
	const struct roce_taps *taps = r->ep->taps;
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
	else if (taps->comment)
		taps->comment(taps->arg, pkt, false, text, sizeof(text));
	roce_capture_frame(taps->capture, &frame, data, len, text[0] ? text : NULL);
}

static inline unsigned int watch_of(const struct roce_taps *taps)
{
	if (!roce_switch_any())
		return 0;
	return (taps->capture && roce_capture_on(taps->capture) ? WATCH_CAPTURE : 0) |
	       (taps->fault && roce_fault_on(taps->fault) ? WATCH_FAULT : 0);
}

static inline void mark_datagram(const struct roce_meta *meta, struct roce_pkt *pkt)
{
	if (likely((pkt->op & ROCE_PKT_TRANSPORT_MASK) != ROCE_TR_UD))
		return;
	pkt->ud.roce_kind = meta->ipv4 ? 2 : 1;
	if (meta->multicast)
		pkt->flags |= ROCE_PKT_MCAST;
}

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

/* The same while somebody may look on. */
static __attribute__((cold, noinline)) void deliver(struct receive *r, struct roce_pkt *pkt,
						    const struct roce_payload *payload,
						    const uint8_t *data, size_t len)
{
	if (r->watch & WATCH_CAPTURE)
		capture(r, pkt, data, len, ROCE_OK);
	hand_over(r, pkt, payload, data, len);
}

static __attribute__((cold, noinline)) void drop(struct receive *r, const uint8_t *data, size_t len,
						 enum roce_drop why)
{
	if (r->ep)
		roce_count(&r->ep->count.rx_drop[why], 1);
	else
		r->drops[why]++;
	if (r->watch & WATCH_CAPTURE && why != ROCE_DROP_PROBE && why != ROCE_DROP_TRUNCATED)
		capture(r, NULL, data, len, why);
}

/* A packet that was held back, as it came from the wire. */
static void deliver_held(struct receive *r, struct roce_held *h)
{
	struct roce_meta meta, *was = r->meta;
	struct roce_payload payload;
	struct roce_pkt pkt;
	const uint8_t *data = h->data + sizeof(meta);
	size_t len = h->len - sizeof(meta);

	memcpy(&meta, h->data, sizeof(meta));
	r->meta = &meta;
	if (!roce_decode(data, len, &pkt, &payload)) {
		mark_datagram(&meta, &pkt);
		deliver(r, &pkt, &payload, data, len);
	}
	r->meta = was;
	free(h);
}

static __attribute__((cold, noinline)) void deliver_spoilt(struct receive *r, struct roce_pkt *pkt,
							   const struct roce_payload *payload,
							   const uint8_t *data, size_t len)
{
	uint64_t now = roce_now_ns();
	struct roce_verdict v =
		roce_fault_judge(r->ep->taps->fault, ROCE_DIR_IN, pkt, &r->meta->src, now);
	struct roce_held *passed = roce_hold_take_swap(&r->rx->hold, r->ep);
	uint8_t copy[ROCE_MAX_PACKET];
	struct roce_payload other;
	struct roce_pkt spoilt;
	enum roce_drop why;

	switch (v.action) {
	case ROCE_FAULT_DROP:
		drop(r, data, len, ROCE_DROP_FAULT);
		break;
	case ROCE_FAULT_DELAY:
	case ROCE_FAULT_REORDER:
		if (!roce_hold_add(&r->rx->hold, now + v.delay_ns, v.action == ROCE_FAULT_REORDER,
				   r->ep, r->meta, sizeof(*r->meta), data, len))
			deliver(r, pkt, payload, data, len);
		break;
	case ROCE_FAULT_CORRUPT:
		memcpy(copy, data, len);
		v.bit %= len * 8;
		copy[v.bit / 8] ^= 1 << v.bit % 8;
		why = open_packet(r, copy, len, &spoilt, &other);
		if (why)
			drop(r, copy, len, why);
		else
			deliver(r, &spoilt, &other, copy, len);
		break;
	case ROCE_FAULT_DUP:
		spoilt = *pkt; /* whoever gets it may add to it */
		deliver(r, &spoilt, payload, data, len);
		deliver(r, pkt, payload, data, len);
		break;
	default:
		deliver(r, pkt, payload, data, len);
		break;
	}
	if (passed)
		deliver_held(r, passed);
}

static __attribute__((cold, noinline)) void refuse(struct receive *r, const uint8_t *data,
						   size_t len, enum roce_drop why)
{
	if (r->ep && roce_probe_take(r->ep, data, len))
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
	else if (likely(!r->watch))
		hand_over(r, &pkt, &payload, data, len);
	else if (r->watch & WATCH_FAULT)
		deliver_spoilt(r, &pkt, &payload, data, len);
	else
		deliver(r, &pkt, &payload, data, len);
}

/* meta->ip_id is the guess at the first packet's id, which is returned. */
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
		/* The sender's kernel counts the segments of a send. */
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

/* IP_TOS comes as one byte, the others as an int. */
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
 * `len` bytes, written by the kernel, in which each message takes CMSG_SPACE at least of an int.
 * Returns the length of a segment.
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

static bool is_taker(const struct roce_rx *rx, struct roce_endpoint *ep)
{
	const struct roce_rx *nobody = NULL;

	if (likely(atomic_load_explicit(&ep->taker, memory_order_relaxed) == rx))
		return true;
	return atomic_compare_exchange_strong(&ep->taker, &nobody, rx);
}

static __attribute__((cold, noinline)) bool turn_to_flow(struct roce_rx *rx,
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

/* All that the flow says is in rx->meta and rx->flow then. */
static inline bool find_flow(struct roce_rx *rx, struct roce_endpoint *ep,
			     const union roce_sockaddr *from, const struct roce_addr *dst)
{
	if (likely(!memcmp(&rx->flow_from, from, sizeof(*from)) &&
		   !memcmp(rx->meta.dst.gid, dst->gid, sizeof(dst->gid)) &&
		   rx->flow_port == ep->port))
		return true;
	return turn_to_flow(rx, ep, from, dst);
}

static void take_message(struct receive *r, struct mmsghdr *m, const struct roce_addr *dst)
{
	struct roce_meta *meta = r->meta;
	struct roce_rx *rx = r->rx;
	struct msghdr *msg = &m->msg_hdr;
	const uint8_t *data = msg->msg_iov->iov_base;
	size_t control = msg->msg_controllen, segment;
	uint16_t id;

	make_ready(msg);
	if (unlikely(!find_flow(rx, r->ep, msg->msg_name, dst)))
		return;
	if (unlikely(msg->msg_flags & MSG_TRUNC)) {
		drop(r, data, RX_BYTES, ROCE_DROP_TRUNCATED);
		return;
	}
	meta->dst.ifindex = dst->ifindex; /* without a control message: where the address is */
	meta->tclass = 0;
	meta->ttl = ROCE_TTL; /* where hops are not heard */
	segment = read_control(msg->msg_control, control, meta);
	meta->ip_id = rx->flow_id + rx->flow_step;
	id = take_datagram(r, data, m->msg_len, segment);
	rx->flow_step = id - rx->flow_id;
	rx->flow_id = id;
}

/* Up to `most` datagrams into the buffers. */
static inline int receive_some(struct roce_rx *rx, struct roce_endpoint *ep, int fd,
			       unsigned int most)
{
	int n, err;

	if (likely(most == 1)) {
		n = roce_recvmsg(fd, &rx->msg[0].msg_hdr, MSG_DONTWAIT);
		if (n >= 0) {
			rx->msg[0].msg_len = n;
			n = 1;
		}
	} else {
		n = roce_recvmmsg(fd, rx->msg, most, MSG_DONTWAIT);
	}
	roce_count_call(ep->count.rx, is_taker(rx, ep));
	if (n >= 0)
		return n;
	err = errno;
	return err == EAGAIN || err == EINTR ? 0 : -err;
}

/*
 * Who waits for one datagram gets it by the system call that costs least. A program whose every look
 * finds one may have many before it, or a peer that answers at once: the more often there was no second
 * one, the less often it is asked for.
 */
static inline unsigned int how_many(const struct roce_rx *rx, unsigned int budget)
{
	return likely(!rx->busy) ? 1 : budget < RX_DATAGRAMS ? budget : RX_DATAGRAMS;
}

static inline void learn(struct roce_rx *rx, int found)
{
	if (likely(!rx->busy && found > 0)) {
		rx->busy = ++rx->hits >= rx->patience;
		return;
	}
	if (found > 1)
		rx->patience = PATIENCE_LEAST;
	else if (found == 1 && rx->patience < PATIENCE_MOST)
		rx->patience *= 2;
	rx->busy = found > 1;
	rx->hits = 0;
}

static inline void take_messages(struct receive *r, int n, const struct roce_addr *dst)
{
	for (struct mmsghdr *m = r->rx->msg, *end = m + n; m < end; m++)
		take_message(r, m, dst);
}

/* As long as the buffers come back full; `taken` have been. Returns how many are then. */
static __attribute__((noinline)) int take_more(struct receive *r, int taken, unsigned int budget)
{
	unsigned int most = how_many(r->rx, budget), total = taken;
	int n = taken;

	while ((unsigned int)n == most && total < budget) {
		most = how_many(r->rx, budget - total);
		n = receive_some(r->rx, r->ep, r->ep->source[0].fd, most);
		if (n < 0)
			return n;
		take_messages(r, n, &r->ep->local);
		total += n;
	}
	return total;
}

/* The lock is only held while the socket is read: whoever is called may join and leave. */
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
	struct roce_held *h;

	while ((h = roce_hold_take(&r->rx->hold, now, r->ep)))
		deliver_held(r, h);
}

/* What is rare in a poll: multicast, and packets that were held back. */
static __attribute__((noinline)) int poll_rest(struct receive *r, int n, unsigned int budget)
{
	struct roce_endpoint *ep = r->ep;

	if (n >= 0 && (unsigned int)n < budget &&
	    atomic_load_explicit(&ep->has_groups, memory_order_relaxed))
		n += poll_groups(r, budget - n);
	if (r->rx->hold.first)
		deliver_due(r);
	return n;
}

static inline bool has_rest(const struct roce_rx *rx, const struct roce_endpoint *ep)
{
	return atomic_load_explicit(&ep->has_groups, memory_order_relaxed) || rx->hold.first;
}

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
		.watch = watch_of(ep->taps),
	};

	if (likely(n > 0)) {
		take_messages(&r, n, &ep->local);
		if (unlikely(rx->busy && (unsigned int)n == how_many(rx, budget)))
			n = take_more(&r, n, budget);
	}
	learn(rx, n);
	if (unlikely(has_rest(rx, ep)))
		n = poll_rest(&r, n, budget);
	if (likely(r.packets))
		roce_count_packets(ep->count.rx, is_taker(rx, ep), r.packets, r.bytes);
	if (unlikely(r.watch & WATCH_CAPTURE))
		roce_capture_flush(ep->taps->capture);
	return n;
}

int roce_rx_poll(struct roce_rx *rx, struct roce_endpoint *ep, unsigned int budget, roce_rx_fn *fn,
		 void *arg)
{
	int n;

	if (unlikely(watch_of(ep->taps) & WATCH_CAPTURE))
		roce_endpoint_hear_hops(ep);
	n = receive_some(rx, ep, ep->source[0].fd, how_many(rx, budget));
	/* Most looks find nothing, and there is nothing else to do. */
	if (likely(!n) && likely(!has_rest(rx, ep) && !watch_of(ep->taps))) {
		learn(rx, 0);
		return 0;
	}
	return take_in(rx, ep, n, budget, fn, arg);
}

/* ---- headers for UD receivers ---- */

static void put16(uint8_t *to, uint16_t v)
{
	to[0] = v >> 8;
	to[1] = v;
}

static void ipv4_header(const struct roce_meta *m, uint8_t *ip)
{
	uint32_t sum = 0;

	memset(ip, 0, 20);
	ip[0] = 0x45;
	ip[1] = m->tclass;
	put16(ip + 2, 20 + 8 + m->raw_len);
	put16(ip + 4, m->ip_id);
	ip[6] = 0x40;
	ip[8] = m->ttl;
	ip[9] = IPPROTO_UDP;
	memcpy(ip + 12, m->src.gid + 12, 4);
	memcpy(ip + 16, m->dst.gid + 12, 4);
	for (int i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~(sum + (sum >> 16)));
}

void roce_meta_grh(const struct roce_meta *meta, uint8_t grh[40])
{
	memset(grh, 0, 40);
	if (meta->ipv4) {
		ipv4_header(meta, grh + 20);
		return;
	}
	grh[0] = 0x60 | meta->tclass >> 4;
	grh[1] = meta->tclass << 4;
	put16(grh + 4, 8 + meta->raw_len);
	grh[6] = IPPROTO_UDP;
	grh[7] = meta->ttl;
	memcpy(grh + 8, meta->src.gid, 16);
	memcpy(grh + 24, meta->dst.gid, 16);
}
