/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/qp_dead.h"

#include "fabric/epoch.h"
#include "fabric/lock.h"
#include "hca/device/ctx.h"
#include "hca/transport/answer.h"
#include "hca/transport/qp_fail.h"
#include "hca/transport/qp_table.h"

static void fail_if_dead(struct qp *qp, void *arg)
{
	(void)arg;
	/* A guest has no context: it ends with the queue pair that it stands for. */
	if (qp->guest)
		return;
	epoch_enter();
	fabric_lock(&qp->pub.lock);
	/* The context outlives the queue pair, but not always one that is dying. */
	if (!qp->dying && atomic_load(&qp->pub.ctx->async->dead)) {
		answer_settle(qp);
		qp_fail(qp);
	}
	fabric_unlock(&qp->pub.lock);
	epoch_exit();
}

void qp_dead_fail(void)
{
	qp_for_each(fail_if_dead, NULL);
}
