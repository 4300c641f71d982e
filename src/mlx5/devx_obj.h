/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The common part of DEVX objects: numbers, and uses of each other. devx.lock is held.
 */
#ifndef MLX5_DEVX_OBJ_H
#define MLX5_DEVX_OBJ_H

#include "mlx5/devx_types.h"

struct mlx5dv_devx_obj *devx_find(struct devx *devx, enum devx_kind kind, uint32_t number);
/* Gives the object `count` free numbers of its kind, from `from` (not 0) to limit - 1. */
int devx_number(struct mlx5dv_devx_obj *obj, uint32_t from, uint32_t limit, uint32_t count);
/* The object uses another one, which cannot be destroyed before it. */
void devx_use(struct mlx5dv_devx_obj *obj, struct mlx5dv_devx_obj *other);
/*
 * Objects of the adapter, by number and with a reference taken: those of this context only, made by
 * verbs or by commands. NULL: there is none.
 */
struct hca_pd *devx_hold_pd(const struct devx_cmd *c, uint32_t pdn);
struct hca_cq *devx_hold_cq(const struct devx_cmd *c, uint32_t cqn);
struct hca_srq *devx_hold_srq(const struct devx_cmd *c, uint32_t srqn);
/* Keeps a copy of the object's context, for queries. */
int devx_keep(struct devx_cmd *c, const void *image, size_t len);

#endif
