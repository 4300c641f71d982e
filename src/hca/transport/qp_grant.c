/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/qp_grant.h"

#include "fabric/barrier.h"
#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "fabric/numbers.h"
#include "fabric/port_counts.h"
#include "hca/hca.h"
#include "hca/memory/mr_stopped.h"
#include "hca/peers/grace.h"
#include "hca/transport/comp_cntr.h"
#include "hca/transport/packet_filter.h"
#include "hca/transport/path.h"
#include "util/valgrind.h"

void qp_grant_update(struct qp *qp)
{
	struct hca_qp_grant *grant = &hca.peers.segment->grant[qp->pub.qpn];
	bool open = (qp->pub.type == HCA_QP_RC || qp->pub.type == HCA_QP_UC ||
		     qp->pub.type == HCA_QP_DCT) &&
		    (qp->pub.state == HCA_QPS_RTR || qp->pub.state == HCA_QPS_RTS ||
		     qp->pub.state == HCA_QPS_SQD || qp->pub.state == HCA_QPS_SQE);
	const struct packet_filter *filter = packet_filter_get();
	uint64_t word;

	valgrind_mark_used(grant, sizeof(*grant));
	word = atomic_load_explicit(&grant->word, memory_order_relaxed);
	if (unlikely(comp_cntr_sees_peer(qp) || (filter && filter->rx)))
		open = false;
	/* A requester that gets no answers must not succeed without them. */
	if (open && qp->pub.type == HCA_QP_RC && !path_exists(qp))
		open = false;
	if (qp->pub.type == HCA_QP_DCR || qp->guest)
		return; /* the grant belongs to the DCT, or to another process */
	atomic_store_explicit(&grant->word, (word & ~1ull) + 2, memory_order_release);
	/* [Q1] pairs with hca_rq_doorbell(); a flush follows in the error state alone */
	if (qp->pub.state == HCA_QPS_ERR)
		barrier_private();
	if (!open)
		return;
	/* [GR1] The grant is closed before it changes. */
	atomic_thread_fence(memory_order_release);
	qp->granted = true;
	qp->granted_to = qp->dct ? FABRIC_ID_NONE : fabric_qpn_owner(qp->attr.dest_qpn);
	grant->pdn = qp->pub.pd->pdn;
	grant->access = qp_access(qp) & ((1u << HCA_GRANT_ROW_SHIFT) - 1);
	grant->access |= fabric_port_row(qp->port_counts) << HCA_GRANT_ROW_SHIFT;
	if (qp->attr.max_dest_rd_atomic || qp->dct)
		grant->access |= HCA_GRANT_ANSWERS;
	if (qp->dct) {
		grant->access |= HCA_GRANT_DCT;
		grant->dc_key = qp->dc_key;
	} else {
		grant->peer_qpn = qp->attr.dest_qpn;
		grant->first_psn = qp->attr.rq_psn;
	}
	/* [GR1] pairs with check_grant() */
	atomic_store_explicit(&grant->word, ((word & ~1ull) + 4) | 1, memory_order_release);
}

void qp_grant_take_users(struct qp *qp, struct qp_grant_users *out)
{
	const struct hca_qp_grant *grant = &hca.peers.segment->grant[qp->pub.qpn];

	*out = (struct qp_grant_users){ .any = qp->granted, .only = qp->granted_to };
	qp->granted = atomic_load_explicit(&grant->word, memory_order_relaxed) & 1;
}

void qp_grant_await_users(const struct qp_grant_users *users)
{
	struct open_section open[MR_SHARE_DEBTS];
	size_t stopped = 0;

	if (!users->any)
		return;
	if (!users->only || users->only == fabric_self())
		epoch_wait();
	if (users->only != fabric_self())
		stopped = grace_wait_peers(users->only, open, MR_SHARE_DEBTS);
	if (stopped)
		mr_stopped_end_all(open, stopped);
}
