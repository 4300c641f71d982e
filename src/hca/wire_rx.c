/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets from the wire on their way to queue pairs: of this process, of a group, or, passed on over the
 * fabric, of another process of this host. What belongs to nobody is dropped and counted by its reason.
 * Called under a port's rx_lock and inside a guard, by whoever polls it.
 */
#include <string.h>

#include "fabric/directory.h"
#include "hca/acks.h"
#include "hca/congestion.h"
#include "hca/dc.h"
#include "hca/forward.h"
#include "hca/gsi.h"
#include "hca/port.h"
#include "hca/wire_port.h"

static _Atomic uint64_t dropped[WIRE_DROP_COUNT];

void wire_drop(enum wire_drop why)
{
	atomic_fetch_add_explicit(&dropped[why], 1, memory_order_relaxed);
}

uint64_t wire_dropped(enum wire_drop why)
{
	return atomic_load_explicit(&dropped[why], memory_order_relaxed);
}

const char *wire_drop_name(enum wire_drop why)
{
	static const char *const names[] = {
		[WIRE_DROP_PKEY] = "another partition",
		[WIRE_DROP_NO_QP] = "no such queue pair on this host",
		[WIRE_DROP_STRANGER] = "not from the peer of the connection",
		[WIRE_DROP_KIND] = "not of the queue pair's transport",
		[WIRE_DROP_STATE] = "the queue pair does not receive",
		[WIRE_DROP_QKEY] = "another Q_Key",
		[WIRE_DROP_UNASKED] = "an answer to nothing that is open",
		[WIRE_DROP_SEEN] = "requests that came before",
	};

	return names[why];
}

