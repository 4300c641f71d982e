/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User indexes: the numbers by which completions name what they belong to, dense from 0, so that a
 * look-up is two loads. Completions of a QP and of its shared receive queue carry the QP's index,
 * those of an XRC receive queue the queue's own.
 *
 * Look-ups happen under a CQ's lock without any other: whoever takes an index away first purges
 * the completions that carry it, under the same locks.
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

/* Embedded in what completions may belong to. */
struct mlx5_rsc {
	enum mlx5_rsc_type type;
	uint32_t index;
};

struct mlx5_table {
	pthread_mutex_t lock; /* changes */
	uint32_t hint;        /* nothing below it is free */
	struct mlx5_rsc **pages[MLX5_TABLE_SIZE];
};

void mlx5_table_init(struct mlx5_table *table);
void mlx5_table_fini(struct mlx5_table *table);
/* Gives rsc an index; -ENOMEM when there is none. */
int mlx5_table_add(struct mlx5_table *table, struct mlx5_rsc *rsc);
void mlx5_table_remove(struct mlx5_table *table, struct mlx5_rsc *rsc);

static inline struct mlx5_rsc *mlx5_table_find(struct mlx5_table *table, uint32_t index)
{
	struct mlx5_rsc **page;

	/* [M3] pairs with mlx5_table_add(): a page before what points to it, a resource likewise */
	page = __atomic_load_n(&table->pages[index >> MLX5_TABLE_SHIFT & (MLX5_TABLE_SIZE - 1)],
			       __ATOMIC_ACQUIRE);
	if (unlikely(!page))
		return NULL;
	return __atomic_load_n(&page[index & (MLX5_TABLE_SIZE - 1)], __ATOMIC_ACQUIRE);
}

#endif
