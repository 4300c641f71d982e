/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets in a link between processes are longer than a path MTU, up to whole messages. Here each is
 * split into packets of the path MTU, which need PSNs of their own: they start with the link's PSN
 * at the first packet that this process captures of a queue pair, and count on from there. Captures
 * of two processes can therefore disagree about the PSNs of one connection.
 */
#include "hca/inspect/local_capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/lid.h"
#include "hca/device/port.h"
#include "hca/hca.h"
#include "hca/inspect/pkt_comment.h"
#include "hca/transport/dci.h"
#include "hca/transport/grh.h"
#include "roce/encode.h"

#define SEEN_MAX 128u /* a power of two; as many as QP_WINDOW */
#define MTU_MAX  4096u

/* PSNs of a request packet; for a read, of all its response packets. */
struct psn_range {
	uint32_t psn, count;           /* in the link */
	uint32_t wire_psn, wire_count; /* in the capture */
};

/* The requests of one direction. */
struct psn_map {
	bool started;
	uint32_t next, wire_next; /* PSN of the next request */
	uint32_t at;              /* index of the next range, free running */
	struct psn_range seen[SEEN_MAX];
};

struct qp_local_capture {
	struct psn_map out, in;
};

/* ---- PSNs ---- */

static const struct psn_range *find(const struct psn_map *s, uint32_t psn)
{
	for (uint32_t i = 1; i <= SEEN_MAX && i <= s->at; i++) {
		const struct psn_range *c = &s->seen[(s->at - i) & (SEEN_MAX - 1)];
		int32_t n = psn_diff(psn, c->psn);

		if (n >= 0 && (uint32_t)n < c->count)
			return c;
	}
	return NULL;
}

static uint32_t packets(uint32_t len, uint32_t mtu)
{
	return len ? (len + mtu - 1) / mtu : 1;
}

/* The PSN of the first of the `count` packets that a request packet is split into. */
static uint32_t map_request(struct psn_map *s, const struct roce_pkt *pkt, uint32_t count,
			    uint32_t mtu)
{
	bool read = (pkt->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_READ_REQUEST;
	const struct psn_range *before = find(s, pkt->psn);
	struct psn_range *c;

	if (before) /* a retry */
		return psn_add(before->wire_psn,
			       psn_diff(pkt->psn, before->psn) * (QP_LINK_MTU / mtu));
	if (!s->started || pkt->psn != s->next)
		s->next = s->wire_next = pkt->psn;
	s->started = true;
	c = &s->seen[s->at++ & (SEEN_MAX - 1)];
	*c = (struct psn_range){ pkt->psn, 1, s->wire_next, count };
	if (read) {
		c->count = packets(pkt->rdma.dma_len, QP_LINK_MTU);
		c->wire_count = packets(pkt->rdma.dma_len, mtu);
	}
	s->next = psn_add(c->psn, c->count);
	s->wire_next = psn_add(c->wire_psn, c->wire_count);
	return c->wire_psn;
}

/*
 * A read response has its own PSN, a NAK that of the packet refused, an ACK that of the last packet
 * acknowledged.
 */
static uint32_t map_response(const struct psn_map *s, const struct roce_pkt *pkt, uint32_t mtu)
{
	uint8_t op = pkt->op & ROCE_PKT_OPCODE_MASK;
	const struct psn_range *c = find(s, pkt->psn);
	uint32_t part = QP_LINK_MTU / mtu, nth, n;

	if (!c)
		return s->started ? psn_add(pkt->psn, psn_diff(s->wire_next, s->next)) : pkt->psn;
	nth = psn_diff(pkt->psn, c->psn);
	n = nth * part;
	if (op == ROCE_PKT_ATOMIC_ACK ||
	    (op == ROCE_PKT_ACK && !(pkt->ack.syndrome & ROCE_SYN_KIND)))
		n = nth + 1 == c->count ? c->wire_count - 1 : n + part - 1;
	return psn_add(c->wire_psn, n);
}

/* ---- opcodes ---- */

/* The opcode of a part of the packet: the same operation at another place in the message. */
static uint8_t opcode_at(uint8_t op, bool first, bool last)
{
	static const uint8_t rows[][4] = {
		/* in the middle, first, last, only */
		{ ROCE_PKT_SEND_MIDDLE, ROCE_PKT_SEND_FIRST, ROCE_PKT_SEND_LAST,
		  ROCE_PKT_SEND_ONLY },
		{ ROCE_PKT_SEND_MIDDLE, ROCE_PKT_SEND_FIRST, ROCE_PKT_SEND_LAST_IMM,
		  ROCE_PKT_SEND_ONLY_IMM },
		{ ROCE_PKT_SEND_MIDDLE, ROCE_PKT_SEND_FIRST, ROCE_PKT_SEND_LAST_INV,
		  ROCE_PKT_SEND_ONLY_INV },
		{ ROCE_PKT_WRITE_MIDDLE, ROCE_PKT_WRITE_FIRST, ROCE_PKT_WRITE_LAST,
		  ROCE_PKT_WRITE_ONLY },
		{ ROCE_PKT_WRITE_MIDDLE, ROCE_PKT_WRITE_FIRST, ROCE_PKT_WRITE_LAST_IMM,
		  ROCE_PKT_WRITE_ONLY_IMM },
		{ ROCE_PKT_READ_RESP_MIDDLE, ROCE_PKT_READ_RESP_FIRST, ROCE_PKT_READ_RESP_LAST,
		  ROCE_PKT_READ_RESP_ONLY },
	};
	uint8_t bare = op & ROCE_PKT_OPCODE_MASK;

	for (size_t i = 0; i < array_size(rows); i++)
		for (size_t k = 0; k < array_size(rows[i]); k++)
			if (rows[i][k] == bare)
				return (op & ROCE_PKT_TRANSPORT_MASK) | rows[i][first + 2 * last];
	return op;
}

/* ---- addresses ---- */

/* InfiniBand without a GRH: a link-local address that ends with the LID. */
static void lid_to_gid(uint8_t gid[16], uint16_t lid)
{
	memset(gid, 0, 16);
	gid[0] = 0xfe;
	gid[1] = 0x80;
	gid[14] = lid >> 8;
	gid[15] = lid;
}

static void put_mapped(uint8_t gid[16], const uint8_t *ipv4)
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, ipv4, 4);
}

