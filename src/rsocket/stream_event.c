/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/stream_event.h"

#include <errno.h>
#include <stddef.h>

#include "rsocket/connect.h"
#include "rsocket/listen.h"
#include "rsocket/progress.h"

/*
 * The peer's id is gone. Messages that came before are in the CQ: if DISCONNECT is among them, the
 * stream has ended in order. If not, the peer died.
 */
static void connected_event(struct rs_stream *s, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_DISCONNECTED:
		rs_progress(s);
		rs_stream_break(s, ECONNRESET);
		/* Answers the peer's request. */
		rdma_disconnect(s->id);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rs_stream_break(s, ENODEV);
		break;
	default:
		break;
	}
}

static void socket_event(struct rs_stream *s, const struct rdma_cm_event *event)
{
	pthread_mutex_lock(&s->base.lock);
	if (s->phase != RS_CLOSED) {
		if (rs_is_opening(s))
			rs_connect_event(s, event);
		else if (s->phase >= RS_CONNECTED)
			connected_event(s, event);
	}
	pthread_mutex_unlock(&s->base.lock);
}

void rs_stream_event(struct rs_cm_owner *owner, const struct rdma_cm_event *event,
		     struct rs_cm_cleanup *cleanup)
{
	struct rs_stream *s =
		(struct rs_stream *)((char *)owner - offsetof(struct rs_stream, owner));

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		rs_listen_request(s, event, cleanup);
	else if (s->listener)
		rs_listen_event(s, event, cleanup);
	else
		socket_event(s, event);
}
