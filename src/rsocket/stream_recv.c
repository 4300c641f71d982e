/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/stream_recv.h"

#include <errno.h>

#include "rsocket/credit.h"
#include "rsocket/progress.h"
#include "rsocket/wait.h"
#include "util/explain.h"

/* Longer pieces are copied without base.lock: recv_lock keeps other readers out, and the peer may not write there. */
#define COPY_LOCKED 1024

/* Copies what is there; with MSG_PEEK it stays. */
static void copy_out(struct rs_stream *s, struct rs_iov *iov, bool peek)
{
	const void *piece;
	uint32_t skip = 0, len;

	while ((len = rs_recv_queue_piece(&s->rq, skip, iov->left, &piece))) {
		const bool unlock = len > COPY_LOCKED;

		if (unlock)
			pthread_mutex_unlock(&s->base.lock);
		rs_iov_scatter(iov, piece, len);
		if (unlock)
			pthread_mutex_lock(&s->base.lock);
		if (peek) {
			skip += len;
		} else {
			rs_recv_queue_consume(&s->rq, len);
			rs_credit_update(s);
		}
	}
}

static int receive(struct rs_stream *s, struct rs_iov *iov, int msg_flags)
{
	const bool nonblock = rs_is_nonblocking(&s->base, msg_flags);
	const bool all = (msg_flags & MSG_WAITALL) && !(msg_flags & MSG_PEEK);
	int err = 0;

	if (rs_is_opening(s))
		err = rs_wait_until(&s->base, nonblock, rs_is_opened);
	if (err)
		return err;
	if (s->phase < RS_CONNECTED)
		return explain(ENOTCONN, "the rsocket is not connected");
	do {
		if (!s->rq.unread)
			err = rs_wait_until(&s->base, nonblock, rs_can_receive);
		if (err)
			break;
		copy_out(s, iov, msg_flags & MSG_PEEK);
	} while (iov->left && all && (s->rq.unread || s->can_read));
	return err;
}

ssize_t rs_stream_recv(struct rs_stream *s, struct rs_iov *iov, int msg_flags)
{
	const size_t len = iov->left;
	int err;

	if (!len)
		return 0;
	pthread_mutex_lock(&s->base.lock);
	err = receive(s, iov, msg_flags);
	if (!err && iov->left == len && s->reset)
		err = -ECONNRESET;
	pthread_mutex_unlock(&s->base.lock);
	return iov->left == len && err ? err : (ssize_t)(len - iov->left);
}
