/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups that datagram ids are in.
 */
#ifndef CM_MULTICAST_H
#define CM_MULTICAST_H

#include "cm/id_types.h"

struct cm_multicast {
	LIST_ENTRY(cm_multicast) entry; /* of the id */
	struct cm_id *id;
	struct sockaddr_storage addr;
	union ibv_gid mgid;
	uint16_t mlid;
	bool send_only;
	bool is_attached;
	struct cm_event *event; /* not fetched yet */
};

/* Sets the MGID, and on InfiniBand the MLID, of the address. */
int cm_multicast_map(struct cm_multicast *mc);
/* With cm.lock held. An event that was not fetched goes with the group. Frees it. */
void cm_multicast_leave(struct cm_multicast *mc);
/* With cm.lock held: leaves every group of an id that is being destroyed. */
void cm_multicast_leave_all(struct cm_id *id);

#endif
