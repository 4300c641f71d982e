/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hca_qp_modify(): which attributes a queue pair may be given, and what a change of its state sets
 * going. What is legal in which state is qp_state.c's. The QP's lock is held throughout.
 */
#include "hca/transport/qp_modify.h"

#include <errno.h>
#include <string.h>

#include "hca/device/port.h"
#include "hca/device/port_counts.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/transport/answer.h"
#include "hca/transport/qp_traffic.h"
#include "hca/transport/completer.h"
#include "hca/transport/dci.h"
#include "hca/transport/network.h"
#include "hca/transport/observer.h"
#include "hca/transport/path.h"
#include "hca/transport/qp_fail.h"
#include "hca/transport/qp_grant.h"
#include "hca/transport/qp_lag.h"
#include "hca/transport/qp_state.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/requester.h"
#include "hca/transport/responder.h"
#include "util/explain.h"

static int check_av(const struct hca_adapter *a, const struct hca_av *av, unsigned int port,
		    bool aimed, const char *what)
{
	struct hca_gid_entry e;

	if (port < 1 || port > (unsigned int)a->port_count)
		return explain(EINVAL, "%s: port %u does not exist on %s", what, port, a->name);
	if (a->ports[port - 1].link == HCA_LINK_ETHERNET && !av->has_grh && aimed)
		return explain(EINVAL,
			       "%s: an Ethernet port needs a global route (is_global and grh)",
			       what);
	if (av->has_grh) {
		if (hca_port_gid(a, port, av->sgid_index, &e))
			return -EINVAL;
		if (hca_gid_is_empty(&e.gid))
			return explain(ENODATA, "%s: source GID index %u of %s is empty", what,
				       av->sgid_index, a->name);
		if (hca_gid_is_empty(&av->dgid) && aimed)
			return explain(EINVAL, "%s: the destination GID is zero", what);
	}
	return 0;
}

static int check_range(uint32_t mask, uint32_t bit, uint64_t value, uint64_t most, const char *name)
{
	if ((mask & bit) && value > most)
		return explain(EINVAL, "%s is %llu; at most %llu", name, (unsigned long long)value,
			       (unsigned long long)most);
	return 0;
}

/* A path leaves by the queue pair's port. One that replaces another (in SQD) may bring its own. */
static int check_ports(const struct qp *qp, const struct hca_qp_attr *at, uint32_t mask)
{
	unsigned int port = mask & HCA_QPM_PORT ? at->port : qp->attr.port;

	if ((mask & HCA_QPM_AV) && at->av.port && at->av.port != port && !qp->dci && !qp->dct &&
	    (mask & HCA_QPM_PORT || qp->pub.state != HCA_QPS_SQD))
		return explain(EINVAL, "ah_attr.port_num is %u; the queue pair's port is %u",
			       at->av.port, port);
	if ((mask & HCA_QPM_ALT_PATH) && at->alt_av.port != at->alt_port)
		return explain(EINVAL, "alt_ah_attr.port_num is %u and alt_port_num %u",
			       at->alt_av.port, at->alt_port);
	return 0;
}

static int check_values(const struct qp *qp, const struct hca_qp_attr *at, uint32_t mask)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	const struct hca_limits *l = &a->limits;
	unsigned int port = mask & HCA_QPM_PORT ? at->port : qp->attr.port;
	int err = 0;

	if ((mask & HCA_QPM_PORT) && (at->port < 1 || at->port > a->port_count))
		return explain(EINVAL, "port %u does not exist; %s has %d", at->port, a->name,
			       a->port_count);
	if ((mask & HCA_QPM_PKEY_INDEX) && at->pkey_index >= l->pkey_table_len)
		return explain(EINVAL, "P_Key index %u does not exist; the table has %llu entries",
			       at->pkey_index, (unsigned long long)l->pkey_table_len);
	if ((mask & HCA_QPM_PATH_MTU) && (at->path_mtu < 1 || at->path_mtu > 5))
		return explain(EINVAL, "path MTU %u is none of IBV_MTU_256 to IBV_MTU_4096",
			       at->path_mtu);
	if ((mask & HCA_QPM_PATH_MIG_STATE) && at->path_mig_state > 2)
		return explain(EINVAL, "path migration state %u is unknown", at->path_mig_state);
	err = err ? err
		  : check_range(mask, HCA_QPM_RATE_LIMIT, at->rate_limit, HCA_RATE_MOST,
				"rate_limit");
	err = err ? err : check_range(mask, HCA_QPM_TIMEOUT, at->timeout, 31, "timeout");
	err = err ? err : check_range(mask, HCA_QPM_RETRY_CNT, at->retry_cnt, 7, "retry_cnt");
	err = err ? err : check_range(mask, HCA_QPM_RNR_RETRY, at->rnr_retry, 7, "rnr_retry");
	err = err ? err
		  : check_range(mask, HCA_QPM_MIN_RNR_TIMER, at->min_rnr_timer, 31,
				"min_rnr_timer");
	err = err ? err
		  : check_range(mask, HCA_QPM_MAX_RD_ATOMIC, at->max_rd_atomic,
				l->max_qp_init_rd_atom, "max_rd_atomic");
	err = err ? err
		  : check_range(mask, HCA_QPM_MAX_DEST_RD_ATOMIC, at->max_dest_rd_atomic,
				l->max_qp_rd_atom, "max_dest_rd_atomic");
	err = err ? err
		  : check_range(mask, HCA_QPM_DEST_QPN, at->dest_qpn, 0xffffff, "dest_qp_num");
	err = err ? err : check_range(mask, HCA_QPM_ALT_PATH, at->alt_timeout, 31, "alt_timeout");
	err = err ? err
		  : check_range(mask, HCA_QPM_ALT_PATH, at->alt_pkey_index, l->pkey_table_len - 1,
				"alt_pkey_index");
	if (!err)
		err = check_ports(qp, at, mask);
	if (!err && (mask & HCA_QPM_AV))
		err = check_av(a, &at->av, at->av.port ? at->av.port : port, !qp->dci && !qp->dct,
			       "ah_attr");
	if (!err && (mask & HCA_QPM_ALT_PATH))
		err = check_av(a, &at->alt_av, at->alt_port, true, "alt_ah_attr");
	return err;
}

