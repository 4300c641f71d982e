/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list is guarded by hca.transport.xrc_open.lock, inside of which nothing is locked. A QP in the
 * list is freed by the service thread alone, which also serves the calls about it.
 */
#include "hca/transport/xrc_openers.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/peers/rpc.h"
#include "hca/transport/qp_table.h"

struct opener {
	LIST_ENTRY(opener) entry;
	struct qp *qp;
	fabric_id_t process;
	unsigned int times;
};

/* Locked. */
static struct opener *find(const struct qp *qp, fabric_id_t process)
{
	struct opener *o;

	LIST_FOREACH(o, &hca.transport.xrc_open.openers, entry)
		if (o->qp == qp && (!process || o->process == process))
			break;
	return o;
}

/* Locked. By number, when that process has it open. */
static struct opener *find_open(uint32_t qpn, fabric_id_t process)
{
	struct opener *o;

	LIST_FOREACH(o, &hca.transport.xrc_open.openers, entry)
		if (o->qp->pub.qpn == qpn && o->process == process)
			break;
	return o;
}

/* Locked, inside an epoch section. */
static int add(struct qp *qp, fabric_id_t process)
{
	struct opener *o = find(qp, process);

	if (o) {
		o->times++;
		return 0;
	}
	o = malloc(sizeof(*o));
	if (!o)
		return -ENOMEM;
	*o = (struct opener){ .qp = qp, .process = process, .times = 1 };
	LIST_INSERT_HEAD(&hca.transport.xrc_open.openers, o, entry);
	return 0;
}

/* An event of a queue pair that was made here, for the processes that have it open. Lock held. */
static void tell_openers(const struct qp *qp, enum hca_event_type type)
{
	const struct xrc_event n = { qp->pub.qpn, type };
	const struct opener *o;

	pthread_mutex_lock(&hca.transport.xrc_open.lock);
	LIST_FOREACH(o, &hca.transport.xrc_open.openers, entry)
		if (o->qp == qp)
			hca_rpc_notify(o->process, HCA_RPC_XRC_EVENT, &n, sizeof(n));
	pthread_mutex_unlock(&hca.transport.xrc_open.lock);
}

int xrc_openers_add(uint32_t qpn, uint32_t xrcd, fabric_id_t process)
{
	struct qp *qp;
	int err = -EINVAL;

	epoch_enter();
	qp = qp_find(qpn);
	if (qp && qp->pub.type == HCA_QP_XRC_RECV && qp->xrcd == xrcd) {
		pthread_mutex_lock(&hca.transport.xrc_open.lock);
		if (!qp->closed)
			err = add(qp, process);
		if (!err)
			qp->event_hook = tell_openers;
		pthread_mutex_unlock(&hca.transport.xrc_open.lock);
	}
	epoch_exit();
	return err;
}

struct qp *xrc_openers_find(uint32_t qpn, fabric_id_t process)
{
	struct opener *o;
	struct qp *qp;

	pthread_mutex_lock(&hca.transport.xrc_open.lock);
	o = find_open(qpn, process);
	qp = o ? o->qp : NULL;
	pthread_mutex_unlock(&hca.transport.xrc_open.lock);
	return qp;
}

/* Locked. Returns the QP if this was its last opener and its own handle is destroyed. */
static struct qp *drop(struct opener *o)
{
	struct qp *qp = o->qp;

	LIST_REMOVE(o, entry);
	free(o);
	if (!qp->orphan || find(qp, FABRIC_ID_NONE))
		return NULL;
	qp->orphan = false;
	qp->closed = true;
	return qp;
}

int xrc_openers_remove(uint32_t qpn, fabric_id_t process, struct qp **last)
{
	struct opener *o;

	*last = NULL;
	pthread_mutex_lock(&hca.transport.xrc_open.lock);
	o = find_open(qpn, process);
	if (o && !--o->times)
		*last = drop(o);
	pthread_mutex_unlock(&hca.transport.xrc_open.lock);
	return o ? 0 : -EINVAL;
}

struct qp *xrc_openers_process_gone(fabric_id_t process)
{
	struct opener *o, *next;
	struct qp *last = NULL;

	pthread_mutex_lock(&hca.transport.xrc_open.lock);
	for (o = LIST_FIRST(&hca.transport.xrc_open.openers); o && !last; o = next) {
		next = LIST_NEXT(o, entry);
		if (o->process == process)
			last = drop(o);
	}
	pthread_mutex_unlock(&hca.transport.xrc_open.lock);
	return last;
}

bool xrc_openers_outlive(struct qp *qp)
{
	bool outlives = false;

	pthread_mutex_lock(&hca.transport.xrc_open.lock);
	if (!qp->closed) {
		outlives = find(qp, FABRIC_ID_NONE);
		qp->orphan = outlives;
		qp->closed = !outlives;
	}
	pthread_mutex_unlock(&hca.transport.xrc_open.lock);
	return outlives;
}
