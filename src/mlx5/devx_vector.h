/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interrupt vectors: the context's completion vectors, given to programs from the last one down; the
 * first never is. Each of the others stands for one of the adapter's own event queues, which are
 * numbers only: their events go to subscribers (devx_event.c).
 */
#ifndef MLX5_DEVX_VECTOR_H
#define MLX5_DEVX_VECTOR_H

#include "mlx5/devx_types.h"

#define DEVX_OWN_EQN  2u /* of vector 0; number 1 is for events that are no completions */
#define DEVX_USER_EQN 0x80u

uint32_t devx_vector_count(const struct devx *devx);
void devx_vectors_fini(struct devx *devx);

#endif
