/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/stream.h"

#include <stdlib.h>

#include "rsocket/state.h"

struct rs_stream *rs_stream_create(const struct rs_stream *like, const struct rs_socket_ops *ops)
{
	struct rs_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->base.entry = (struct rs_entry){ .kind = RS_STREAM, .fd = -1 };
	s->base.ops = ops;
	s->base.sizes = like ? like->base.sizes : rs_state.config.sizes;
	if (like)
		s->base.domain = like->base.domain;
	pthread_mutex_init(&s->base.send_lock, NULL);
	pthread_mutex_init(&s->base.recv_lock, NULL);
	pthread_mutex_init(&s->base.lock, NULL);
	LIST_INIT(&s->base.sleepers);
	LIST_INIT(&s->embryos);
	TAILQ_INIT(&s->accepted);
	TAILQ_INIT(&s->held);
	TAILQ_INIT(&s->iomap_regions);
	s->keepalive.fd = -1;
	return s;
}

void rs_stream_destroy(struct rs_stream *s)
{
	pthread_mutex_destroy(&s->base.send_lock);
	pthread_mutex_destroy(&s->base.recv_lock);
	pthread_mutex_destroy(&s->base.lock);
	free(s->route);
	free(s);
}

void rs_stream_enter(struct rs_stream *s, enum rs_phase phase)
{
	s->phase = phase;
	s->can_read = s->can_write = phase == RS_CONNECTED;
	rs_wake_others(&s->base.sleepers, -1);
}

void rs_stream_break(struct rs_stream *s, int error)
{
	if (s->phase != RS_CONNECTED)
		return;
	/* A stream that the peer has ended by SHUTDOWN is complete. */
	s->reset = s->can_read;
	s->error = error;
	rs_stream_enter(s, RS_BROKEN);
}

void rs_stream_fail(struct rs_stream *s, int error)
{
	s->error = error;
	rs_stream_enter(s, RS_FAILED);
}
