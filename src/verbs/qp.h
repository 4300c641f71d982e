/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs among the library's files.
 */
#ifndef VERBS_QP_H
#define VERBS_QP_H

#include "util/api.h"
#include "verbs/objects.h"

/* Arguments of a creation (qp_check.c). 0 or -errno. */
int vb_qp_check(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr,
		const void *driver_attr);

/* ibv_create_qp_ex() that hands driver_attr to the driver's check_driver_qp and create_qp. */
VB_API struct ibv_qp *verbena_create_qp_ex(struct ibv_context *context,
					   struct ibv_qp_init_attr_ex *attr, void *driver_attr);

/* Handles of XRC receive queue pairs (qp_xrc.c). */
void vb_xrc_add(struct vb_qp *qp);
/*
 * False: it was the last handle, and the queue pair goes with it. True: others stay; nothing more
 * comes to this one.
 */
bool vb_xrc_del(struct vb_qp *qp);

/* What the public struct says of every queue pair. */
void vb_qp_fill(struct vb_qp *qp, struct ibv_context *context, void *qp_context,
		enum ibv_qp_type type);

#endif
