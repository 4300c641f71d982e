/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unreliable datagrams: sending, to one queue pair or to a multicast group, and the GRH that
 * receivers find in front of the data. Lock held, inside an epoch section.
 */
#include "hca/transport/datagram.h"

#include <errno.h>
#include <string.h>

#include "fabric/registry.h"
#include "hca/transport/grh.h"
#include "hca/device/lid.h"
#include "hca/device/port.h"
#include "hca/hca.h"
#include "hca/transport/egress.h"
#include "hca/transport/network.h"
#include "hca/transport/packet_filter.h"
#include "hca/transport/path.h"
#include "hca/transport/qp_traffic.h"
#include "hca/transport/request.h"
#include "hca/transport/request_fail.h"
#include "hca/transport/sig_error.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/timer.h"
#include "roce/header.h"

#define GROUP_MOST 64
/*
 * The wait for room on a member's link. It is longer if the process is not stopped, as that may wait
 * for a processor; then pauses between attempts are longer, too.
 */
#define GROUP_WAIT_NS  100000000u
#define GROUP_LATE_NS  60000000000ull
#define GROUP_RETRY_NS 200000u
#define GROUP_PAUSE_NS 5000000u

static bool is_multicast(const struct qp *qp, const struct hca_send *s)
{
	if (s->dqpn != 0xffffff)
		return false;
	return s->av.has_grh &&
	       (s->av.dgid.raw[0] == 0xff ||
		(s->av.dgid.raw[10] == 0xff && (s->av.dgid.raw[12] & 0xf0) == 0xe0));
}

/* Returns the most bytes that the port takes. */
static uint32_t fill_header(struct qp *qp, const struct hca_send *s, struct roce_pkt *pkt,
			    uint8_t *grh)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	unsigned int port = qp->attr.port;
	const uint32_t imm = s->op == HCA_OP_SEND_IMM ? ROCE_IMMDT_BYTES : 0;
	uint32_t most = 4096;
	struct hca_gid_entry src;
	uint16_t sm;

	*pkt = (struct roce_pkt){
		.op = ROCE_TR_UD |
		      (s->op == HCA_OP_SEND_IMM ? ROCE_PKT_SEND_ONLY_IMM : ROCE_PKT_SEND_ONLY),
		.flags = s->solicited ? ROCE_PKT_SOLICITED : 0,
		.dqpn = s->dqpn,
		.sqpn = qp->pub.qpn,
		.psn = qp->req.psn,
		.len = s->length,
		.imm = s->imm,
	};
	/* With the top bit set the QP's own Q_Key is used (IBTA volume 1, 10.2.5). */
	pkt->ud.qkey = s->qkey & 0x80000000u ? qp->attr.qkey : s->qkey;
	pkt->ud.sl = s->av.sl;
	pkt->ud.dlid = s->av.dlid;
	pkt->ud.port = port;
	if (a->ports[port - 1].link == HCA_LINK_INFINIBAND)
		hca_lid_get(a, port, &pkt->ud.slid, &sm);
	else
		most = hca_port_mac_quick(a, port, pkt->ud.smac);
	if (s->av.has_grh && hca_port_gid_quick(a, port, s->av.sgid_index, &src)) {
		pkt->flags |= ROCE_PKT_GRH;
		pkt->ud.roce_kind = hca_grh_build(&s->av, &src, s->length + imm, grh);
	}
	return most;
}

static int send_to(struct qp *qp, struct hca_peer *peer, struct roce_pkt *pkt, const uint8_t *grh,
		   const struct hca_list *list)
{
	struct hca_list with;
	struct roce_pkt out = *pkt;
	int err;

	/* To another host the GRH is the packet's own IP header. */
	if (!peer || !(pkt->flags & ROCE_PKT_GRH)) {
		out.flags &= ~ROCE_PKT_GRH;
		err = send_packet(qp, peer, &out, list, 0, NULL);
	} else {
		with.seg[0] = (struct hca_seg){ .ptr = (char *)grh, .len = HCA_GRH_BYTES };
		memcpy(&with.seg[1], list->seg, list->count * sizeof(list->seg[0]));
		with.count = list->count + 1;
		out.len += HCA_GRH_BYTES;
		err = send_packet(qp, peer, &out, &with, 0, NULL);
	}
	sig_error_of_request(qp);
	return err;
}

/* The first datagram to a group makes the links to its members, and waits for them. */
static bool links_are_made(const struct fabric_reg_entry *member, size_t count)
{
	bool wait, made = true;

	for (size_t i = 0; i < count; i++)
		if (!hca_peer_find(member[i].owner, &wait) && wait)
			made = false;
	return made;
}

/*
 * Without room on a member's link the sender waits, as it does with one receiver, but not for ever: a
 * process that is stopped loses datagrams, and the others of the group do not. What is known of the process
 * serves all queue pairs, and every stopped process is known: else two of them would hold up each datagram.
 */
