/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/qp_traffic.h"

#include <string.h>

#include "fabric/port_counts.h"
#include "fabric/traffic.h"
#include "hca/device/ctx.h"
#include "hca/peers/peer_types.h"
#include "hca/transport/packet_filter.h"

/* Bytes of headers. */
enum { LRH = 8, GRH = 40, ETHERNET = 14, IPV4 = 20, IPV6 = 40, UDP = 8, ICRC = 4 };

static bool is_ethernet(const struct qp *qp)
{
	unsigned int port = qp->attr.port ? qp->attr.port : 1;

	return qp->pub.ctx->adapter->ports[port - 1].link == HCA_LINK_ETHERNET;
}

/* The counts of the block are about to go to the rows of the ports. */
static void keep(struct qp *qp)
{
	for (unsigned int i = 0; i < FABRIC_TRAFFIC_COUNTS; i++)
		qp->traffic_before[i] +=
			atomic_load_explicit(&qp->traffic->count[i], memory_order_relaxed);
}

static __attribute__((cold, noinline)) void set_other(struct qp *qp, unsigned int other)
{
	keep(qp);
	fabric_traffic_set_other(qp->traffic, other);
}

void qp_traffic_begin(struct qp *qp, _Atomic uint64_t *counts)
{
	if (counts == qp->port_counts)
		return;
	qp_traffic_end(qp);
	qp->port_counts = counts;
	qp->traffic = fabric_traffic_claim(fabric_port_row(counts), qp->pub.qpn);
}

void qp_traffic_end(struct qp *qp)
{
	/* The directory is not mapped in the child of a fork. */
	if (qp->traffic && hca_ctx_is_here(qp->pub.ctx)) {
		keep(qp);
		fabric_traffic_release(qp->traffic);
	}
	qp->traffic = NULL;
	qp->one_packet = 0;
}

static uint32_t mtu_of(const struct qp *qp)
{
	return qp->attr.path_mtu ? 128u << qp->attr.path_mtu : 4096;
}

static unsigned int headers_of(const struct qp *qp, bool ipv4, bool grh)
{
	if (is_ethernet(qp))
		return ETHERNET + (ipv4 ? IPV4 : IPV6) + UDP + ICRC;
	return LRH + (grh ? GRH : 0) + ICRC;
}

void qp_traffic_set_path(struct qp *qp)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const struct hca_av *av = &qp->attr.av;
	const struct packet_filter *filter;

	qp->link_headers =
		headers_of(qp, !memcmp(av->dgid.raw, mapped, sizeof(mapped)), av->has_grh);
	qp->one_packet = 0;
	filter = packet_filter_get();
	if (qp->traffic && qp->pub.type != HCA_QP_UD && qp->pub.type != HCA_QP_XRC_RECV &&
	    !(filter && filter->traced))
		qp->one_packet = mtu_of(qp) + 1;
}

/* Without a block, all queue pairs of the port add to its row. */
static void add(struct qp *qp, unsigned int what, uint64_t n)
{
	if (likely(qp->traffic))
		fabric_traffic_add(qp->traffic, what, n);
	else
		atomic_fetch_add_explicit(&qp->port_counts[FABRIC_PORT_TRAFFIC + what], n,
					  memory_order_relaxed);
}

static uint32_t packets_of(const struct qp *qp, uint32_t len)
{
	uint32_t mtu = mtu_of(qp);

	return len > mtu ? (len + mtu - 1) / mtu : 1;
}

