/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages are allocated with their first entry, and freed with the context.
 */
#include "mlx5/table.h"

#include <errno.h>
#include <stdlib.h>

void mlx5_table_init(struct mlx5_table *table)
{
	pthread_mutex_init(&table->lock, NULL);
	table->hint = 0;
}

void mlx5_table_fini(struct mlx5_table *table)
{
	for (uint32_t i = 0; i < MLX5_TABLE_SIZE; i++)
		free(table->pages[i]);
	pthread_mutex_destroy(&table->lock);
}

static struct mlx5_rsc **get_page(struct mlx5_table *table, uint32_t number)
{
	struct mlx5_rsc **page = table->pages[number];

	if (page)
		return page;
	page = calloc(MLX5_TABLE_SIZE, sizeof(struct mlx5_rsc *));
	if (page)
		/* [M3] */
		__atomic_store_n(&table->pages[number], page, __ATOMIC_RELEASE);
	return page;
}

int mlx5_table_add(struct mlx5_table *table, struct mlx5_rsc *rsc)
{
	/* The adapter uses the last index for "none". */
	const uint32_t end = MLX5_TABLE_SIZE * MLX5_TABLE_SIZE - 1;
	int err = -ENOMEM;

	pthread_mutex_lock(&table->lock);
	for (uint32_t i = table->hint; i < end; i++) {
		struct mlx5_rsc **page = get_page(table, i >> MLX5_TABLE_SHIFT);

		if (!page)
			break;
		if (page[i & (MLX5_TABLE_SIZE - 1)])
			continue;
		rsc->index = i;
		/* [M3] */
		__atomic_store_n(&page[i & (MLX5_TABLE_SIZE - 1)], rsc, __ATOMIC_RELEASE);
		table->hint = i + 1;
		err = 0;
		break;
	}
	pthread_mutex_unlock(&table->lock);
	return err;
}

void mlx5_table_remove(struct mlx5_table *table, struct mlx5_rsc *rsc)
{
	uint32_t i = rsc->index;

	pthread_mutex_lock(&table->lock);
	__atomic_store_n(&table->pages[i >> MLX5_TABLE_SHIFT][i & (MLX5_TABLE_SIZE - 1)], NULL,
			 __ATOMIC_RELEASE);
	if (i < table->hint)
		table->hint = i;
	pthread_mutex_unlock(&table->lock);
}
