/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive queues, RQ tables, TIRs and TISs.
 */
#ifndef MLX5_DEVX_WQ_H
#define MLX5_DEVX_WQ_H

#include "mlx5/devx_types.h"

int devx_wq_number(struct devx_cmd *c);
/* Finds an object that the command names; the object of the command uses it from now on. */
int devx_need(struct devx_cmd *c, enum devx_kind kind, uint32_t id, const char *what);
/* Ring and doorbell record of a queue, at at[0] and at[1]. */
int devx_check_wq(struct devx_cmd *c, const void *wq, uint32_t min_shift, void *at[2]);
/* CQ and protection domain, which the object holds from now on. */
int devx_check_cq(struct devx_cmd *c, uint32_t cqn);
int devx_check_pd(struct devx_cmd *c, uint32_t pdn);
/*
 * A state transition: `named` is the state that the command names, `left` the one that the last
 * command set.
 */
int devx_check_transition(struct devx_cmd *c, unsigned int named, unsigned int left,
			  unsigned int from, unsigned int to);
void devx_rqt_release(struct mlx5dv_devx_obj *obj);
int devx_tir_destroy(struct mlx5dv_devx_obj *obj);

/* Commands. */
int devx_create_rq(struct devx_cmd *c);
int devx_modify_rq(struct devx_cmd *c);
int devx_query_rq(struct devx_cmd *c);
int devx_query_tir(struct devx_cmd *c);
int devx_create_rqt(struct devx_cmd *c);
int devx_modify_rqt(struct devx_cmd *c);
int devx_query_rqt(struct devx_cmd *c);
int devx_create_tir(struct devx_cmd *c);
int devx_modify_tir(struct devx_cmd *c);
int devx_create_tis(struct devx_cmd *c);
int devx_modify_tis(struct devx_cmd *c);
int devx_query_tis(struct devx_cmd *c);

#endif
