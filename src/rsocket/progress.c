/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/progress.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>

#include "rsocket/credit.h"
#include "rsocket/endpoint.h"
#include "rsocket/post.h"

#define POLL_BATCH 16

/* The peer has written the next entry of the SGL. */
static int take_target(struct rs_stream *s)
{
	struct rs_peer *peer = &s->peer;
	const unsigned int at = peer->target_fill;

	if (peer->target[at].length)
		return -EPROTO;
	peer->target[at] = s->ep.sgl[at];
	peer->target_fill = (at + 1) % RS_SGL_SIZE;
	return 0;
}

static int take_iomap(struct rs_stream *s, uint32_t index)
{
	if (index >= s->base.sizes.iomap)
		return -EPROTO;
	s->ep.iomap_copy[index] = s->ep.iomap[index];
	return 0;
}

static void take_ctrl(struct rs_stream *s, uint32_t ctrl)
{
	if (s->phase != RS_CONNECTED)
		return;
	if (ctrl == RS_CTRL_DISCONNECT || (ctrl == RS_CTRL_SHUTDOWN && !s->can_write)) {
		rs_stream_enter(s, RS_DISCONNECTED);
	} else if (ctrl == RS_CTRL_SHUTDOWN) {
		s->can_read = false;
	}
}

/* A message of the peer. Only a write that had data can have changed the SGL. */
static void take_message(struct rs_stream *s, const struct ibv_wc *wc)
{
	const uint32_t msg = be32toh(wc->imm_data), value = rs_msg_value(msg);
	int err = 0;

	switch (rs_msg_kind(msg)) {
	case RS_MSG_DATA:
		err = rs_recv_queue_push(&s->rq, value);
		break;
	case RS_MSG_CREDIT:
		s->peer.seq_limit = value;
		if (wc->byte_len)
			err = take_target(s);
		break;
	case RS_MSG_IOMAP:
		err = take_iomap(s, value);
		break;
	case RS_MSG_CTRL:
		take_ctrl(s, value);
		break;
	default:
		err = -EPROTO;
		break;
	}
	if (err)
		rs_stream_break(s, -err);
}

/* A request of this side has completed. */
static void take_sent(struct rs_stream *s, const struct ibv_wc *wc)
{
	const uint32_t msg = wc->wr_id;

	switch (rs_msg_kind(msg)) {
	case RS_MSG_CREDIT:
	case RS_MSG_CTRL:
		s->ctrl_slots++;
		break;
	case RS_MSG_IOMAP:
		s->send_slots++;
		if (!(wc->wr_id & RS_WR_NO_RING))
			rs_send_ring_release(&s->ring, sizeof(struct rs_iomap_entry));
		break;
	default:
		s->send_slots++;
		if (!(wc->wr_id & RS_WR_NO_RING))
			rs_send_ring_release(&s->ring, rs_msg_value(msg));
		break;
	}
	if (wc->status == IBV_WC_SUCCESS && msg == rs_msg(RS_MSG_CTRL, RS_CTRL_DISCONNECT) &&
	    s->phase == RS_CONNECTED)
		rs_stream_enter(s, RS_DISCONNECTED);
}

static void take_completions(struct rs_stream *s)
{
	struct ibv_wc wcs[POLL_BATCH];
	unsigned int received = 0;
	int count;

	do {
		count = ibv_poll_cq(s->ep.cq, POLL_BATCH, wcs);
		for (int i = 0; i < count; i++) {
			const struct ibv_wc *wc = &wcs[i];

			if (!(wc->wr_id & RS_WR_RECV)) {
				take_sent(s, wc);
			} else if (wc->status == IBV_WC_SUCCESS) {
				received++;
				take_message(s, wc);
			}
			if (wc->status != IBV_WC_SUCCESS)
				rs_stream_break(s, EIO);
		}
	} while (count == POLL_BATCH);
	if (received && s->phase == RS_CONNECTED && rs_post_receives(s, received))
		rs_stream_break(s, EIO);
}

