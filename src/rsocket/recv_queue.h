/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive buffer of a stream: a ring of two halves, which the peer fills in order and the program
 * reads in order.
 *
 * A half is granted to the peer (its address is sent), filled by one or several messages, read, and
 * granted again once all of it has been read. The peer's claims are checked against the grants.
 * The caller provides the lock.
 */
#ifndef RSOCKET_RECV_QUEUE_H
#define RSOCKET_RECV_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rs_recv_queue {
	uint8_t *buf;
	uint32_t half;      /* bytes of a half */
	uint32_t read_at;   /* offset of the first unread byte */
	uint32_t unread;    /* bytes */
	uint32_t granted;   /* bytes that the peer may fill */
	uint32_t grantable; /* bytes that have been read and not granted again */
	uint32_t grant_at;  /* offset of the half that is granted next */

	uint32_t *lengths; /* unread bytes of each message, a ring */
	uint32_t slots, head, count;
	uint16_t seq; /* messages that have been read */
};

/* The first half counts as granted. -ENOMEM. */
int rs_recv_queue_init(struct rs_recv_queue *q, void *buf, uint32_t size, uint32_t slots);
void rs_recv_queue_fini(struct rs_recv_queue *q);

/* The peer says that it has written so much. -EPROTO: more than it was granted. */
int rs_recv_queue_push(struct rs_recv_queue *q, uint32_t len);
/* The longest piece, up to len bytes, at `skip` bytes behind the first unread one; 0: none. */
uint32_t rs_recv_queue_piece(const struct rs_recv_queue *q, uint32_t skip, size_t len,
			     const void **piece);
/* The program has read so much, no more than is unread. */
void rs_recv_queue_consume(struct rs_recv_queue *q, uint32_t len);

static inline bool rs_recv_queue_can_grant(const struct rs_recv_queue *q)
{
	return q->grantable >= q->half;
}

/* Grants a half; its address. */
void *rs_recv_queue_grant(struct rs_recv_queue *q);

#endif
