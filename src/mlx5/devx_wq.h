/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive queues (RQ), and checks that SQs need as well. Contexts of queues, RQTs, TIRs and TISs are
 * kept as the program gave them; states and references are checked, and an object in use cannot be
 * destroyed. An RQ with its own ring is a work queue of the adapter.
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

/*
 * A receive queue of commands or of ibv_create_wq(). NULL: no such queue, or (with *rq set) one over
 * an RMP, which frames cannot reach.
 */
struct hca_wq *devx_wq_find(struct devx *devx, uint32_t rqn, struct mlx5dv_devx_obj **rq);

/* Commands. */
int devx_create_rq(struct devx_cmd *c);
int devx_modify_rq(struct devx_cmd *c);
int devx_query_rq(struct devx_cmd *c);

#endif