static bool await_member(struct qp *qp, struct hca_peer *peer)
{
	struct requester *r = &qp->req;
	uint64_t now = hca_now_ns(), waited;

	if (atomic_load_explicit(&peer->group_stuck, memory_order_relaxed))
		return false;
	if (!r->group_since_ns)
		r->group_since_ns = now;
	waited = now - r->group_since_ns;
	if (waited >= GROUP_LATE_NS || (waited >= GROUP_WAIT_NS && hca_peer_is_halted(peer))) {
		atomic_store_explicit(&peer->group_stuck, true, memory_order_relaxed);
		return false;
	}
	timer_pause(qp, waited < GROUP_WAIT_NS ? GROUP_RETRY_NS : GROUP_PAUSE_NS);
	return true;
}

/* The datagram has left, or fails: the next one begins with the first member. */
static void end_group(struct requester *r)
{
	r->group_begun = false;
	r->group_next = 0;
	r->group_since_ns = 0;
}

/* False: wait, for a link that is being made, or for room. */
static bool send_group(struct qp *qp, const struct hca_send *s, struct roce_pkt *pkt,
		       const uint8_t *grh, const struct hca_list *list)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	struct fabric_reg_entry member[GROUP_MOST];
	struct requester *r = &qp->req;
	size_t n = fabric_mcast_members(a->ports[qp->attr.port - 1].link, s->av.dgid.raw, member,
					GROUP_MOST);

	if (n > GROUP_MOST)
		n = GROUP_MOST;
	if (!links_are_made(member, n))
		return false;
	pkt->flags |= ROCE_PKT_MCAST;
	if (!r->group_begun && a->ports[qp->attr.port - 1].link == HCA_LINK_ETHERNET &&
	    packet_filter_pass(qp, pkt, NULL, true))
		hca.network->send_group(qp, &s->av, pkt, list);
	sig_error_of_request(qp);
	if (!r->group_begun)
		qp_traffic_to_group(qp, pkt);
	r->group_begun = true;
	for (; r->group_next < n; r->group_next++) {
		const struct fabric_reg_entry *m = &member[r->group_next];
		struct hca_peer *peer;
		bool wait;

		if (qp->pub.block_self_mcast && m->value == qp->pub.qpn)
			continue;
		pkt->dqpn = m->value;
		peer = hca_peer_find(m->owner, &wait);
		if (peer && send_to(qp, peer, pkt, grh, list) == -EAGAIN) {
			if (await_member(qp, peer))
				return false;
		} else if (peer && unlikely(atomic_load_explicit(&peer->group_stuck,
								 memory_order_relaxed))) {
			atomic_store_explicit(&peer->group_stuck, false, memory_order_relaxed);
		}
		r->group_since_ns = 0;
	}
	end_group(r);
	return true;
}

static enum run_result fail(struct qp *qp, const struct hca_send *s, enum hca_status status,
			    uint16_t vendor)
{
	end_group(&qp->req);
	request_fail(qp, s, status, vendor);
	return RUN_STOP;
}

enum run_result send_datagram(struct qp *qp, struct hca_send *s)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	uint8_t grh[HCA_GRH_BYTES];
	struct hca_peer *peer = NULL;
	struct hca_list list;
	struct roce_pkt pkt;
	int err;

	/* A datagram is one packet. */
	if (s->length > fill_header(qp, s, &pkt, grh))
		return fail(qp, s, HCA_LOC_LEN_ERR, SYN_LENGTH);
	if (s->sge_count >= HCA_MAX_SGE ||
	    !hca_mem_resolve(s->sge, s->sge_count, qp->pub.pd->pdn, 0, &list))
		return fail(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
	if (a->ports[qp->attr.port - 1].link == HCA_LINK_ETHERNET && !s->av.has_grh)
		return fail(qp, s, HCA_LOC_QP_OP_ERR, SYN_QP_OP);
	if (is_multicast(qp, s)) {
		if (!send_group(qp, s, &pkt, grh, &list))
			return RUN_WAIT;
	} else {
		switch (path_datagram(qp, &s->av, s->dqpn, &peer)) {
		case PATH_WAIT:
			return RUN_WAIT;
		case PATH_READY:
			err = send_to(qp, peer, &pkt, grh, &list);
			if (err == -EAGAIN)
				return RUN_WAIT;
			if (err == -EFAULT)
				return fail(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
			if (!peer)
				qp->carrier->datagram_sent(qp);
			break;
		case PATH_NONE:
			break; /* no such destination: lost */
		}
	}
	qp->req.psn = psn_add(qp->req.psn, 1);
	request_finish(qp, s, HCA_SUCCESS, 0);
	return RUN_ON;
}
