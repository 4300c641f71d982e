/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of queue pairs by number, and the list of all. One lock guards both; finding takes none, but
 * needs an epoch section.
 */
#include "hca/transport/qp_table.h"

#include <pthread.h>

#include "fabric/epoch.h"
#include "hca/device/qpn.h"

void qp_link(struct qp *qp)
{
	pthread_mutex_lock(&hca.transport.qps.lock);
	LIST_INSERT_HEAD(&hca.transport.qps.all, qp, all);
	pthread_mutex_unlock(&hca.transport.qps.lock);
}

void qp_unlink(struct qp *qp)
{
	pthread_mutex_lock(&hca.transport.qps.lock);
	LIST_REMOVE(qp, all);
	pthread_mutex_unlock(&hca.transport.qps.lock);
}

/* The QP after `qp` in the list, the first one for NULL. A QP that was removed still has its successor. */
static struct qp *next_of(const struct qp *qp)
{
	struct qp *next;

	pthread_mutex_lock(&hca.transport.qps.lock);
	next = qp ? LIST_NEXT(qp, all) : LIST_FIRST(&hca.transport.qps.all);
	pthread_mutex_unlock(&hca.transport.qps.lock);
	return next;
}

/*
 * The lock is not held while `fn` runs: running a QP takes locks that nest outside of this one
 * (util/forksafe.h). The epoch section keeps QPs that leave the list meanwhile, and their successors.
 */
void qp_for_each(void (*fn)(struct qp *qp, void *arg), void *arg)
{
	epoch_enter();
	for (struct qp *qp = next_of(NULL); qp; qp = next_of(qp))
		fn(qp, arg);
	epoch_exit();
}

int qp_enlist(struct qp *qp)
{
	int err = hca_qpn_reserve(&qp->pub.qpn);

	if (err)
		return err;
	pthread_mutex_lock(&hca.transport.qps.lock);
	err = hca_table_set(&hca.transport.qps.table, qp->pub.qpn, qp);
	if (!err)
		LIST_INSERT_HEAD(&hca.transport.qps.all, qp, all);
	pthread_mutex_unlock(&hca.transport.qps.lock);
	if (err)
		hca_qpn_release(qp->pub.qpn);
	return err;
}

void qp_unlist(struct qp *qp)
{
	pthread_mutex_lock(&hca.transport.qps.lock);
	hca_table_set(&hca.transport.qps.table, qp->pub.qpn, NULL);
	LIST_REMOVE(qp, all);
	pthread_mutex_unlock(&hca.transport.qps.lock);
}
