/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data is copied into the send ring and written from there, in pieces; short data is inline. A piece
 * costs a message and two completions, so pieces are long, but short enough that the peer reads one while
 * the next is copied.
 */
#include "rsocket/stream_send.h"

#include <errno.h>

#include "rsocket/iomap.h"
#include "rsocket/post.h"
#include "rsocket/progress.h"
#include "rsocket/wait.h"
#include "util/explain.h"

#define PIECE_MAX 65536

/* With base.lock held. */
static int wait_open(struct rs_stream *s, bool nonblock)
{
	int err = 0;

	if (rs_is_opening(s))
		err = rs_wait_until(&s->base, nonblock, rs_is_opened);
	if (!err && s->phase < RS_CONNECTED)
		err = explain(ENOTCONN, "the rsocket is not connected");
	return err;
}

static int wait_writable(struct rs_stream *s, bool nonblock)
{
	int err = 0;

	if (!rs_can_send(s))
		err = rs_wait_until(&s->base, nonblock, rs_can_send_or_never);
	if (!err && !s->can_write)
		err = s->shut_write ? -EPIPE : -ECONNRESET;
	return err;
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Posts len bytes of the program's. The lock is dropped while they are copied: what they use is
 * reserved, and send_lock keeps other senders out, so that messages leave in order.
 */
static int post_piece(struct rs_stream *s, struct rs_iov *iov, size_t len, uint32_t msg,
		      struct rs_target *to)
{
	struct ibv_sge sges[2];
	size_t contiguous;
	int count, err;

	sges[0].addr = (uintptr_t)rs_iov_piece(iov, &contiguous);
	if (len <= s->base.sizes.inline_max && len <= contiguous) {
		sges[0].length = len;
		to->send_flags = IBV_SEND_INLINE;
		to->wr_flags = RS_WR_NO_RING;
		count = 1;
		rs_iov_advance(iov, len);
	} else {
		count = rs_send_ring_reserve(&s->ring, len, sges);
	}
	pthread_mutex_unlock(&s->base.lock);
	if (!to->wr_flags)
		for (int i = 0; i < count; i++)
			rs_iov_gather(iov, (void *)(uintptr_t)sges[i].addr, sges[i].length);
	err = rs_msg_kind(msg) == RS_MSG_DATA ? rs_post_write_msg(s, sges, count, msg, to)
					      : rs_post_write(s, sges, count, msg, to);
	pthread_mutex_lock(&s->base.lock);
	return err;
}

/* Takes the place where the next bytes go to. */
static struct rs_target take_target(struct rs_stream *s, uint32_t len)
{
	struct rs_peer *peer = &s->peer;
	struct rs_sge *sge = &peer->target[peer->target_at];
	const struct rs_target to = { .addr = sge->addr, .key = sge->key };

	sge->addr += len;
	sge->length -= len;
	if (!sge->length)
		peer->target_at = (peer->target_at + 1) % RS_SGL_SIZE;
	s->seq++;
	s->send_slots--;
	return to;
}

static int send_all(struct rs_stream *s, struct rs_iov *iov, bool nonblock)
{
	int err = 0;

	while (iov->left && !err) {
		struct rs_target to;
		size_t len;

		err = wait_writable(s, nonblock);
		if (err)
			break;
		len = min(min(iov->left, PIECE_MAX), s->peer.target[s->peer.target_at].length);
		len = min(len, s->ring.free);
		to = take_target(s, len);
		err = post_piece(s, iov, len, rs_msg(RS_MSG_DATA, len), &to);
	}
	return err;
}

static int begin(struct rs_stream *s, bool nonblock)
{
	int err = wait_open(s, nonblock);

	/* Data may tell the peer that a buffer is open, so it has to know the buffer first. */
	while (!err && s->iomap_unsent) {
		err = wait_writable(s, nonblock);
		if (!err)
			err = rs_iomap_announce(s);
	}
	return err;
}

ssize_t rs_stream_send(struct rs_stream *s, struct rs_iov *iov, int msg_flags)
{
	const bool nonblock = rs_is_nonblocking(&s->base, msg_flags);
	const size_t len = iov->left;
	int err;

	pthread_mutex_lock(&s->base.lock);
	err = begin(s, nonblock);
	if (!err)
		err = send_all(s, iov, nonblock);
	pthread_mutex_unlock(&s->base.lock);
	return iov->left == len && err ? err : (ssize_t)(len - iov->left);
}

static int write_all_at(struct rs_stream *s, struct rs_iov *iov, uint64_t offset, bool nonblock)
{
	int err = 0;

	while (iov->left && !err) {
		const struct rs_iomap_entry *entry;
		struct rs_target to;
		size_t len;

		err = wait_writable(s, nonblock);
		if (err)
			break;
		entry = rs_iomap_find(s, offset);
		if (!entry)
			break;
		to = (struct rs_target){ .addr = entry->sge.addr + (offset - entry->offset),
					 .key = entry->sge.key };
		len = min(min(iov->left, PIECE_MAX), entry->offset + entry->sge.length - offset);
		len = min(len, s->ring.free);
		s->send_slots--;
		err = post_piece(s, iov, len, rs_msg(RS_MSG_WRITE, len), &to);
		offset += len;
	}
	return err;
}

ssize_t rs_stream_write_at(struct rs_stream *s, struct rs_iov *iov, uint64_t offset, int msg_flags)
{
	const bool nonblock = rs_is_nonblocking(&s->base, msg_flags);
	const size_t len = iov->left;
	int err;

	pthread_mutex_lock(&s->base.lock);
	err = begin(s, nonblock);
	if (!err)
		err = write_all_at(s, iov, offset, nonblock);
	pthread_mutex_unlock(&s->base.lock);
	return iov->left == len && err ? err : (ssize_t)(len - iov->left);
}
