/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/rx.h"

#include <errno.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "roce/hold.h"
#include "roce/udp_priv.h"
#include "util/api.h"

enum {
	RX_DATAGRAMS = 16,
	RX_BYTES = 64 << 10, /* what GRO may join */
	RX_CONTROL = 192,
};

struct roce_rx {
	struct roce_hold hold;
	bool hit;              /* the last look found something */
	bool busy;             /* the last two did: there is likely more than one datagram */
	struct roce_meta meta; /* of the datagram in work */
	/* The flow of the last datagram, which is that of the next one more often than not. */
	struct roce_icrc_flow flow;
	struct roce_addr flow_src, flow_dst;
	uint16_t flow_sport;
	uint16_t flow_dport;
	struct mmsghdr msg[RX_DATAGRAMS];
	struct iovec iov[RX_DATAGRAMS];
	union roce_sockaddr from[RX_DATAGRAMS];
	union {
		char bytes[RX_CONTROL];
		struct cmsghdr align;
	} control[RX_DATAGRAMS];
	uint8_t buf[RX_DATAGRAMS][RX_BYTES];
};

/* All that handling one packet needs. `rx` and `ep` are NULL in the pure part. */
struct receive {
	struct roce_rx *rx;
	struct roce_endpoint *ep;
	const struct roce_icrc_flow *flow;
	uint16_t dport;
	struct roce_meta *meta;
	uint64_t *drops;
	bool dropped;
	uint64_t packets, bytes;
	roce_rx_fn *fn;
	void *arg;
};

