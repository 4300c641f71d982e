/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/qp_lag.h"

#include <errno.h>

#include "fabric/epoch.h"
#include "hca/device/lag.h"
#include "hca/transport/path.h"
#include "hca/transport/qp_state.h"
#include "hca/transport/qp_types.h"
#include "util/explain.h"

static int check_bonded(const struct hca_qp *qp)
{
	const struct hca_adapter *a = qp->ctx->adapter;

	return hca_lag_is_on(a)
		       ? 0
		       : explain(EOPNOTSUPP,
				 "%s has no bonded links; the configuration's key is lag", a->name);
}

int hca_qp_lag_query(struct hca_qp *pub, uint8_t *affinity, uint8_t *active)
{
	struct qp *qp = to_priv(pub);
	int err = check_bonded(pub);
	uint8_t link;

	if (err)
		return err;
	fabric_lock(&pub->lock);
	link = qp->attr.lag_port;
	fabric_unlock(&pub->lock);
	if (!link)
		return explain(EOPNOTSUPP, "QP 0x%x has no affinity; it gets one in INIT",
			       pub->qpn);
	*affinity = link;
	*active = hca_lag_active(pub->ctx->adapter, link);
	return 0;
}

static bool may_change(const struct hca_qp *qp)
{
	if (qp->type == HCA_QP_RAW)
		return qp->state != HCA_QPS_RESET;
	return qp->state == HCA_QPS_INIT || qp->state == HCA_QPS_RTS || qp->state == HCA_QPS_SQD;
}

int hca_qp_lag_set(struct hca_qp *pub, uint8_t affinity)
{
	struct qp *qp = to_priv(pub);
	int err = check_bonded(pub);

	if (err)
		return err;
	if (!affinity || affinity > pub->ctx->adapter->lag_count)
		return explain(EINVAL, "link %u; %s has 1 to %u", affinity, pub->ctx->adapter->name,
			       pub->ctx->adapter->lag_count);
	epoch_enter();
	fabric_lock(&pub->lock);
	if (!may_change(pub))
		err = explain(EOPNOTSUPP, "QP 0x%x is in %s; its affinity changes in INIT and RTS",
			      pub->qpn, qp_state_name(pub->state));
	else
		qp->attr.lag_port = affinity;
	if (!err && qp->remote)
		err = path_connect_remote(qp, &qp->attr.av);
	fabric_unlock(&pub->lock);
	epoch_exit();
	return err;
}

void hca_qp_lag_wish(struct hca_qp *qp, uint8_t affinity)
{
	fabric_lock(&qp->lock);
	qp->lag = affinity;
	fabric_unlock(&qp->lock);
}

void qp_lag_choose(struct qp *qp)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;

	if (qp->attr.lag_port || !hca_lag_is_on(a) || qp->pub.lag == HCA_LAG_BY_FLOW)
		return;
	qp->attr.lag_port = qp->pub.lag ? qp->pub.lag : hca_lag_next(a);
}