/* Of all packets of a message, or of a part of it. */
static uint64_t bytes_of(const struct qp *qp, uint8_t op, uint32_t len, uint32_t packets)
{
	bool read = (op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_READ_RESP_ONLY;
	uint8_t middle =
		(op & ROCE_PKT_TRANSPORT_MASK) |
		(roce_opcode_table[op].request ? ROCE_PKT_SEND_MIDDLE : ROCE_PKT_READ_RESP_MIDDLE);
	uint64_t bytes = roce_opcode_table[op].length + ((len + 3ull) & ~3ull);

	bytes += (uint64_t)packets * qp->link_headers;
	bytes += (uint64_t)(packets - 1) * roce_opcode_table[middle].length;
	/* The last packet of such an answer has an AETH, as the first one has. */
	return packets > 1 && read ? bytes + 4 : bytes;
}

static void count_datagram(struct qp *qp, const struct roce_pkt *pkt, uint32_t len, bool out)
{
	bool group = pkt->flags & ROCE_PKT_MCAST;

	qp->link_headers = headers_of(qp, pkt->ud.roce_kind == 2, pkt->flags & ROCE_PKT_GRH);
	add(qp, out ? FABRIC_TX_BYTES : FABRIC_RX_BYTES, bytes_of(qp, pkt->op, len, 1));
	if (group)
		add(qp, out ? FABRIC_TX_MULTICAST : FABRIC_RX_MULTICAST, 1);
	else
		add(qp, out ? FABRIC_TX_UNICAST : FABRIC_RX_UNICAST, 1);
}

void qp_traffic_to_group(struct qp *qp, const struct roce_pkt *pkt)
{
	if (qp->port_counts)
		count_datagram(qp, pkt, pkt->len, true);
}

void qp_traffic_unusual(struct qp *qp, const struct roce_pkt *pkt, uint32_t len, bool out)
{
	const struct roce_opcode_info *info = roce_opcode_find(pkt->op);
	uint32_t packets;

	/* Only the fabric has such packets, or the QP passes on what another process is to receive. */
	if (!info || !qp->port_counts || (qp->pub.type == HCA_QP_XRC_RECV && info->request == out))
		return;
	if (qp->pub.type == HCA_QP_UD) {
		if (!out)
			count_datagram(qp, pkt, len, false);
		else if (!(pkt->flags & ROCE_PKT_MCAST))
			/* A record has the GRH before the data. */
			count_datagram(qp, pkt, pkt->flags & ROCE_PKT_GRH ? len - GRH : len, true);
		return;
	}
	packets = packets_of(qp, len);
	add(qp, out ? FABRIC_TX_BYTES : FABRIC_RX_BYTES, bytes_of(qp, pkt->op, len, packets));
	add(qp, out ? FABRIC_TX_UNICAST : FABRIC_RX_UNICAST, packets);
}

/* Without a block, as add(). */
static void add_direct(struct qp *qp, unsigned int other, unsigned int what, uint64_t n)
{
	if (likely(qp->traffic))
		fabric_traffic_add(qp->traffic, what, n);
	else
		fabric_traffic_add_direct(fabric_port_row(qp->port_counts), other, what, n);
}

/* The packets of a request (`out`), or of its answer. */
static void direct_any(struct qp *qp, const struct hca_send *s, unsigned int other, bool out)
{
	static const uint8_t ops[HCA_OP_COUNT][2] = {
		[HCA_OP_WRITE] = { ROCE_PKT_WRITE_ONLY, ROCE_PKT_ACK },
		[HCA_OP_READ] = { ROCE_PKT_READ_REQUEST, ROCE_PKT_READ_RESP_ONLY },
		[HCA_OP_CMP_SWAP] = { ROCE_PKT_CMP_SWAP, ROCE_PKT_ATOMIC_ACK },
		[HCA_OP_FETCH_ADD] = { ROCE_PKT_FETCH_ADD, ROCE_PKT_ATOMIC_ACK },
		[HCA_OP_ATOMIC_WRITE] = { ROCE_PKT_ATOMIC_WRITE, ROCE_PKT_ATOMIC_ACK },
		[HCA_OP_MASKED_CMP_SWAP] = { ROCE_PKT_MASKED_ATOMIC, ROCE_PKT_ATOMIC_ACK },
		[HCA_OP_MASKED_FETCH_ADD] = { ROCE_PKT_MASKED_ATOMIC, ROCE_PKT_ATOMIC_ACK },
	};
	const unsigned int what = out ? FABRIC_DIRECT_TX_BYTES : FABRIC_DIRECT_RX_BYTES;
	bool data = s->op == HCA_OP_READ
			    ? !out
			    : out && (s->op == HCA_OP_WRITE || s->op == HCA_OP_ATOMIC_WRITE);
	uint32_t len = data ? s->length : 0, packets = packets_of(qp, len);

	add_direct(qp, other, what, bytes_of(qp, ops[s->op][!out], len, packets));
	add_direct(qp, other, what + 1, packets);
}

void qp_traffic_direct(struct qp *qp, const struct hca_send *s)
{
	/* Headers from the BTH on, of the request and of its answer, with the 8 bytes of an atomic. */
	static const uint8_t bytes[HCA_OP_COUNT][2] = {
		[HCA_OP_WRITE] = { 12 + 16, 12 + 4 },
		[HCA_OP_READ] = { 12 + 16, 12 + 4 },
		[HCA_OP_CMP_SWAP] = { 12 + 28, 12 + 4 + 8 },
		[HCA_OP_FETCH_ADD] = { 12 + 28, 12 + 4 + 8 },
		[HCA_OP_ATOMIC_WRITE] = { 12 + 16 + 8, 12 + 4 + 8 },
		[HCA_OP_MASKED_CMP_SWAP] = { 12 + 16 + 32, 12 + 4 + 8 },
		[HCA_OP_MASKED_FETCH_ADD] = { 12 + 16 + 16, 12 + 4 + 8 },
	};
	const struct hca_qp_grant *grant = &qp->peer->segment->grant[qp->attr.dest_qpn];
	unsigned int other = grant->access >> HCA_GRANT_ROW_SHIFT & HCA_GRANT_ROW_MASK;
	uint32_t len = ((uint32_t)s->length + 3) & ~3u;
	struct fabric_traffic *t = qp->traffic;

	if (likely(t) && unlikely(atomic_load_explicit(&t->other, memory_order_relaxed) != other))
		set_other(qp, other);
	/* One that is longer than the MTU, or of a QP without a block, or one that is traced. */
	if (unlikely(s->length >= qp->one_packet)) {
		if (unlikely(packet_filter_get()))
			packet_filter_direct(qp, s);
		direct_any(qp, s, other, true);
		if (qp->pub.type != HCA_QP_UC)
			direct_any(qp, s, other, false);
		return;
	}
	fabric_traffic_add(t, FABRIC_DIRECT_TX_BYTES,
			   qp->link_headers + bytes[s->op][0] + (s->op == HCA_OP_WRITE ? len : 0));
	fabric_traffic_add(t, FABRIC_DIRECT_TX_PACKETS, 1);
	if (unlikely(qp->pub.type == HCA_QP_UC))
		return;
	fabric_traffic_add(t, FABRIC_DIRECT_RX_BYTES,
			   qp->link_headers + bytes[s->op][1] + (s->op == HCA_OP_READ ? len : 0));
	fabric_traffic_add(t, FABRIC_DIRECT_RX_PACKETS, 1);
}
