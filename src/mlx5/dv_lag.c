/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the bonded links carries a queue pair's packets. */
#include <errno.h>

#include "hca/transport/qp_lag.h"
#include "mlx5/dv.h"
#include "mlx5/objects.h"
#include "util/explain.h"
#include "verbs/object_check.h"

/* A queue pair that sends, of a type whose affinity rdma-core asks for, or changes. */
static bool has_affinity(const struct ibv_qp *qp, const struct hca_qp *hca, bool change)
{
	switch (qp->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_RAW_PACKET:
		return true;
	case IBV_QPT_XRC_SEND:
		return !change;
	case IBV_QPT_DRIVER:
		return hca->type == HCA_QP_DCI;
	default:
		return false;
	}
}

static struct hca_qp *find(struct ibv_qp *qp, const char *call, bool change)
{
	struct hca_qp *hca;
	int err;

	if (!mlx5_dv_context(qp->context, call))
		return NULL;
	err = vb_check_qp(qp, ENOENT, call);
	if (err) {
		errno = -err;
		return NULL;
	}
	hca = to_mqp(qp)->base.vb.hca;
	if (hca && has_affinity(qp, hca, change))
		return hca;
	return explain_null(EOPNOTSUPP, "%s: not for a queue pair of type %d", call, qp->qp_type);
}

int mlx5dv_query_qp_lag_port(struct ibv_qp *qp, uint8_t *port, uint8_t *active)
{
	struct hca_qp *hca = find(qp, __func__, false);

	return hca ? (errno = -hca_qp_lag_query(hca, port, active)) : errno;
}

int mlx5dv_modify_qp_lag_port(struct ibv_qp *qp, uint8_t port)
{
	struct hca_qp *hca = find(qp, __func__, true);

	if (!hca)
		return errno;
	/* Commands also change it in INIT; this call has one for RTS alone. */
	if (qp->qp_type != IBV_QPT_RAW_PACKET && qp->state != IBV_QPS_RTS)
		return errno = -explain(EOPNOTSUPP,
					"mlx5dv_modify_qp_lag_port: QP 0x%x is not in RTS",
					qp->qp_num);
	return errno = -hca_qp_lag_set(hca, port);
}