static void from_grh(const struct roce_pkt *pkt, const uint8_t *grh, struct roce_frame *f)
{
	if (pkt->ud.roce_kind == 2) {
		f->tclass = grh[21];
		f->ttl = grh[28];
		put_mapped(f->src.gid, grh + 32);
		put_mapped(f->dst.gid, grh + 36);
		return;
	}
	f->tclass = grh[0] << 4 | grh[1] >> 4;
	f->ttl = grh[7];
	memcpy(f->src.gid, grh + 8, 16);
	memcpy(f->dst.gid, grh + 24, 16);
}

static void fill_frame(const struct qp *qp, const struct roce_pkt *pkt, bool out,
		       const uint8_t *grh, struct roce_frame *f)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	unsigned int port = qp->attr.port ? qp->attr.port : 1;
	const struct hca_av *av = &qp->attr.av;
	uint8_t *near = out ? f->src.gid : f->dst.gid, *far = out ? f->dst.gid : f->src.gid;
	struct hca_gid_entry own;
	uint16_t lid = 0, sm;

	*f = (struct roce_frame){
		.sport = 0xc000 | (pkt->sqpn & 0x3fff),
		.dport = 4791,
		.ttl = av->hop_limit ? av->hop_limit : 64,
		.tclass = av->traffic_class,
		.out = out,
	};
	if (grh) {
		from_grh(pkt, grh, f);
	} else if (qp->pub.type == HCA_QP_UD) {
		lid_to_gid(f->src.gid, pkt->ud.slid);
		lid_to_gid(f->dst.gid, pkt->ud.dlid);
	} else if (av->has_grh && hca_port_gid_quick(a, port, av->sgid_index, &own)) {
		memcpy(near, own.gid.raw, 16);
		memcpy(far, av->dgid.raw, 16);
	} else {
		if (a->ports[port - 1].link == HCA_LINK_INFINIBAND)
			hca_lid_get(a, port, &lid, &sm);
		lid_to_gid(near, lid);
		lid_to_gid(far, av->dlid);
	}
}

/* ---- writing ---- */

/* False for packets that only links have, and for those that one process passes on to another. */
static bool is_on_wire(const struct qp *qp, const struct roce_pkt *pkt, bool out)
{
	const struct roce_opcode_info *info = roce_opcode_find(pkt->op);

	if (!info || qp->guest || (pkt->op == ROCE_OP_CNP))
		return false;
	if (qp->pub.type == HCA_QP_XRC_RECV && info->request == out)
		return false;
	return (pkt->op & ROCE_PKT_OPCODE_MASK) != ROCE_PKT_ACK ||
	       pkt->ack.syndrome != ROCE_SYN_NAK_REF;
}

