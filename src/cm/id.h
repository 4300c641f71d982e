/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Communication ids: how a call on one begins and ends, creation, and the adapter it is bound to.
 */
#ifndef CM_ID_H
#define CM_ID_H

#include "cm/id_types.h"

/*
 * Begins a call on an id: checks the pointer and returns with cm.lock held, or explains and returns
 * -EINVAL without it. -ENXIO: the adapter of the id was removed.
 */
int cm_id_enter(struct rdma_cm_id *pub, const char *call, struct cm_id **out);
/* Begins a call that the kernel's RDMA CM has no part in: also on an id whose adapter was removed. */
int cm_id_enter_any(struct rdma_cm_id *pub, const char *call, struct cm_id **out);
void cm_id_leave(void);

/* Takes cm.lock itself. qp_type only matters where the port space does not decide it. */
int cm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		 enum ibv_qp_type qp_type, struct cm_id **out);

/*
 * With cm.lock held: the id of a connection request to a listener. It reports nowhere until its
 * channel is set. NULL without memory.
 */
struct cm_id *cm_id_create_child(struct cm_id *listener);
/* With cm.lock held: ends an id that the program does not know of yet. */
void cm_id_discard(struct cm_id *id);

/* With cm.lock held: to REMOVED, without a message to the other end. */
void cm_id_remove(struct cm_id *id);
/* With cm.lock held: back to IDLE. */
void cm_id_unbind(struct cm_id *id);

#endif
