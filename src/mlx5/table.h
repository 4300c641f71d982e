/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User indexes (srqn_uidx of a CQE): dense numbers from 0, so that the look-up of a CQE's queue is
 * two loads. CQEs of a QP, and of its SRQ, carry the QP's index; those of an XRC receive queue the
 * queue's own.
 *
 * Look-ups happen under a CQ's lock only: before an index is released, the CQEs that carry it are
 * purged under the same lock.
 */
#ifndef MLX5_TABLE_H
#define MLX5_TABLE_H

#include <pthread.h>
#include <stdint.h>

#include "util/api.h"

#define MLX5_TABLE_SHIFT 12
#define MLX5_TABLE_SIZE  (1u << MLX5_TABLE_SHIFT)

enum mlx5_rsc_type {
	MLX5_RSC_QP,
	MLX5_RSC_SRQ,
	MLX5_RSC_WQ,
};

/* Embedded in queues with CQEs. */
struct mlx5_rsc {
	enum mlx5_rsc_type type;
	uint32_t index;
};

struct mlx5_table {
	pthread_mutex_t lock; /* guards changes */
	uint32_t hint;        /* no index below it is free */
	struct mlx5_rsc **pages[MLX5_TABLE_SIZE];
};

void mlx5_table_init(struct mlx5_table *table);
void mlx5_table_fini(struct mlx5_table *table);
/* Gives rsc an index; -ENOMEM when all are taken. */
int mlx5_table_add(struct mlx5_table *table, struct mlx5_rsc *rsc);
void mlx5_table_remove(struct mlx5_table *table, struct mlx5_rsc *rsc);

static inline struct mlx5_rsc *mlx5_table_find(struct mlx5_table *table, uint32_t index)
{
	struct mlx5_rsc **page;

	/* [M3] pairs with mlx5_table_add(): the page, and the resource, before the pointer to it */
	page = __atomic_load_n(&table->pages[index >> MLX5_TABLE_SHIFT & (MLX5_TABLE_SIZE - 1)],
			       __ATOMIC_ACQUIRE);
	if (unlikely(!page))
		return NULL;
	return __atomic_load_n(&page[index & (MLX5_TABLE_SIZE - 1)], __ATOMIC_ACQUIRE);
}

#endif
