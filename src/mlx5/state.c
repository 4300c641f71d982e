/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/state.h"

struct mlx5_state mlx5_state = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.export_lock = PTHREAD_MUTEX_INITIALIZER,
};

__attribute__((constructor)) static void register_lock(void)
{
	forksafe_add(&mlx5_state.export_forksafe, &mlx5_state.export_lock, FORKSAFE_CONTEXT);
	forksafe_add(&mlx5_state.forksafe, &mlx5_state.lock, FORKSAFE_OBJECT);
}
