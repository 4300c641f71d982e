/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How mlx5dv_create_cq() and mlx5dv_create_qp() hand what they add through the library's own create
 * calls: the calling thread keeps it while the call runs.
 */
#ifndef MLX5_DV_H
#define MLX5_DV_H

#include "hca/transport/qp.h"
#include "mlx5/public.h"

struct mlx5_dv_extra {
	const struct mlx5dv_cq_init_attr *cq;
	const struct mlx5dv_qp_init_attr *qp;
	const struct mlx5dv_striding_rq_init_attr *striding;
};

extern _Thread_local struct mlx5_dv_extra mlx5_dv_extra;

struct mlx5_context;

/* The driver's context, or NULL and errno EOPNOTSUPP when it is another driver's. */
struct mlx5_context *mlx5_dv_context(struct ibv_context *context, const char *call);

/* 64, or 128 when the program or its environment asks for it. -EINVAL for anything else. */
int mlx5_dv_cqe_size(uint32_t *size);

/* What mlx5dv_create_qp() has said, for qp.c. */
enum hca_qp_type mlx5_qp_type(const struct ibv_qp_init_attr_ex *attr);
int mlx5_check_driver_qp(const struct ibv_qp_init_attr_ex *attr);
void mlx5_fill_dc(struct hca_qp_init *init);
uint64_t mlx5_dv_send_ops(void);

/* dv_sched.c: a queue pair goes. */
struct mlx5_qp;
void mlx5_sched_leave(struct mlx5_qp *qp);

/* The longest copy that one request asks for. */
#define MLX5_MEMCPY_MAX (16u << 20)

/* The most streams of a DC initiator, and the most that may fail. */
#define MLX5_LOG_STREAMS 8u

#endif