static bool is_answer(uint8_t op)
{
	op &= ROCE_PKT_OPCODE_MASK;
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

/* Connected queue pairs listen to their peer only; the packet itself does not say who sent it. */
static bool is_from_peer(struct qp *qp, struct forward *f)
{
	if (qp->pub.type == HCA_QP_UD || qp->pub.type == HCA_QP_DCR)
		return true;
	if (memcmp(f->src, qp->attr.av.dgid.raw, sizeof(f->src))) {
		wire_drop(WIRE_DROP_STRANGER);
		return false;
	}
	f->pkt.sqpn = qp->attr.dest_qpn;
	return true;
}

static uint8_t transport_of(const struct qp *qp)
{
	switch (qp->pub.type) {
	case HCA_QP_RC:
		return ROCE_TR_RC;
	case HCA_QP_UC:
		return ROCE_TR_UC;
	case HCA_QP_UD:
		return ROCE_TR_UD;
	case HCA_QP_XRC_SEND:
	case HCA_QP_XRC_RECV:
		return ROCE_TR_XRC;
	case HCA_QP_DCI:
	case HCA_QP_DCT:
	case HCA_QP_DCR:
		return ROCE_TR_DC;
	case HCA_QP_RAW:
		break;
	}
	return 0xff;
}

/* An acknowledgement of one transport must not move a queue pair of another. */
static bool is_of_kind(const struct qp *qp, uint8_t op)
{
	if (op == ROCE_OP_CNP || (op & ROCE_PKT_TRANSPORT_MASK) == transport_of(qp))
		return true;
	wire_drop(WIRE_DROP_KIND);
	return false;
}

static void deliver(struct qp *qp, struct forward *f, const uint8_t *data, struct hca_acks *acks)
{
	struct hca_list list; /* not initialised: it has room for 2 KiB of pieces */

	list.count = 1;
	list.total = f->pkt.len;
	list.seg[0] = (struct hca_seg){ .ptr = (char *)data, .len = f->pkt.len };
	if (unlikely(qp->dct))
		qp = dct_wire_session(qp, f->src, f->dst, &f->pkt);
	if (unlikely(!qp))
		return;
	fabric_lock(&qp->pub.lock);
	if (likely(!qp->dying && is_of_kind(qp, f->pkt.op) && is_from_peer(qp, f))) {
		if (unlikely(f->pkt.flags & ROCE_PKT_FECN))
			congestion_seen(qp, f);
		if (unlikely(f->pkt.op == ROCE_OP_CNP))
			congestion_told(qp);
		else if (is_answer(f->pkt.op))
			completer_packet(qp, &f->pkt, &list);
		else
			responder_packet(qp, NULL, acks, &f->pkt, &list, f->grh);
		wire_flush(qp);
	}
	fabric_unlock(&qp->pub.lock);
}

/* To every queue pair of ours that is in the group; other processes have sockets of their own. */
static void deliver_group(struct wire_port *port, struct forward *f, const uint8_t *data,
			  const struct roce_meta *meta)
{
	struct fabric_reg_entry member[64];
	struct hca_gid src;
	size_t n;

	/* What this host sends itself comes over the fabric. */
	memcpy(src.raw, meta->src.gid, sizeof(src.raw));
	if (hca_gid_is_local(&src))
		return;
	n = fabric_mcast_members(HCA_LINK_ETHERNET, meta->dst.gid, member, array_size(member));
	for (size_t i = 0; i < n && i < array_size(member); i++) {
		struct qp *qp = member[i].owner == fabric_self() ? qp_find(member[i].value) : NULL;

		if (!qp)
			continue;
		f->pkt.dqpn = member[i].value;
		deliver(qp, f, data, &port->acks);
	}
}

void wire_port_packet(void *arg, const struct roce_pkt *pkt, const struct roce_payload *payload,
		      const struct roce_meta *meta)
{
	struct wire_port *port = arg;
	struct forward f = { .pkt = *pkt };
	struct qp *qp;

	if ((payload->pkey & 0x7fff) != 0x7fff) {
		wire_drop(WIRE_DROP_PKEY);
		return;
	}
	f.pkt.len = payload->len;
	/* Of the two places for the mark, switches know the one in the IP header. */
	if (unlikely(ROCE_ECN(meta->tclass) == ROCE_ECN_CE) && pkt->op != ROCE_OP_CNP)
		f.pkt.flags |= ROCE_PKT_FECN;
	memcpy(f.src, meta->src.gid, sizeof(f.src));
	memcpy(f.dst, meta->dst.gid, sizeof(f.dst));
	if ((pkt->op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_UD) {
		roce_meta_grh(meta, f.grh);
		/* Nothing but a complaint keeps who sends datagrams from sending too many. */
		if (unlikely(port->pressed))
			f.pkt.flags |= ROCE_PKT_FECN;
	}
	if (unlikely(meta->multicast)) {
		deliver_group(port, &f, payload->data, meta);
		return;
	}
	qp = qp_find(pkt->dqpn);
	if (likely(qp)) {
		deliver(qp, &f, payload->data, &port->acks);
	} else if (pkt->dqpn == HCA_GSI_QPN) {
		f.pkt.flags |= ROCE_PKT_GRH;
		gsi_packet(&f, payload->data, false);
	} else {
		fabric_id_t owner = fabric_qpn_owner(pkt->dqpn);

		if (owner != FABRIC_NOBODY && owner != fabric_self())
			forward_send(owner, &f, payload->data);
		else
			wire_drop(WIRE_DROP_NO_QP);
	}
}

void wire_forwarded(const void *body, uint32_t len)
{
	struct hca_acks acks = { .count = 0 };
	struct forward f;
	struct qp *qp;

	if (len < sizeof(f))
		return;
	memcpy(&f, body, sizeof(f));
	if (f.pkt.len > len - sizeof(f))
		return;
	if (f.pkt.dqpn == HCA_GSI_QPN) {
		gsi_packet(&f, (const uint8_t *)body + sizeof(f), true);
		return;
	}
	qp = qp_find(f.pkt.dqpn);
	if (!qp)
		return;
	steer_stray(timer_now());
	deliver(qp, &f, (const uint8_t *)body + sizeof(f), &acks);
	acks_send(&acks);
}
