/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queues of programs.
 */
#ifndef MLX5_DEVX_EQ_H
#define MLX5_DEVX_EQ_H

#include "mlx5/devx_types.h"

/* The queue of this number; *out NULL: one of the adapter's own. */
int devx_eq_find(struct devx_cmd *c, uint32_t eqn, struct hca_eq **out);
/* Takes the queue out of devx.eqs: asynchronous events no longer go there. */
void devx_eq_unlist(struct devx_user_eq *eq);
/* The adapter's queue is destroyed, or was never made. */
void devx_eq_release(struct devx_user_eq *eq);

/* Commands. */
int devx_create_eq(struct devx_cmd *c);
int devx_query_eq(struct devx_cmd *c);

#endif
