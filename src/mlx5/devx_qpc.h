/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QP contexts: state transitions and queries.
 */
#ifndef MLX5_DEVX_QPC_H
#define MLX5_DEVX_QPC_H

#include "mlx5/devx_types.h"

int devx_qpc_modify(struct devx_cmd *c, struct hca_qp *qp);
void devx_qpc_fill(const struct hca_adapter *a, struct hca_qp *qp, void *qpc);

#endif
