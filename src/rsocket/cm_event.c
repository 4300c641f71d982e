/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/cm_event.h"

#include <errno.h>

#include "rsocket/connect.h"
#include "rsocket/listen.h"
#include "rsocket/progress.h"
#include "rsocket/state.h"

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

/* An id waits for the acknowledgement of its events when it is destroyed, so its socket is there. */
static struct rs_stream *dispatch(const struct rdma_cm_event *event)
{
	struct rs_stream *s = event->id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return rs_listen_request(event->listen_id->context, event);
	if (s->listener)
		return rs_listen_event(s, event);
	socket_event(s, event);
	return NULL;
}

void rs_cm_event_ready(struct rs_watch *watch)
{
	struct rdma_cm_event *event;

	(void)watch;
	while (!rdma_get_cm_event(rs_state.channel, &event)) {
		struct rs_stream *discard = dispatch(event);

		rdma_ack_cm_event(event);
		if (discard)
			rs_listen_discard(discard);
	}
}
