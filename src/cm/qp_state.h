/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states of an id's QP: their attributes, and the moves that a connection requires. Without
 * cm.lock: the program serialises its calls on one id.
 */
#ifndef CM_QP_STATE_H
#define CM_QP_STATE_H

#include "cm/id_types.h"

/* Attributes and mask for the state in attr->qp_state. */
int cm_qp_attr(struct cm_id *id, struct ibv_qp_attr *attr, int *mask);

/* To INIT; datagram QPs on to RTS. */
int cm_qp_to_start(struct cm_id *id, struct ibv_qp *qp);
/* A connected QP from INIT to RTS, with the connection's numbers and the id's depths. */
int cm_qp_to_rts(struct cm_id *id);
/* Does nothing without a QP. */
void cm_qp_to_error(struct cm_id *id);

#endif
