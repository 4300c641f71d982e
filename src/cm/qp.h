/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CQs that belong to an id, shared between its QP and its SRQ. No lock: the program serialises its
 * calls on one id.
 */
#ifndef CM_QP_H
#define CM_QP_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

struct cm_id;

/* Checks that the id is bound to an adapter, removed or not; nothing is held on return. */
int cm_id_for_verbs(struct rdma_cm_id *pub, const char *call, struct cm_id **out);

/* CQs with a completion channel each, none where the size is 0. All or nothing. */
int cm_cqs_create(struct rdma_cm_id *pub, uint32_t send_size, uint32_t recv_size);

/* Destroys the id's CQs, unless an XRC SRQ still completes into them. */
void cm_cqs_destroy(struct rdma_cm_id *pub);

#endif
