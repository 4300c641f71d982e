/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/qp_watch.h"

#include "fabric/lock.h"
#include "fabric/epoch.h"
#include "hca/device/checker.h"
#include "hca/queue/cq.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/recv.h"
#include "hca/transport/sq.h"
#include "hca/transport/window.h"

/* Lock held. The oldest request in the window is the first that is not completed. */
static void tell_checker(struct qp *qp)
{
	const struct req_slot *oldest = window_head(&qp->window);

	hca.checker->sq_looked(&qp->pub, oldest ? oldest->index : qp->req.next,
			       hca_sq_next(&qp->pub));
}

/* Lock held. True when requests have begun. */
static bool look_sq(struct qp *qp)
{
	const struct hca_sq_ring *sq = &qp->pub.sq;
	uint32_t before = qp->req.next, producer;

	if (!sq->size)
		return false;
	if (unlikely(qp->pub.checked))
		tell_checker(qp);
	producer = qp->pub.format->sq_producer(sq);
	if (!hca_sq_ready(qp->pub.format, sq, before, producer))
		return false;
	hca_sq_doorbell(&qp->pub, producer);
	return qp->req.next != before || qp->req.partial;
}

/* Lock held. The program will poll these. */
static void note_alias(const struct qp *qp, struct doorbell_look *result)
{
	result->alias = qp->pub.send_cq ? qp->pub.send_cq->alias : NULL;
	if (result->alias)
		result->alias_offset = hca_cq_next_offset(qp->pub.send_cq);
	result->recv_alias = qp->pub.recv_cq ? qp->pub.recv_cq->alias : NULL;
}

/* Lock held. */
static void look_locked(struct qp *qp, struct doorbell_look *result)
{
	if (qp->dying || qp->pub.state < HCA_QPS_RTS)
		return;
	if (look_sq(qp)) {
		result->found = true;
		note_alias(qp, result);
	}
	/* Receives that were posted by hand after the failure. */
	if (unlikely(qp->pub.state == HCA_QPS_ERR)) {
		result->qp_failed = true;
		epoch_enter();
		recv_flush(qp);
		epoch_exit();
	}
}

static void look(struct doorbell_source *source, struct doorbell_look *result)
{
	struct qp *qp = container_of(source, struct qp, doorbell);

	/* The lock's holder may be about to ring itself; if not, another look will find it free. */
	if (!fabric_trylock(&qp->pub.lock)) {
		result->found = result->busy = true;
		return;
	}
	look_locked(qp, result);
	fabric_unlock(&qp->pub.lock);
}

static void ring(struct doorbell_source *source, struct doorbell_look *result)
{
	struct qp *qp = container_of(source, struct qp, doorbell);

	fabric_lock(&qp->pub.lock);
	look_locked(qp, result);
	note_alias(qp, result);
	fabric_unlock(&qp->pub.lock);
}

int hca_doorbell_watch_qp(struct hca_qp *qp)
{
	static const struct doorbell_source_ops ops = { .look = look, .ring_sq = ring };

	return doorbell_watch_add(&to_priv(qp)->doorbell, &ops, qp->qpn, !qp->format->uar_take_cq);
}
