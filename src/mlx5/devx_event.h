/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events for subscribers and event queues of programs.
 */
#ifndef MLX5_DEVX_EVENT_H
#define MLX5_DEVX_EVENT_H

#include "mlx5/devx_types.h"

/* The observer of asynchronous events (hca_async_set_tap()); arg: struct devx. */
bool devx_event_async(void *arg, const struct hca_event *event);
/* hca_cq.event of a CQ made by command: a completion event. */
void devx_event_cq(void *user);
/* The object is destroyed: its subscriptions end. */
void devx_subs_drop(struct mlx5dv_devx_obj *obj);

#endif
