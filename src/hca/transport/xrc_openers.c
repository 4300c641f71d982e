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
	struct opener *next;
	struct qp *qp;
	fabric_id_t process;
	unsigned int times;
};

/* Locked. */
static struct opener *find(const struct qp *qp, fabric_id_t process)
{
	struct opener *o;

	for (o = hca.transport.xrc_open.openers;
	     o && (o->qp != qp || (process && o->process != process)); o = o->next)
		;
	return o;
}

/* Locked. By number, when that process has it open. */
static struct opener *find_open(uint32_t qpn, fabric_id_t process)
{
	struct opener *o;

	for (o = hca.transport.xrc_open.openers;
	     o && (o->qp->pub.qpn != qpn || o->process != process); o = o->next)
		;
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
	*o = (struct opener){
		.next = hca.transport.xrc_open.openers, .qp = qp, .process = process, .times = 1
	};
	hca.transport.xrc_open.openers = o;
	return 0;
}

/* An event of a queue pair that was made here, for the processes that have it open. Lock held. */
static void tell_openers(const struct qp *qp, enum hca_event_type type)
{
	const struct xrc_event n = { qp->pub.qpn, type };

	pthread_mutex_lock(&hca.transport.xrc_open.lock);
	for (const struct opener *o = hca.transport.xrc_open.openers; o; o = o->next)
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
static struct qp *drop(struct opener **at)
{
	struct opener *o = *at;
	struct qp *qp = o->qp;

	*at = o->next;
	free(o);
	if (!qp->orphan || find(qp, FABRIC_ID_NONE))
		return NULL;
	qp->orphan = false;
	qp->closed = true;
	return qp;
}

int xrc_openers_remove(uint32_t qpn, fabric_id_t process, struct qp **last)
{
	struct opener **at, *o;

	*last = NULL;
	pthread_mutex_lock(&hca.transport.xrc_open.lock);
	o = find_open(qpn, process);
	for (at = &hca.transport.xrc_open.openers; *at && *at != o; at = &(*at)->next)
		;
	if (o && !--o->times)
		*last = drop(at);
	pthread_mutex_unlock(&hca.transport.xrc_open.lock);
	return o ? 0 : -EINVAL;
}

struct qp *xrc_openers_process_gone(fabric_id_t process)
{
	struct qp *last = NULL;
	struct opener **at;

	pthread_mutex_lock(&hca.transport.xrc_open.lock);
	for (at = &hca.transport.xrc_open.openers; *at && !last;) {
		if ((*at)->process == process)
			last = drop(at);
		else
			at = &(*at)->next;
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