int roce_rx_create(struct roce_rx **out)
{
	struct roce_rx *rx = malloc(sizeof(*rx));

	if (!rx)
		return -ENOMEM;
	/* Buffers are not touched before there is something in them. */
	memset(rx, 0, offsetof(struct roce_rx, buf));
	for (unsigned int i = 0; i < RX_DATAGRAMS; i++) {
		rx->iov[i] = (struct iovec){ rx->buf[i], RX_BYTES };
		rx->msg[i].msg_hdr = (struct msghdr){
			.msg_name = &rx->from[i],
			.msg_iov = &rx->iov[i],
			.msg_iovlen = 1,
			.msg_control = rx->control[i].bytes,
		};
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

static const struct roce_taps *taps_of(const struct receive *r)
{
	static const struct roce_taps none;

	return r->ep ? r->ep->taps : &none;
}

static void capture(const struct receive *r, const struct roce_pkt *pkt, const uint8_t *data,
		    size_t len, enum roce_drop why)
{
	const struct roce_taps *taps = taps_of(r);
	char text[256] = "";
	struct roce_frame frame = {
		.src = r->meta->src,
		.dst = r->meta->dst,
		.sport = r->meta->sport,
		.dport = r->dport,
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

static bool is_captured(const struct receive *r)
{
	const struct roce_taps *taps = taps_of(r);

	return taps->capture && roce_capture_on(taps->capture);
}

static void mark_datagram(const struct roce_meta *meta, struct roce_pkt *pkt)
{
	if ((pkt->op & ROCE_PKT_TRANSPORT_MASK) != ROCE_TR_UD)
		return;
	pkt->ud.roce_kind = meta->ipv4 ? 2 : 1;
	if (meta->multicast)
		pkt->flags |= ROCE_PKT_MCAST;
}

static enum roce_drop open_packet(struct receive *r, const uint8_t *data, size_t len,
				  struct roce_pkt *pkt, struct roce_payload *payload)
{
	enum roce_drop why = roce_decode(data, len, pkt, payload);

	if (why)
		return why;
	if (!roce_icrc_check(r->flow, data, len, &r->meta->ip_id))
		return ROCE_DROP_ICRC;
	mark_datagram(r->meta, pkt);
	return ROCE_OK;
}

static void deliver(struct receive *r, struct roce_pkt *pkt, const struct roce_payload *payload,
		    const uint8_t *data, size_t len)
{
	r->meta->raw = data;
	r->meta->raw_len = len;
	r->packets++;
	r->bytes += len;
	if (unlikely(is_captured(r)))
		capture(r, pkt, data, len, ROCE_OK);
	r->fn(r->arg, pkt, payload, r->meta);
}

static void drop(struct receive *r, const uint8_t *data, size_t len, enum roce_drop why)
{
	r->drops[why]++;
	r->dropped = true;
	if (is_captured(r) && why != ROCE_DROP_PROBE && why != ROCE_DROP_TRUNCATED)
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

static void deliver_spoilt(struct receive *r, struct roce_pkt *pkt,
			   const struct roce_payload *payload, const uint8_t *data, size_t len)
{
	uint64_t now = roce_now_ns();
	struct roce_verdict v =
		roce_fault_judge(taps_of(r)->fault, ROCE_DIR_IN, pkt, &r->meta->src, now);
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
		deliver(r, pkt, payload, data, len);
		deliver(r, pkt, payload, data, len);
		break;
	default:
		deliver(r, pkt, payload, data, len);
		break;
	}
	if (passed)
		deliver_held(r, passed);
}

static void take_packet(struct receive *r, const uint8_t *data, size_t len)
{
	struct roce_fault *fault = taps_of(r)->fault;
	struct roce_payload payload;
	struct roce_pkt pkt;
	enum roce_drop why = open_packet(r, data, len, &pkt, &payload);

	if (unlikely(why)) {
		if (r->ep && roce_probe_take(r->ep, data, len))
			why = ROCE_DROP_PROBE;
		drop(r, data, len, why);
		return;
	}
	if (unlikely(fault && roce_fault_on(fault)))
		deliver_spoilt(r, &pkt, &payload, data, len);
	else
		deliver(r, &pkt, &payload, data, len);
}

static void take_datagram(struct receive *r, const uint8_t *data, size_t len, size_t segment)
{
	if (!segment || segment > len)
		segment = len;
	r->meta->ip_id = 0;
	do {
		size_t n = len < segment ? len : segment;

		take_packet(r, data, n);
		/* The sender's kernel counts the segments of a send. */
		r->meta->ip_id++;
		data += n;
		len -= n;
	} while (len);
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

	take_datagram(&r, data, len, segment);
	return r.packets;
}

/* ---- sockets ---- */

static int control_int(const struct cmsghdr *c)
{
	int value = 0;

	/* IP_TOS comes as one byte, the others as an int. */
	if (c->cmsg_len == CMSG_LEN(1))
		return *CMSG_DATA(c);
	if (c->cmsg_len >= CMSG_LEN(sizeof(value)))
		memcpy(&value, CMSG_DATA(c), sizeof(value));
	return value;
}

static void read_control(struct msghdr *msg, struct roce_meta *meta, size_t *segment)
{
	struct in_pktinfo in;
	struct in6_pktinfo in6;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		switch (c->cmsg_level << 16 | c->cmsg_type) {
		case IPPROTO_UDP << 16 | UDP_GRO:
			*segment = control_int(c);
			break;
		case IPPROTO_IP << 16 | IP_TOS:
		case IPPROTO_IPV6 << 16 | IPV6_TCLASS:
			meta->tclass = control_int(c);
			break;
		case IPPROTO_IP << 16 | IP_TTL:
		case IPPROTO_IPV6 << 16 | IPV6_HOPLIMIT:
			meta->ttl = control_int(c);
			break;
		case IPPROTO_IP << 16 | IP_PKTINFO:
			memcpy(&in, CMSG_DATA(c), sizeof(in));
			meta->dst.ifindex = in.ipi_ifindex;
			break;
		case IPPROTO_IPV6 << 16 | IPV6_PKTINFO:
			memcpy(&in6, CMSG_DATA(c), sizeof(in6));
			meta->dst.ifindex = in6.ipi6_ifindex;
			break;
		default:
			break;
		}
	}
}

static void find_flow(struct roce_rx *rx, const struct roce_endpoint *ep,
		      const struct roce_meta *meta)
{
	if (rx->flow_sport == meta->sport && rx->flow_dport == ep->port &&
	    !memcmp(rx->flow_src.gid, meta->src.gid, 16) &&
	    !memcmp(rx->flow_dst.gid, meta->dst.gid, 16))
		return;
	rx->flow_src = meta->src;
	rx->flow_dst = meta->dst;
	rx->flow_sport = meta->sport;
	rx->flow_dport = ep->port;
	roce_icrc_flow_init(&rx->flow, &meta->src, &meta->dst, meta->sport, ep->port);
}

static void take_message(struct receive *r, unsigned int i, const struct roce_addr *dst,
			 bool multicast)
{
	struct roce_rx *rx = r->rx;
	struct roce_meta *meta = &rx->meta;
	struct msghdr *msg = &rx->msg[i].msg_hdr;
	size_t segment = 0;

	*meta = (struct roce_meta){
		.dst = *dst, /* without a control message: where the address is */
		.ipv4 = r->ep->ipv4,
		.multicast = multicast,
	};
	read_control(msg, meta, &segment);
	if (!roce_addr_from_sockaddr(&rx->from[i], &meta->src, &meta->sport))
		return;
	r->meta = meta;
	r->flow = &rx->flow;
	if (msg->msg_flags & MSG_TRUNC) {
		drop(r, rx->buf[i], RX_BYTES, ROCE_DROP_TRUNCATED);
		return;
	}
	find_flow(rx, r->ep, meta);
	take_datagram(r, rx->buf[i], rx->msg[i].msg_len, segment);
}

static bool is_taker(const struct roce_rx *rx, struct roce_endpoint *ep)
{
	const struct roce_rx *nobody = NULL;

	if (likely(atomic_load_explicit(&ep->taker, memory_order_relaxed) == rx))
		return true;
	return atomic_compare_exchange_strong(&ep->taker, &nobody, rx);
}

/* Up to `most` datagrams into the buffers. */
static int receive_some(struct roce_rx *rx, struct roce_endpoint *ep, int fd, unsigned int most)
{
	int n;

	for (unsigned int i = 0; i < most; i++) {
		rx->msg[i].msg_hdr.msg_namelen = sizeof(rx->from[i]);
		rx->msg[i].msg_hdr.msg_controllen = RX_CONTROL;
	}
	do {
		if (most == 1) {
			n = roce_recvmsg(fd, &rx->msg[0].msg_hdr, MSG_DONTWAIT);
			if (n >= 0) {
				rx->msg[0].msg_len = n;
				n = 1;
			}
		} else {
			n = recvmmsg(fd, rx->msg, most, MSG_DONTWAIT, NULL);
		}
	} while (n < 0 && errno == EINTR);
	roce_count_call(ep->count.rx, is_taker(rx, ep));
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	return n;
}

/* Who waits for one datagram gets it by the system call that costs least. */
static int poll_main(struct receive *r, unsigned int budget)
{
	struct roce_rx *rx = r->rx;
	unsigned int total = 0;

	while (total < budget) {
		unsigned int most = budget - total;
		int n;

		most = !rx->busy ? 1 : most < RX_DATAGRAMS ? most : RX_DATAGRAMS;
		n = receive_some(r->rx, r->ep, r->ep->flow[0].fd, most);
		if (n < 0)
			return n;
		for (int i = 0; i < n; i++)
			take_message(r, i, &r->ep->local, false);
		total += n;
		if ((unsigned int)n < most || !rx->busy)
			break;
	}
	rx->busy = total && rx->hit;
	rx->hit = total;
	return total;
}

/* The lock is only held while the socket is read: whoever is called may join and leave. */
static int poll_groups(struct receive *r, unsigned int budget)
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
		for (int i = 0; i < n; i++)
			take_message(r, i, &dst, true);
		total += n;
	}
	return total;
}

int roce_rx_poll(struct roce_rx *rx, struct roce_endpoint *ep, unsigned int budget, roce_rx_fn *fn,
		 void *arg)
{
	uint64_t drops[ROCE_DROP_COUNT] = { 0 };
	struct receive r = {
		.rx = rx,
		.ep = ep,
		.dport = ep->port,
		.drops = drops,
		.fn = fn,
		.arg = arg,
	};
	int n, more = 0;

	n = poll_main(&r, budget);
	if (n >= 0 && (unsigned int)n < budget &&
	    atomic_load_explicit(&ep->has_groups, memory_order_relaxed))
		more = poll_groups(&r, budget - n);
	if (unlikely(rx->hold.first)) {
		uint64_t now = roce_now_ns();
		struct roce_held *h;

		while ((h = roce_hold_take(&rx->hold, now, ep)))
			deliver_held(&r, h);
	}
	if (r.packets)
		roce_count_packets(ep->count.rx, is_taker(rx, ep), r.packets, r.bytes);
	for (unsigned int i = 1; unlikely(r.dropped) && i < ROCE_DROP_COUNT; i++)
		roce_count(&ep->count.rx_drop[i], drops[i]);
	if (unlikely(is_captured(&r)))
		roce_capture_flush(ep->taps->capture);
	return n < 0 ? n : n + more;
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
