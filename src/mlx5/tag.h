/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tagged buffers of a shared receive queue that matches tags, as the driver keeps them: from entries of the
 * adapter's list, and from changes of it, back to the program's requests.
 */
#ifndef MLX5_TAG_H
#define MLX5_TAG_H

#include "mlx5/objects.h"

/* Limits that a ConnectX-5 or later reports (ibv_tm_caps). */
#define MLX5_TAG_LOG_LIST  7u
#define MLX5_TAG_MOST      ((1u << MLX5_TAG_LOG_LIST) - 1)
#define MLX5_TAG_OPS_MOST  32768u
#define MLX5_TAG_RNDV_MOST 64u

static inline bool mlx5_has_tags(const struct hca_model *model)
{
	return hca_model_has(model, HCA_HAS_TAG_MATCHING);
}

/* 0 or -errno; the queue's completion queue is known. */
int mlx5_tags_init(struct mlx5_srq *srq, const struct ibv_tm_cap *cap);
void mlx5_tags_fini(struct mlx5_srq *srq);
/* Entries that the adapter's list needs; a power of two. */
uint32_t mlx5_tags_entries(const struct mlx5_tags *tags);

/* A CQE of tag matching, for the resource that it names. False: that is no such queue. */
bool mlx5_tag_complete(struct mlx5_cq *cq, struct mlx5_rsc *rsc, const struct mlx5_cqe64 *cqe,
		       struct mlx5_completion *out);
/* The opcode and the flags of its completion. */
enum ibv_wc_opcode mlx5_tag_wc_opcode(const struct mlx5_cqe64 *cqe);
unsigned int mlx5_tag_wc_flags(const struct mlx5_cqe64 *cqe);

int mlx5_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad);

#endif
