/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiver of a communication id's events; the context of every id of an rsocket points to one. */
#ifndef RSOCKET_CM_OWNER_H
#define RSOCKET_CM_OWNER_H

#include <rdma/rdma_cma.h>

/* Done when the event has been acknowledged; an id cannot be destroyed before. */
struct rs_cm_cleanup {
	void (*run)(void *arg); /* NULL: nothing */
	void *arg;
};

struct rs_cm_owner {
	/* With the service lock held. A connection request goes to the owner of the listening id. */
	void (*event)(struct rs_cm_owner *owner, const struct rdma_cm_event *event,
		      struct rs_cm_cleanup *cleanup);
};

#endif
