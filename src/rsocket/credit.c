/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/credit.h"

#include <errno.h>

#include "rsocket/post.h"

static bool update_is_due(const struct rs_stream *s)
{
	return rs_recv_queue_can_grant(&s->rq) || (int16_t)(s->rq.seq - s->seq_notify) >= 0;
}

/* The entry is sent from a control slot where the adapter's inline data is too short. */
static int send_grant(struct rs_stream *s, uint32_t msg)
{
	struct rs_peer *peer = &s->peer;
	struct rs_sge *slot = (struct rs_sge *)s->ep.send_memory + s->ctrl_seq % RS_CTRL_SLOTS;
	struct rs_sge grant = { .addr = (uintptr_t)rs_recv_queue_grant(&s->rq),
				.key = s->ep.recv_mr->rkey,
				.length = s->rq.half };
	struct ibv_sge sge = { .addr = (uintptr_t)slot,
			       .length = sizeof(*slot),
			       .lkey = s->ep.send_mr->lkey };
	struct rs_target to = { .addr = peer->sgl.addr + peer->sgl_at * sizeof(grant),
				.key = peer->sgl.key };

	if (s->base.sizes.inline_max >= sizeof(grant))
		to.send_flags = IBV_SEND_INLINE;
	*slot = peer->swap ? rs_sge_swap(grant) : grant;
	peer->sgl_at = (peer->sgl_at + 1) % peer->sgl.length;
	return rs_post_write_msg(s, &sge, 1, msg, &to);
}

void rs_credit_update(struct rs_stream *s)
{
	uint32_t msg;
	int err;

	if (s->phase != RS_CONNECTED || !s->ctrl_slots || !update_is_due(s))
		return;
	msg = rs_msg(RS_MSG_CREDIT, (uint16_t)(s->rq.seq + s->base.sizes.recv_queue));
	s->seq_notify = s->rq.seq + s->base.sizes.recv_queue / 2;
	s->ctrl_slots--;
	err = rs_recv_queue_can_grant(&s->rq) ? send_grant(s, msg) : rs_post_msg(s, msg);
	s->ctrl_seq++;
	if (err)
		rs_stream_break(s, -err);
}

int rs_credit_send_ctrl(struct rs_stream *s, enum rs_ctrl ctrl)
{
	s->ctrl_slots--;
	s->ctrl_seq++;
	return rs_post_msg(s, rs_msg(RS_MSG_CTRL, ctrl));
}