#define TAKE(bit, field)                                                                           \
	do {                                                                                       \
		if (mask & (bit))                                                                  \
			to->field = from->field;                                                   \
	} while (0)

static void take_values(struct hca_qp_attr *to, const struct hca_qp_attr *from, uint32_t mask)
{
	TAKE(HCA_QPM_EN_SQD_NOTIFY, en_sqd_notify);
	TAKE(HCA_QPM_ACCESS, access);
	TAKE(HCA_QPM_PKEY_INDEX, pkey_index);
	TAKE(HCA_QPM_PORT, port);
	TAKE(HCA_QPM_QKEY, qkey);
	TAKE(HCA_QPM_AV, av);
	TAKE(HCA_QPM_PATH_MTU, path_mtu);
	TAKE(HCA_QPM_TIMEOUT, timeout);
	TAKE(HCA_QPM_RETRY_CNT, retry_cnt);
	TAKE(HCA_QPM_RNR_RETRY, rnr_retry);
	TAKE(HCA_QPM_RQ_PSN, rq_psn);
	TAKE(HCA_QPM_MAX_RD_ATOMIC, max_rd_atomic);
	TAKE(HCA_QPM_ALT_PATH, alt_av);
	TAKE(HCA_QPM_ALT_PATH, alt_port);
	TAKE(HCA_QPM_ALT_PATH, alt_timeout);
	TAKE(HCA_QPM_ALT_PATH, alt_pkey_index);
	TAKE(HCA_QPM_MIN_RNR_TIMER, min_rnr_timer);
	TAKE(HCA_QPM_SQ_PSN, sq_psn);
	TAKE(HCA_QPM_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(HCA_QPM_PATH_MIG_STATE, path_mig_state);
	TAKE(HCA_QPM_DEST_QPN, dest_qpn);
	TAKE(HCA_QPM_RATE_LIMIT, rate_limit);
	TAKE(HCA_QPM_RATE_LIMIT, burst);
	to->rq_psn &= PSN_MASK;
	to->sq_psn &= PSN_MASK;
}

static void start_sending(struct qp *qp)
{
	uint32_t psn = qp->dci ? dci_first_psn(qp) : qp->attr.sq_psn;

	requester_start(qp, psn);
	completer_start(qp, psn);
}

static void reset(struct qp *qp)
{
	const struct observer *observer = observer_get();

	if (unlikely(observer) && observer->forget)
		observer->forget(qp);
	dci_reset(qp);
	requester_reset(qp);
	completer_reset(qp);
	responder_reset(qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->peer = NULL;
	qp->remote = false;
	qp->local_gid_valid = false;
	qp->drained_told = qp->last_wqe_told = false;
}

/* A QP must receive from another host before it has sent anything. */
static void open_path(struct qp *qp)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;

	if (a->ports[qp->attr.port - 1].link != HCA_LINK_ETHERNET)
		return;
	if (qp->pub.type == HCA_QP_UD || qp->pub.type == HCA_QP_DCT)
		hca.network->listen(qp);
	else if (qp->pub.type != HCA_QP_RAW && qp->pub.type != HCA_QP_DCI &&
		 (hca.network->is_forced() || !path_gid_is_local(qp, &qp->attr.av.dgid)))
		path_connected(qp);
}

/* A connection to another host needs the network. */
static int check_path(struct qp *qp, const struct hca_qp_attr *attr, enum hca_qp_state to,
		      uint32_t mask)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;

	if (to != HCA_QPS_RTR || !(mask & HCA_QPM_AV) || qp->pub.type == HCA_QP_UD ||
	    a->ports[qp->attr.port - 1].link != HCA_LINK_ETHERNET)
		return 0;
	if (!hca.network->is_forced() && path_gid_is_local(qp, &attr->av.dgid))
		return 0;
	return hca.network->check(qp, qp->attr.port, &attr->av);
}

