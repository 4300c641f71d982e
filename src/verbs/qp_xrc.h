/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles of XRC receive queue pairs.
 */
#ifndef VERBS_QP_XRC_H
#define VERBS_QP_XRC_H

#include "verbs/objects.h"

struct ibv_qp *vb_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

void vb_xrc_add(struct vb_qp *qp);
/*
 * True: other handles on the queue pair exist; it stays, and this handle gets no more events. False:
 * this was the last handle, and the caller destroys the queue pair.
 */
bool vb_xrc_del(struct vb_qp *qp);

#endif
