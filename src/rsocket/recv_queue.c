/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/recv_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int rs_recv_queue_init(struct rs_recv_queue *q, void *buf, uint32_t size, uint32_t slots)
{
	const uint32_t half = size / 2;

	*q = (struct rs_recv_queue){ .buf = buf,
				     .half = half,
				     .granted = half,
				     .grantable = half,
				     .grant_at = half,
				     .slots = slots };
	q->lengths = calloc(slots, sizeof(*q->lengths));
	return q->lengths ? 0 : -ENOMEM;
}

void rs_recv_queue_fini(struct rs_recv_queue *q)
{
	free(q->lengths);
	*q = (struct rs_recv_queue){ 0 };
}

int rs_recv_queue_push(struct rs_recv_queue *q, uint32_t len)
{
	if (len > q->granted || q->count == q->slots)
		return -EPROTO;
	q->granted -= len;
	q->unread += len;
	q->lengths[(q->head + q->count++) % q->slots] = len;
	return 0;
}

uint32_t rs_recv_queue_piece(const struct rs_recv_queue *q, uint32_t skip, size_t len,
			     const void **piece)
{
	const uint32_t size = 2 * q->half;
	uint32_t at, to_end, left;

	if (skip >= q->unread)
		return 0;
	left = q->unread - skip;
	if (left > len)
		left = len;
	at = q->read_at + skip;
	if (at >= size)
		at -= size;
	to_end = size - at;
	*piece = q->buf + at;
	return left < to_end ? left : to_end;
}

void rs_recv_queue_consume(struct rs_recv_queue *q, uint32_t len)
{
	assert(len <= q->unread);
	q->unread -= len;
	q->grantable += len;
	q->read_at = (q->read_at + len) % (2 * q->half);
	while (q->count && q->lengths[q->head] <= len) {
		len -= q->lengths[q->head];
		q->head = (q->head + 1) % q->slots;
		q->count--;
		q->seq++;
	}
	if (len)
		q->lengths[q->head] -= len;
}

void *rs_recv_queue_grant(struct rs_recv_queue *q)
{
	void *half = q->buf + q->grant_at;

	assert(rs_recv_queue_can_grant(q));
	q->grantable -= q->half;
	q->granted += q->half;
	q->grant_at = q->grant_at ? 0 : q->half;
	return half;
}