void rs_progress(struct rs_stream *s)
{
	if (!rs_has_endpoint(s) || s->phase < RS_CONNECTED)
		return;
	rs_credit_update(s);
	take_completions(s);
	rs_credit_update(s);
}

bool rs_can_send(const struct rs_stream *s)
{
	return s->can_write && s->send_slots && s->ring.free >= RS_SEND_LOW &&
	       s->seq != s->peer.seq_limit && s->peer.target[s->peer.target_at].length;
}

bool rs_can_send_or_never(const struct rs_socket *socket)
{
	const struct rs_stream *s = rs_const_stream(socket);

	return rs_can_send(s) || !s->can_write;
}

bool rs_can_send_ctrl(const struct rs_socket *socket)
{
	const struct rs_stream *s = rs_const_stream(socket);

	return s->ctrl_slots || s->phase != RS_CONNECTED;
}

bool rs_can_receive(const struct rs_socket *socket)
{
	const struct rs_stream *s = rs_const_stream(socket);

	return s->rq.unread || !s->can_read;
}

bool rs_all_sent(const struct rs_socket *socket)
{
	const struct rs_stream *s = rs_const_stream(socket);

	return s->send_slots + s->ctrl_slots == s->base.sizes.send_queue ||
	       s->phase != RS_CONNECTED;
}

bool rs_is_opened(const struct rs_socket *socket)
{
	const struct rs_stream *s = rs_const_stream(socket);

	return !rs_is_opening(s);
}

bool rs_can_accept(const struct rs_socket *socket)
{
	const struct rs_stream *s = rs_const_stream(socket);

	return !TAILQ_EMPTY(&s->accepted) || s->phase != RS_LISTENING;
}

static void progress(struct rs_socket *socket)
{
	rs_progress(rs_to_stream(&socket->entry));
}

static int arm(struct rs_socket *socket)
{
	struct rs_stream *s = rs_to_stream(&socket->entry);

	if (!rs_has_endpoint(s))
		return -1;
	if (rs_endpoint_arm(s))
		rs_stream_break(s, EIO);
	return s->ep.channel->fd;
}

static void take(struct rs_socket *socket)
{
	struct rs_stream *s = rs_to_stream(&socket->entry);

	if (rs_has_endpoint(s))
		rs_endpoint_take_event(s);
}

/*
 * A poll for reading hears of data first and of the end when the data has been read: programs take
 * POLLHUP and POLLERR for the end of everything.
 */
static short connected_events(const struct rs_stream *s, short asked)
{
	const bool data_first = s->rq.unread && (asked & RS_READ_EVENTS);
	short ready = 0;

	if (rs_can_receive(&s->base))
		ready |= RS_READ_EVENTS;
	if (rs_can_send_or_never(&s->base))
		ready |= RS_WRITE_EVENTS;
	if (!s->can_read)
		ready |= POLLRDHUP;
	if (s->phase == RS_DISCONNECTED && !data_first)
		ready |= POLLHUP;
	if (s->phase == RS_BROKEN && !data_first)
		ready |= POLLERR | POLLHUP;
	return ready;
}

static short events(const struct rs_socket *socket, short asked)
{
	const struct rs_stream *s = rs_const_stream(socket);

	switch (s->phase) {
	case RS_LISTENING:
		return rs_can_accept(socket) ? RS_READ_EVENTS : 0;
	case RS_FAILED:
		return RS_READ_EVENTS | RS_WRITE_EVENTS | POLLERR;
	case RS_CONNECTED:
	case RS_DISCONNECTED:
	case RS_BROKEN:
		return connected_events(s, asked);
	case RS_CLOSED:
		return POLLNVAL;
	default:
		return 0;
	}
}

const struct rs_socket_ops rs_stream_ops = {
	.progress = progress,
	.arm = arm,
	.take = take,
	.events = events,
};