/* Enters the new state. Lock held, inside an epoch section. */
static void enter(struct qp *qp, enum hca_qp_state from, enum hca_qp_state to)
{
	switch (to) {
	case HCA_QPS_RESET:
		answer_settle(qp);
		reset(qp);
		qp_set_state(qp, to);
		break;
	case HCA_QPS_RTR:
		responder_start(qp, qp->attr.rq_psn);
		qp_set_state(qp, to);
		open_path(qp);
		break;
	case HCA_QPS_RTS:
		if (from == HCA_QPS_RTR)
			start_sending(qp);
		qp_set_state(qp, to);
		requester_run(qp);
		break;
	case HCA_QPS_SQD:
		if (from != HCA_QPS_SQD) {
			qp->drained_told = false;
			qp->attr.sq_draining = 1;
		}
		qp_set_state(qp, to);
		requester_check_drained(qp);
		break;
	case HCA_QPS_ERR:
		answer_settle(qp);
		qp_fail(qp);
		break;
	case HCA_QPS_INIT:
		qp_lag_choose(qp);
		qp_set_state(qp, to);
		break;
	default:
		qp_set_state(qp, to);
		break;
	}
}

/* Peers lose rights, some of which they may just be using. */
static bool takes_rights(enum hca_qp_state to, uint32_t mask)
{
	return to == HCA_QPS_RESET || to == HCA_QPS_ERR || mask & HCA_QPM_ACCESS;
}

/* Programs give XRC send and receive QPs the attributes of RC; those of the other half are ignored. */
static uint32_t meant(enum hca_qp_type type, uint32_t mask)
{
	switch (type) {
	case HCA_QP_XRC_SEND:
		return mask & ~(HCA_QPM_MAX_DEST_RD_ATOMIC | HCA_QPM_MIN_RNR_TIMER);
	case HCA_QP_XRC_RECV:
		return mask & ~(HCA_QPM_MAX_RD_ATOMIC | HCA_QPM_RETRY_CNT | HCA_QPM_RNR_RETRY);
	default:
		return mask;
	}
}

int hca_qp_modify(struct hca_qp *pub, const struct hca_qp_attr *attr, uint32_t mask)
{
	struct qp *qp = to_priv(pub);
	struct qp_grant_users users = { 0 };
	enum hca_qp_state from, to;
	_Atomic uint64_t *counts = NULL;
	int err = hca_ctx_check(pub->ctx);

	if (err)
		return err;
	if (unlikely(qp->stand_in))
		return qp->stand_in->modify(qp, attr, mask);
	mask = meant(pub->type, mask);
	/* Before the lock: the first one takes that of the host directory. */
	if ((mask & HCA_QPM_PORT) && attr->port)
		counts = hca_port_counts(pub->ctx->adapter, attr->port);

	epoch_enter();
	fabric_lock(&pub->lock);
	from = pub->state;
	to = mask & HCA_QPM_STATE ? attr->state : from;
	err = 0;
	if ((mask & HCA_QPM_CUR_STATE) && attr->cur_state != from)
		err = explain(EINVAL, "the queue pair is in %s, not in %s as cur_qp_state says",
			      qp_state_name(from), qp_state_name(attr->cur_state));
	if (!err)
		err = qp_state_check(pub->type, from, to, mask);
	if (!err)
		err = check_values(qp, attr, mask);
	if (!err)
		err = check_path(qp, attr, to, mask);
	if (!err) {
		take_values(&qp->attr, attr, mask);
		if ((mask & HCA_QPM_AV) && attr->av.port && !qp->dci && !qp->dct)
			qp->attr.port = attr->av.port;
		if (counts)
			qp_traffic_begin(qp, counts);
		if (mask & (HCA_QPM_PORT | HCA_QPM_AV | HCA_QPM_PATH_MTU))
			qp_traffic_set_path(qp);
		enter(qp, from, to);
		if (takes_rights(to, mask))
			qp_grant_take_users(qp, &users);
	}
	fabric_unlock(&pub->lock);
	epoch_exit();
	qp_grant_await_users(&users);
	return err;
}
