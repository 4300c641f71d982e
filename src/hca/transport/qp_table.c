/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of queue pairs by number, and the list of all. One lock guards both; finding takes none, but
 * needs an epoch section.
 */
#include "hca/transport/qp_table.h"

#include <pthread.h>

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

void qp_for_each(void (*fn)(struct qp *qp, void *arg), void *arg)
{
	struct qp *qp;

	pthread_mutex_lock(&hca.transport.qps.lock);
	LIST_FOREACH(qp, &hca.transport.qps.all, all)
		fn(qp, arg);
	pthread_mutex_unlock(&hca.transport.qps.lock);
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
