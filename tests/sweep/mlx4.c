/* SPDX-License-Identifier: BSD-2-Clause */
/* Direct verbs of mlx4. */
#include "scenario.h"

#include <string.h>
#include <infiniband/mlx4dv.h>

static struct ibv_qp *make_dv(void)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .send_cq = a.cq,
					    .recv_cq = a.cq,
					    .cap = { .max_send_wr = 16,
						     .max_recv_wr = 16,
						     .max_send_sge = 2,
						     .max_recv_sge = 1 },
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = a.pd };
	struct mlx4dv_qp_init_attr extra = { 0 };
	struct ibv_qp *qp = mlx4dv_create_qp(a.ctx, &attr, &extra);

	did(qp, "mlx4dv_create_qp");
	return qp;
}

void part_mlx4(void)
{
	struct mlx4_wqe_ctrl_seg ctrl;
	struct mlx4_wqe_data_seg data;
	struct mlx4_wqe_datagram_seg dgram;
	struct mlx4_cqe cqe = { .owner_sr_opcode = 0x81 };
	struct mlx4dv_context attrs = { 0 };
	struct mlx4dv_cq dv_cq = { 0 };
	struct mlx4dv_qp dv_qp = { 0 };
	struct ibv_qp *qp = make_dv();
	struct mlx4dv_obj obj = { .cq = { .in = a.cq, .out = &dv_cq },
				  .qp = { .in = qp, .out = &dv_qp } };
	uint8_t mac[6] = { 2 }, gid[16] = { 0 };
	uint8_t size = 1;

	DO(mlx4dv_query_device(a.ctx, &attrs));
	DO(mlx4dv_init_obj(&obj, MLX4DV_OBJ_CQ | (qp ? MLX4DV_OBJ_QP : 0)));
	mlx4dv_set_context_attr(a.ctx, MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ, &size);
	mlx4dv_set_ctrl_seg(&ctrl, 0, 1, 0, 0);
	mlx4dv_set_data_seg(&data, 64, 1, (uintptr_t)a.buf);
	mlx4dv_set_dgram_seg(&dgram, 1, 0, 0, 0, 0, 64, 0, gid, 1, QKEY, 0, mac);
	mlx4dv_set_cqe_owner(&cqe, MLX4_CQE_OWNER_MASK);
	did(mlx4dv_get_cqe_owner(&cqe) == MLX4_CQE_OWNER_MASK, "an owner");
	mlx4dv_get_cqe_opcode(&cqe);
	end_qps(qp, NULL);
}