static uint32_t map_psn(struct qp *qp, const struct roce_pkt *pkt, bool out, uint32_t count,
			uint32_t mtu)
{
	bool request = roce_opcode_find(pkt->op)->request;
	struct psn_map *s;

	if (!qp->capture)
		qp->capture = calloc(1, sizeof(*qp->capture));
	if (!qp->capture || qp->pub.type == HCA_QP_UD)
		return pkt->psn;
	s = request == out ? &qp->capture->out : &qp->capture->in;
	return request ? map_request(s, pkt, count, mtu) : map_response(s, pkt, mtu);
}

static void write_packets(struct qp *qp, const struct roce_pkt *whole, const struct hca_list *list,
			  uint64_t off, const struct roce_frame *frame)
{
	const struct roce_opcode_info *info = roce_opcode_find(whole->op);
	bool datagram = qp->pub.type == HCA_QP_UD;
	uint32_t mtu = datagram || !qp->attr.path_mtu ? MTU_MAX : 128u << qp->attr.path_mtu;
	uint32_t count = packets(whole->len, mtu);
	uint32_t psn = map_psn(qp, whole, frame->out, count, mtu);
	struct roce_pkt pkt = *whole;
	uint8_t data[MTU_MAX];
	char text[256];
	size_t len;

	pkt_comment_format(qp, whole, frame->out, text, sizeof(text));
	len = strlen(text);
	snprintf(text + len, sizeof(text) - len, "; on the fabric PSN %u", whole->psn);
	for (uint32_t i = 0; i < count; i++) {
		struct iovec piece = { data, whole->len - i * mtu };
		bool last = i + 1 == count;

		piece.iov_len = last ? piece.iov_len : mtu;
		pkt.op = opcode_at(whole->op, i == 0 && info->part & ROCE_FIRST,
				   last && info->part & ROCE_LAST);
		pkt.flags = last ? whole->flags & (ROCE_PKT_SOLICITED | ROCE_PKT_ACK_REQ) : 0;
		pkt.psn = psn_add(psn, i);
		pkt.len = piece.iov_len;
		/* Memory that is gone: the packet's receiver reports the error. */
		if (piece.iov_len &&
		    !hca_mem_copy_out(list, off + (uint64_t)i * mtu, data, piece.iov_len))
			return;
		roce_capture_packet(hca.inspect.wire.capture, frame, &pkt, ROCE_PKEY_DEFAULT,
				    &piece, piece.iov_len ? 1 : 0, text);
	}
}

void local_capture_sent(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *list,
			uint64_t off)
{
	uint8_t grh[HCA_GRH_BYTES];
	struct roce_pkt whole = *pkt;
	struct roce_frame frame;
	bool has_grh = pkt->flags & ROCE_PKT_GRH;

	if (!is_on_wire(qp, pkt, true) || !roce_capture_on(hca.inspect.wire.capture))
		return;
	/* A multicast on Ethernet also leaves by the wire, and is captured there. */
	if (pkt->flags & ROCE_PKT_MCAST &&
	    qp->pub.ctx->adapter->ports[qp->attr.port - 1].link == HCA_LINK_ETHERNET)
		return;
	if (has_grh) {
		if (!hca_mem_copy_out(list, off, grh, sizeof(grh)))
			return;
		off += sizeof(grh);
		whole.len -= sizeof(grh);
	}
	if (qp->dci)
		dci_fill(qp, &whole);
	fill_frame(qp, pkt, true, has_grh ? grh : NULL, &frame);
	write_packets(qp, &whole, list, off, &frame);
}

void local_capture_received(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *list,
			    const uint8_t *grh)
{
	struct roce_pkt whole = *pkt;
	struct roce_frame frame;

	if (!is_on_wire(qp, pkt, false) || !roce_capture_on(hca.inspect.wire.capture))
		return;
	if (pkt->flags & ROCE_PKT_MCAST)
		whole.dqpn = 0xffffff;
	memset(&whole.dc, 0, sizeof(whole.dc)); /* records have no DC header */
	fill_frame(qp, pkt, false, grh, &frame);
	write_packets(qp, &whole, list, 0, &frame);
}
