/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the adapter has written a CQE. */
#ifndef MLX5_CQE_OWNER_H
#define MLX5_CQE_OWNER_H

#include "driver/cq.h"
#include "mlx5/cqe.h"
#include "mlx5/cqe_comp.h"
#include "mlx5/public.h"

/*
 * The opcode of a CQE whose owner bit is that of the consumer's lap; else MLX5_CQE_INVALID. A CQE that stands
 * for several is replaced by them.
 */
static inline uint8_t mlx5_cqe_opcode(const struct drv_cq *cq, uint32_t index)
{
	const uint64_t *word = (const uint64_t *)drv_cqe_at(cq, index) + 7;
	/* [M2] pairs with mlx5_cqe_write(); the owner before the rest of the CQE */
	uint8_t op_own = be64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
	bool lap = index & (cq->mask + 1);

	if ((op_own & MLX5_CQE_OWNER_MASK) != lap)
		return MLX5_CQE_INVALID;
	if (unlikely((op_own & MLX5_CQE_FORMAT_MASK) == MLX5_CQE_COMPRESSED))
		mlx5_cqe_expand(cq, index);
	return op_own >> 4;
}

/* The adapter has written the CQE. */
static inline bool mlx5_cqe_written(const struct drv_cq *cq, uint32_t index)
{
	return mlx5_cqe_opcode(cq, index) != MLX5_CQE_INVALID;
}

#endif
