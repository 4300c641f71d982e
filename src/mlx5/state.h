/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's state of a process: tables that all contexts share. Everything else belongs to a
 * context (mlx5_context).
 */
#ifndef MLX5_STATE_H
#define MLX5_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mlx5/public.h"
#include "util/forksafe.h"

/* Doorbell areas of virtio queues (VAR): pages of the file behind a context's cmd_fd. */
#define MLX5_VAR_PAGES 4096u

/* Entries of the pacing table, from number 1 on. */
#define MLX5_RATES      127u
#define MLX5_RATE_BYTES 48u /* of set_pp_rate_limit_context */

struct devx_export;
struct hca_adapter;

struct mlx5_rate {
	struct mlx5dv_pp pub;
	unsigned int users; /* 0: free */
	bool dedicated;
	const struct hca_adapter *adapter;
	uint8_t context[MLX5_RATE_BYTES];
};

struct mlx5_state {
	/* Everything below, mlx5_context.reserved and mlx5_qp.sched; no other lock is taken inside. */
	pthread_mutex_t lock;
	struct forksafe forksafe; /* of the lock */
	uint64_t var_used[MLX5_VAR_PAGES / 64];
	struct mlx5_rate rates[MLX5_RATES];

	/* Exported objects (devx_export.h). devx.lock may be taken inside. */
	pthread_mutex_t export_lock;
	struct forksafe export_forksafe;
	LIST_HEAD(, devx_export) exports;
	uint32_t last_export;
};

extern struct mlx5_state mlx5_state;

#endif
