/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/shutdown.h"

#include <errno.h>
#include <unistd.h>

#include "rsocket/credit.h"
#include "rsocket/endpoint.h"
#include "rsocket/iomap.h"
#include "rsocket/keepalive.h"
#include "rsocket/listen.h"
#include "rsocket/progress.h"
#include "rsocket/wait.h"
#include "util/explain.h"

/* Closes directions on this side; true: the peer is to be told, and by what. */
static bool close_directions(struct rs_stream *s, int how, enum rs_ctrl *tell)
{
	if (how != SHUT_WR)
		s->can_read = false;
	if (how != SHUT_RD) {
		s->can_write = false;
		s->shut_write = true;
	}
	rs_wake_others(&s->base.sleepers, -1);
	*tell = s->can_read ? RS_CTRL_SHUTDOWN : RS_CTRL_DISCONNECT;
	return !s->can_write;
}

/* A signal does not end the wait of rclose(), which is not called again. */
static int wait_until(struct rs_stream *s, bool in_spite_of_signals, rs_condition is_so)
{
	int err;

	do
		err = rs_wait_until(&s->base, false, is_so);
	while (err == -EINTR && in_spite_of_signals);
	return err;
}

static int finish(struct rs_stream *s, int how, bool closing)
{
	enum rs_ctrl tell;
	int err;

	if (s->phase != RS_CONNECTED || !close_directions(s, how, &tell))
		return 0;
	err = wait_until(s, closing, rs_can_send_ctrl);
	if (err || s->phase != RS_CONNECTED)
		return err;
	err = rs_credit_send_ctrl(s, tell);
	if (err)
		return err;
	return wait_until(s, closing, rs_all_sent);
}

int rs_shutdown(struct rs_stream *s, int how)
{
	int err;

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return explain(EINVAL, "rshutdown has no way %d", how);
	pthread_mutex_lock(&s->base.lock);
	err = finish(s, how, false);
	pthread_mutex_unlock(&s->base.lock);
	return err;
}

void rs_stream_close(struct rs_stream *s)
{
	const int fd = s->base.entry.fd;
	bool listening;

	pthread_mutex_lock(&s->base.lock);
	finish(s, SHUT_RDWR, true);
	listening = s->phase == RS_LISTENING;
	if (s->phase >= RS_CONNECTED)
		rdma_disconnect(s->id);
	rs_stream_enter(s, RS_CLOSED);
	pthread_mutex_unlock(&s->base.lock);
	rs_table_wait_unused(&s->base.entry);
	rs_keepalive_set(s, false);
	if (listening)
		rs_listen_close(s);
	rs_iomap_close(s);
	rs_endpoint_destroy(s);
	rdma_destroy_id(s->id);
	rs_stream_destroy(s);
	close(fd);
}
