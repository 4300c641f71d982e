/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the bonded links carries a queue pair's packets. */
#include <errno.h>

#include "hca/transport/qp_lag.h"
#include "mlx5/dv.h"
#include "mlx5/objects.h"
#include "util/explain.h"

static struct hca_qp *find(struct ibv_qp *qp, const char *call)
{
	if (!mlx5_dv_context(qp->context, call))
		return NULL;
	if (!to_mqp(qp)->base.vb.hca)
		errno = EOPNOTSUPP;
	return to_mqp(qp)->base.vb.hca;
}

int mlx5dv_query_qp_lag_port(struct ibv_qp *qp, uint8_t *port, uint8_t *active)
{
	struct hca_qp *hca = find(qp, __func__);

	return hca ? (errno = -hca_qp_lag_query(hca, port, active)) : errno;
}

int mlx5dv_modify_qp_lag_port(struct ibv_qp *qp, uint8_t port)
{
	struct hca_qp *hca = find(qp, __func__);

	return hca ? (errno = -hca_qp_lag_set(hca, port)) : errno;
}
