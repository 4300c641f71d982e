/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/wire_rx.h"

#include <string.h>

#include "fabric/directory.h"
#include "fabric/lock.h"
#include "fabric/numbers.h"
#include "fabric/registry.h"
#include "hca/transport/acks.h"
#include "hca/wire/congestion.h"
#include "hca/transport/completer.h"
#include "hca/transport/dct.h"
#include "hca/transport/drops.h"
#include "hca/transport/packet_filter.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/responder.h"
#include "hca/wire/forward.h"
#include "hca/wire/gsi.h"
#include "hca/device/port.h"
#include "hca/transport/grh.h"
#include "hca/transport/qp_traffic.h"
#include "hca/transport/qp_types.h"
#include "hca/wire/qp_wire.h"
#include "hca/wire/reuseport.h"
#include "hca/wire/wire_port.h"
#include "hca/wire/wire_source.h"
#include "hca/wire/wire_tx.h"

static bool is_answer(uint8_t op)
{
	op &= ROCE_PKT_OPCODE_MASK;
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

/* A received packet, valid until it is delivered; fields of pkt are added in place. */
struct arrival {
	struct roce_pkt *pkt;
	const uint8_t *data;
	const uint8_t *src, *dst; /* GIDs */
	const uint8_t *grh;       /* of a datagram */
	uint16_t sport;
};

/* A connected QP accepts packets of its peer only. Packets other than datagrams do not name their QP. */
static bool is_from_peer(struct qp *qp, const struct arrival *a)
{
	if (unlikely(qp->pub.type == HCA_QP_UD || qp->pub.type == HCA_QP_DCR))
		return true;
	if (unlikely(memcmp(a->src, qp->attr.av.dgid.raw, sizeof(qp->attr.av.dgid.raw)))) {
		drop_count(DROP_STRANGER);
		return false;
	}
	if (unlikely(a->sport != qp->peer_sport) && !wire_source_accept(qp, a->sport, a->pkt))
		return false;
	a->pkt->sqpn = qp->attr.dest_qpn;
	return true;
}

/* An acknowledgement of one transport must not move a queue pair of another. */
static bool is_of_kind(const struct qp *qp, uint8_t op)
{
	static const uint8_t transport[] = {
		[HCA_QP_RC] = ROCE_TR_RC,        [HCA_QP_UC] = ROCE_TR_UC,
		[HCA_QP_UD] = ROCE_TR_UD,        [HCA_QP_RAW] = 0xff,
		[HCA_QP_XRC_SEND] = ROCE_TR_XRC, [HCA_QP_XRC_RECV] = ROCE_TR_XRC,
		[HCA_QP_DCI] = ROCE_TR_DC,       [HCA_QP_DCT] = ROCE_TR_DC,
		[HCA_QP_DCR] = ROCE_TR_DC,
	};

	if (likely((op & ROCE_PKT_TRANSPORT_MASK) == transport[qp->pub.type]) || op == ROCE_OP_CNP)
		return true;
	drop_count(DROP_KIND);
	return false;
}

/* Inlined into its callers: nearly all packets take the first of them. */
static inline __attribute__((always_inline)) void deliver(struct qp *qp, struct arrival a,
							  struct hca_acks *acks)
{
	struct roce_pkt *pkt = a.pkt;
	struct hca_list list; /* not initialised: 2 KiB */

	list.count = 1;
	list.total = list.seg[0].len = pkt->len;
	list.seg[0].ptr = (char *)a.data;
	list.seg[0].kind = HCA_SEG_PLAIN;
	if (unlikely(qp->dct))
		qp = dct_remote_session(qp, a.src, a.dst, pkt);
	if (unlikely(!qp))
		return;
	fabric_lock(&qp->pub.lock);
	if (likely(!qp->dying && is_of_kind(qp, pkt->op) && is_from_peer(qp, &a) &&
		   packet_filter_pass(qp, pkt, a.grh, false))) {
		qp_traffic_count(qp, pkt, pkt->len, false);
		if (unlikely(pkt->flags & ROCE_PKT_FECN))
			congestion_marked(qp, pkt, a.src, a.dst);
		if (unlikely(pkt->op == ROCE_OP_CNP))
			congestion_notified(qp);
		else if (is_answer(pkt->op))
			completer_packet(qp, pkt, &list);
		else
			responder_packet(qp, NULL, acks, pkt, &list, a.grh);
		if (likely(qp->wire) && unlikely(wire_port_tx_pending(qp->wire->port)))
			wire_tx_flush_port(qp->wire->port);
	}
	fabric_unlock(&qp->pub.lock);
}

/* To every QP of this process in the group. Other processes receive the packet by their own sockets. */
static void deliver_group(struct arrival a, struct hca_acks *acks)
{
	struct fabric_reg_entry member[64];
	struct roce_pkt pkt = *a.pkt;
	struct hca_gid src;
	size_t n;

	/* Packets of this host arrive over the fabric. */
	memcpy(src.raw, a.src, sizeof(src.raw));
	if (hca_gid_is_local(&src))
		return;
	a.pkt = &pkt;
	n = fabric_mcast_members(HCA_LINK_ETHERNET, a.dst, member, array_size(member));
	for (size_t i = 0; i < n && i < array_size(member); i++) {
		struct qp *qp = member[i].owner == fabric_self() ? qp_find(member[i].value) : NULL;

		if (!qp)
			continue;
		pkt.dqpn = member[i].value;
		deliver(qp, a, acks);
	}
}

/* No queue pair of this process has the number. */
static void forward_packet(const struct arrival *a)
{
	struct forward f = { .pkt = *a->pkt };
	fabric_id_t owner;

	if (a->grh)
		memcpy(f.grh, a->grh, sizeof(f.grh));
	memcpy(f.src, a->src, sizeof(f.src));
	memcpy(f.dst, a->dst, sizeof(f.dst));
	f.sport = a->sport;
	if (f.pkt.dqpn == HCA_GSI_QPN) {
		f.pkt.flags |= ROCE_PKT_GRH;
		gsi_packet(&f, a->data, false);
		return;
	}
	owner = fabric_qpn_owner(f.pkt.dqpn);
	if (owner == FABRIC_ID_NONE || owner == fabric_self()) {
		drop_count(DROP_NO_QP);
		return;
	}
	forward_send(owner, &f, a->data);
}

/* Takes the struct by value, so that its caller keeps it in registers. */
static __attribute__((noinline)) void deliver_elsewhere(struct arrival a, bool multicast,
							struct hca_acks *acks)
{
	if (multicast)
		deliver_group(a, acks);
	else
		forward_packet(&a);
}

void wire_rx_packet(void *arg, struct roce_pkt *pkt, const struct roce_payload *payload,
		    const struct roce_meta *meta)
{
	struct wire_port *port = arg;
	uint8_t grh[HCA_GRH_BYTES];
	struct arrival a = {
		.pkt = pkt,
		.data = payload->data,
		.src = meta->src.gid,
		.dst = meta->dst.gid,
		.sport = meta->sport,
	};
	struct qp *qp;

	if (unlikely((payload->pkey & 0x7fff) != 0x7fff)) {
		drop_count(DROP_PKEY);
		return;
	}
	/* Switches mark the IP header (RFC 3168); FECN of the BTH means the same. */
	if (unlikely(ROCE_ECN(meta->tclass) == ROCE_ECN_CE) && pkt->op != ROCE_OP_CNP)
		pkt->flags |= ROCE_PKT_FECN;
	if ((pkt->op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_UD) {
		roce_meta_grh(meta, grh);
		a.grh = grh;
		/* Datagrams have no window: only a CNP slows down their sender. */
		if (unlikely(port->is_half_full))
			pkt->flags |= ROCE_PKT_FECN;
	}
	qp = likely(!meta->multicast) ? qp_find(pkt->dqpn) : NULL;
	if (likely(qp))
		deliver(qp, a, &port->acks);
	else
		deliver_elsewhere(a, meta->multicast, &port->acks);
}

void wire_rx_forwarded(const void *body, uint32_t len)
{
	struct hca_acks acks = { .count = 0 };
	struct arrival a;
	struct forward f;
	struct qp *qp;

	if (len < sizeof(f))
		return;
	memcpy(&f, body, sizeof(f));
	if (f.pkt.len > len - sizeof(f))
		return;
	a = (struct arrival){
		.pkt = &f.pkt,
		.data = (const uint8_t *)body + sizeof(f),
		.src = f.src,
		.dst = f.dst,
		.grh = f.grh,
		.sport = f.sport,
	};
	if (f.pkt.dqpn == HCA_GSI_QPN) {
		gsi_packet(&f, a.data, true);
		return;
	}
	qp = qp_find(f.pkt.dqpn);
	if (!qp)
		return;
	reuseport_misdelivered(hca_now_ns());
	deliver(qp, a, &acks);
	acks_send(&acks);
}
