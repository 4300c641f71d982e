/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair of mlx5 that is connected to itself, for programs that measure what it does to data. */
#ifndef BENCH_LOOPBACK_H
#define BENCH_LOOPBACK_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "bench.h"

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			die(#x);                                                                   \
	} while (0)

#define LOOPBACK_RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

struct loopback {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct mlx5dv_qp_ex *dv;
};

static inline void loopback_connect(const struct loopback *l)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = LOOPBACK_RIGHTS };

	MUST(!ibv_modify_qp(l->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_4096,
				     .dest_qp_num = l->qp->qp_num,
				     .ah_attr = { .is_global = 1, .port_num = 1 } };
	MUST(!ibv_query_gid(l->ctx, 1, 0, &attr.ah_attr.grh.dgid));
	MUST(!ibv_modify_qp(l->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14 };
	MUST(!ibv_modify_qp(l->qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

/* `ops` of IBV_QP_EX_WITH_*, `dv_ops` of MLX5DV_QP_EX_WITH_*. */
static inline void loopback_open(struct loopback *l, uint64_t ops, uint64_t dv_ops)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mlx5dv_qp_init_attr dv = { .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
					  .send_ops_flags = dv_ops };
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 2, .max_inline_data = 256 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = ops,
	};

	MUST(list && list[0]);
	MUST(l->ctx = ibv_open_device(list[0]));
	MUST(l->pd = init.pd = ibv_alloc_pd(l->ctx));
	MUST(l->cq = init.send_cq = init.recv_cq = ibv_create_cq(l->ctx, 16, NULL, NULL, 0));
	MUST(l->qp = mlx5dv_create_qp(l->ctx, &init, &dv));
	l->ex = ibv_qp_to_qp_ex(l->qp);
	l->dv = mlx5dv_qp_ex_from_ibv_qp_ex(l->ex);
	loopback_connect(l);
}

/* Posts what was begun by ibv_wr_start(), and waits until it is done. */
static inline void loopback_complete(const struct loopback *l)
{
	struct ibv_wc wc;
	int n;

	MUST(!ibv_wr_complete(l->ex));
	while ((n = ibv_poll_cq(l->cq, 1, &wc)) == 0)
		;
	MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
}

#endif
