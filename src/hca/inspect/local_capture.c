/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From packets of the fabric to those that a wire would have carried. The fabric's are longer, up to
 * whole messages, so each becomes a row of path MTUs, and packet numbers have to be counted anew:
 * they start as the fabric's, where this process first captures something of the queue pair, and run
 * on from there. A capture of two processes may thus have two countings of one connection.
 */
#include "hca/inspect/local_capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hca/inspect/inspect.h"
#include "hca/transport/dci.h"
#include "hca/transport/grh.h"
#include "hca/device/lid.h"
#include "hca/device/port.h"
#include "roce/encode.h"

#define REMEMBERED 128u /* a power of two; as many as requests may wait for an answer */
#define RC_MTU     4096u

/* A packet of the fabric, and of a read all packets of its answer. */
struct counted {
	uint32_t psn, count;
	uint32_t wire, wire_count;
};

/* One direction's requests. */
struct stream {
	bool begun;
	uint32_t next, wire_next;
	uint32_t at; /* free running */
	struct counted seen[REMEMBERED];
};

struct qp_local_capture {
	struct stream out, in;
};

/* ---- numbers ---- */

static const struct counted *find(const struct stream *s, uint32_t psn)
{
	for (uint32_t i = 1; i <= REMEMBERED && i <= s->at; i++) {
		const struct counted *c = &s->seen[(s->at - i) & (REMEMBERED - 1)];
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

/* The number that a request's packet would have; `count` packets it would have been. */
static uint32_t number_request(struct stream *s, const struct roce_pkt *pkt, uint32_t count,
			       uint32_t mtu)
{
	bool read = (pkt->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_READ_REQUEST;
	const struct counted *before = find(s, pkt->psn);
	struct counted *c;

	if (before) /* it is sent again */
		return psn_add(before->wire,
			       psn_diff(pkt->psn, before->psn) * (QP_FABRIC_MTU / mtu));
	if (!s->begun || pkt->psn != s->next)
		s->next = s->wire_next = pkt->psn;
	s->begun = true;
	c = &s->seen[s->at++ & (REMEMBERED - 1)];
	*c = (struct counted){ pkt->psn, 1, s->wire_next, count };
	if (read) {
		c->count = packets(pkt->rdma.dma_len, QP_FABRIC_MTU);
		c->wire_count = packets(pkt->rdma.dma_len, mtu);
	}
	s->next = psn_add(c->psn, c->count);
	s->wire_next = psn_add(c->wire, c->wire_count);
	return c->wire;
}

/* Data names its own packet, a refusal the first that it refuses, all else the last that is done. */
static uint32_t number_answer(const struct stream *s, const struct roce_pkt *pkt, uint32_t mtu)
{
	uint8_t op = pkt->op & ROCE_PKT_OPCODE_MASK;
	const struct counted *c = find(s, pkt->psn);
	uint32_t part = QP_FABRIC_MTU / mtu, nth, n;

	if (!c)
		return s->begun ? psn_add(pkt->psn, psn_diff(s->wire_next, s->next)) : pkt->psn;
	nth = psn_diff(pkt->psn, c->psn);
	n = nth * part;
	if (op == ROCE_PKT_ATOMIC_ACK ||
	    (op == ROCE_PKT_ACK && !(pkt->ack.syndrome & ROCE_SYN_KIND)))
		n = nth + 1 == c->count ? c->wire_count - 1 : n + part - 1;
	return psn_add(c->wire, n);
}

/* ---- opcodes ---- */

/* As the fabric's packet, but at another place in the message. */
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

/* InfiniBand without a GRH: an address made of the LID. */
static void put_lid(uint8_t gid[16], uint16_t lid)
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
		put_lid(f->src.gid, pkt->ud.slid);
		put_lid(f->dst.gid, pkt->ud.dlid);
	} else if (av->has_grh && hca_port_gid_quick(a, port, av->sgid_index, &own)) {
		memcpy(near, own.gid.raw, 16);
		memcpy(far, av->dgid.raw, 16);
	} else {
		if (a->ports[port - 1].link == HCA_LINK_INFINIBAND)
			hca_lid_get(a, port, &lid, &sm);
		put_lid(near, lid);
		put_lid(far, av->dlid);
	}
}

/* ---- writing ---- */

/* Only the fabric has these, or what is passed on between processes behind a queue's back. */
static bool has_shadow(const struct qp *qp, const struct roce_pkt *pkt, bool out)
{
	const struct roce_opcode_info *info = roce_opcode_find(pkt->op);

	if (!info || qp->guest || (pkt->op == ROCE_OP_CNP))
		return false;
	if (qp->pub.type == HCA_QP_XRC_RECV && info->request == out)
		return false;
	return (pkt->op & ROCE_PKT_OPCODE_MASK) != ROCE_PKT_ACK ||
	       pkt->ack.syndrome != ROCE_SYN_NAK_REF;
}

static uint32_t number(struct qp *qp, const struct roce_pkt *pkt, bool out, uint32_t count,
		       uint32_t mtu)
{
	bool request = roce_opcode_find(pkt->op)->request;
	struct stream *s;

	if (!qp->capture)
		qp->capture = calloc(1, sizeof(*qp->capture));
	if (!qp->capture || qp->pub.type == HCA_QP_UD)
		return pkt->psn;
	s = request == out ? &qp->capture->out : &qp->capture->in;
	return request ? number_request(s, pkt, count, mtu) : number_answer(s, pkt, mtu);
}

static void write_row(struct qp *qp, const struct roce_pkt *whole, const struct hca_list *list,
		      uint64_t off, const struct roce_frame *frame)
{
	const struct roce_opcode_info *info = roce_opcode_find(whole->op);
	bool datagram = qp->pub.type == HCA_QP_UD;
	uint32_t mtu = datagram || !qp->attr.path_mtu ? RC_MTU : 128u << qp->attr.path_mtu;
	uint32_t count = packets(whole->len, mtu);
	uint32_t psn = number(qp, whole, frame->out, count, mtu);
	struct roce_pkt pkt = *whole;
	uint8_t data[RC_MTU];
	char text[256];
	size_t len;

	inspect_describe(qp, whole, frame->out, text, sizeof(text));
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
		/* Gone meanwhile: whoever handles the packet finds out as well. */
		if (piece.iov_len &&
		    !hca_mem_copy_out(list, off + (uint64_t)i * mtu, data, piece.iov_len))
			return;
		roce_capture_packet(inspect_get()->capture, frame, &pkt, ROCE_PKEY_DEFAULT, &piece,
				    piece.iov_len ? 1 : 0, text);
	}
}

void local_capture_sent(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *list,
			uint64_t off)
{
	uint8_t grh[HCA_GRH_BYTES];
	struct roce_pkt whole = *pkt;
	struct roce_frame frame;
	bool has_grh = pkt->flags & ROCE_PKT_GRH;

	if (!has_shadow(qp, pkt, true) || !roce_capture_on(inspect_get()->capture))
		return;
	/* To a group once, which is what the wire has seen. */
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
	write_row(qp, &whole, list, off, &frame);
}

void local_capture_received(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *list,
			    const uint8_t *grh)
{
	struct roce_pkt whole = *pkt;
	struct roce_frame frame;

	if (!has_shadow(qp, pkt, false) || !roce_capture_on(inspect_get()->capture))
		return;
	if (pkt->flags & ROCE_PKT_MCAST)
		whole.dqpn = 0xffffff;
	memset(&whole.dc, 0, sizeof(whole.dc)); /* not in a record */
	fill_frame(qp, pkt, false, grh, &frame);
	write_row(qp, &whole, list, 0, &frame);
}
