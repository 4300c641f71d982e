/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-sided work without packets: the peer's memory is mapped (or reachable by process_vm_readv/writev),
 * so the initiator carries the access out itself. The checks are the responder's: the grant of the
 * target queue pair must name this one, and the key must be valid in the peer's table, belong to the
 * grant's protection domain, cover the range and permit the access. If any check fails the request is
 * sent as packets, and the responder reports the error.
 */
#include "hca/transport/direct.h"

#include <string.h>

#include "fabric/epoch.h"
#include "hca/device/checker.h"
#include "hca/memory/atomic.h"
#include "hca/memory/vm_copy.h"
#include "hca/peers/peer_map.h"
#include "hca/transport/egress.h"
#include "hca/transport/observer.h"
#include "hca/transport/packet_filter.h"
#include "hca/transport/sig_error.h"
#include "util/copy.h"

static uint32_t remote_access(enum hca_op op)
{
	switch (op) {
	case HCA_OP_WRITE:
	case HCA_OP_ATOMIC_WRITE:
		return HCA_ACCESS_REMOTE_WRITE;
	case HCA_OP_READ:
		return HCA_ACCESS_REMOTE_READ;
	default:
		return HCA_ACCESS_REMOTE_ATOMIC;
	}
}

/* Checks the target's grant; false: it does not permit this QP the access. */
static bool check_grant(struct qp *qp, uint32_t access, uint32_t *pdn)
{
	const struct hca_qp_grant *grant = &qp->peer->segment->grant[qp->attr.dest_qpn];
	/* [GR1] pairs with qp_grant_update(): fields before the word */
	uint64_t word = atomic_load_explicit(&grant->word, memory_order_acquire);

	if (unlikely(!(word & 1) || (grant->access & access) != access))
		return false;
	if (qp->dci) {
		if (!(grant->access & HCA_GRANT_DCT) || grant->dc_key != qp->dc_key)
			return false;
	} else if (unlikely(grant->peer_qpn != qp->pub.qpn || grant->access & HCA_GRANT_DCT ||
			    /* The PSNs of both ends must agree, as they must for packets. */
			    grant->first_psn != qp->req.first_psn)) {
		return false;
	}
	*pdn = grant->pdn;
	/* [GR1] The fields are read before the word is read again. */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&grant->word, memory_order_relaxed) == word;
}

/*
 * Tells the target that communication is established (it may wait for IBV_EVENT_COMM_EST), as no packet
 * of this request will. Without room it is left to the next request.
 */
static void send_hello(struct qp *qp)
{
	struct roce_pkt pkt = {
		.op = ROCE_PKT_HELLO,
		.dqpn = qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
	};

	qp->req.hello_sent = !send_packet(qp, qp->peer, &pkt, NULL, 0, NULL);
}

/* Later requests wait for the acknowledgement that the peer was allowed to delay. */
bool direct_hurry(struct qp *qp)
{
	struct roce_pkt pkt = {
		.op = ROCE_PKT_HELLO,
		.flags = ROCE_PKT_ACK_REQ,
		.dqpn = qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
	};

	return !send_packet(qp, qp->peer, &pkt, NULL, 0, NULL);
}

/*
 * Before the key is looked up, and after the access. The owner does not wait for a process that is stopped in the middle
 * of an access: it deregisters the region, or makes its memory private, and the access goes to pages that are not in use
 * any more. So an access during which the count has moved is repeated by packets.
 */
