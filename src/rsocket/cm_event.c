/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/cm_event.h"

#include "rsocket/cm_owner.h"
#include "rsocket/state.h"

/* Destroying an id waits for the acknowledgement of its events, so its owner is there. */
void rs_cm_event_ready(struct rs_watch *watch)
{
	struct rdma_cm_event *event;

	(void)watch;
	while (!rdma_get_cm_event(rs_state.channel, &event)) {
		struct rs_cm_owner *owner = event->event == RDMA_CM_EVENT_CONNECT_REQUEST
						    ? event->listen_id->context
						    : event->id->context;
		struct rs_cm_cleanup cleanup = { 0 };

		owner->event(owner, event, &cleanup);
		rdma_ack_cm_event(event);
		if (cleanup.run)
			cleanup.run(cleanup.arg);
	}
}