static uint32_t skips_of(const struct hca_peer *peer)
{
	uint32_t count;

	/* A thread that was stopped has made its accesses in the order of the program. */
	atomic_signal_fence(memory_order_seq_cst);
	count = atomic_load_explicit(&peer->segment->skips, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	return count;
}

static struct hca_atomic atomic_of(const struct hca_send *s)
{
	if (op_is_masked(s->op))
		return s->masked;
	return s->op == HCA_OP_FETCH_ADD ? hca_atomic_plain(true, 0, s->compare)
					 : hca_atomic_plain(false, s->compare, s->swap);
}

/* An atomic or an atomic write on mapped memory; its length, 4 or 8, was checked. */
static enum direct_result execute_word(const struct qp *qp, const struct hca_send *s,
				       const struct hca_list *local, void *target)
{
	struct hca_atomic atomic;
	uint64_t word;

	if ((uintptr_t)target & (s->length - 1))
		return DIRECT_NO;
	if (s->op == HCA_OP_ATOMIC_WRITE) {
		if (!hca_mem_copy_out(local, 0, &word, 8))
			return DIRECT_LOCAL_ERROR;
		/* A reader that sees the word sees all earlier writes (IBTA volume 1, Annex A19). */
		__atomic_store_n((uint64_t *)target, word, __ATOMIC_SEQ_CST);
		return DIRECT_DONE;
	}
	atomic = atomic_of(s);
	word = qp_atomic_reply(qp, hca_atomic_run(&atomic, target), atomic.size);
	return hca_mem_copy_in(local, 0, &word, atomic.size) ? DIRECT_DONE : DIRECT_LOCAL_ERROR;
}

/* The adversary of the checker, which always comes with faults, places bytes in the responder. */
static bool is_by_packets(const struct qp *qp)
{
	return qp->pub.checked && hca.checker->random;
}

enum direct_result direct_execute(struct qp *qp, struct hca_send *s)
{
	bool atomic = op_is_atomic(s->op) || op_is_masked(s->op) || s->op == HCA_OP_ATOMIC_WRITE;
	uint64_t length = s->length;
	const struct packet_filter *filter;
	uint32_t access = remote_access(s->op), granted = access, pdn;
	struct hca_peer *peer = qp->peer;
	struct hca_mr_entry e;
	struct hca_list local, remote;
	const struct observer *observer;
	enum direct_result result;
	uint32_t skips;
	char *base;
	bool done;

	/* The target's refusal of a read or an atomic comes before the local one, by packets. */
	if (!hca_mem_resolve(s->sge, s->sge_count, qp->pub.pd->pdn,
			     op_returns_data(s->op) ? HCA_ACCESS_LOCAL_WRITE : 0, &local))
		return op_returns_data(s->op) ? DIRECT_NO : DIRECT_LOCAL_ERROR;
	observer = observer_get();
	if (unlikely(observer) && (observer->sent || is_by_packets(qp)))
		return DIRECT_NO; /* packets can be captured */
	if (s->op == HCA_OP_ATOMIC_WRITE)
		granted |= HCA_GRANT_ANSWERS;
	filter = packet_filter_get();
	if (unlikely(filter) && (filter->rx || filter->tx))
		return DIRECT_NO; /* flow rules apply to packets */
	epoch_visit();
	if (unlikely(!hca_peer_may_access(peer)) || !check_grant(qp, granted, &pdn))
		return DIRECT_NO;
	if (unlikely(!qp->req.hello_sent && !qp->dci))
		send_hello(qp);
	if (!length)
		return DIRECT_DONE;
	skips = skips_of(peer);
	if (unlikely(!hca_mem_find_there(peer->segment, s->rkey, pdn, qp->attr.dest_qpn, s->raddr,
					 length, access, &e)))
		return DIRECT_NO;
	if (unlikely(e.flags & (HCA_MR_NULL | HCA_MR_CAREFUL | HCA_MR_INDIRECT)))
		return DIRECT_NO;
	if (atomic && (s->raddr & (length - 1)))
		return DIRECT_NO;
	remote.count = 1;
	remote.seg[0].len = length;
	remote.seg[0].kind = HCA_SEG_PLAIN;
	base = hca_peer_map(peer, &e, s->rkey);
	if (likely(base)) {
		remote.seg[0].ptr = base + (s->raddr - e.iova);
	} else {
		if (!peer->can_vm || atomic || hca_peer_has_gate(peer) || !vm_copy_is_ready())
			return DIRECT_NO;
		epoch_visit_by_kernel();
		if (unlikely(skips_of(peer) != skips))
			return DIRECT_NO;
		remote.seg[0].ptr = (char *)(uintptr_t)(e.va + (s->raddr - e.iova));
		remote.seg[0].kind = HCA_SEG_REMOTE;
		remote.seg[0].pid = peer->pid;
		remote.seg[0].word = &peer->segment->skips;
		remote.seg[0].value = skips;
	}
	if (atomic) {
		result = execute_word(qp, s, &local, remote.seg[0].ptr);
		sig_error_of_request(qp);
		/* Done or not, and not to be done twice. Accesses of this process itself are waited for. */
		if (unlikely(skips_of(peer) != skips) && !peer->is_self)
			return DIRECT_LOCAL_ERROR;
		return result;
	}
	if (s->op == HCA_OP_WRITE) {
		if (likely(local.count == 1 && local.seg[0].kind == HCA_SEG_PLAIN &&
			   remote.seg[0].kind == HCA_SEG_PLAIN)) {
			vb_copy(remote.seg[0].ptr, local.seg[0].ptr, length);
			return likely(skips_of(peer) == skips) ? DIRECT_DONE : DIRECT_NO;
		}
		done = hca_mem_copy(&remote, 0, &local, 0, length);
	} else {
		done = hca_mem_copy(&local, 0, &remote, 0, length);
	}
	sig_error_of_request(qp);
	return done && likely(skips_of(peer) == skips) ? DIRECT_DONE : DIRECT_NO;
}
