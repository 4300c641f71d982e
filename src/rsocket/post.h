/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work requests of a stream, and what their completions say. All return 0 or -errno.
 *
 * A completion's id has the message of its request; requests and receives are told apart by a bit.
 */
#ifndef RSOCKET_POST_H
#define RSOCKET_POST_H

#include "rsocket/stream.h"

#define RS_WR_RECV    (1ull << 63)
#define RS_WR_NO_RING (1ull << 62) /* the data was inline: no bytes of the send buffer */

int rs_post_receives(struct rs_stream *s, unsigned int count);

/* A message without data. */
int rs_post_msg(struct rs_stream *s, uint32_t msg);

/* Where a write goes to, and how. */
struct rs_target {
	uint64_t addr;
	uint32_t key;
	unsigned int send_flags; /* IBV_SEND_INLINE */
	uint64_t wr_flags;       /* RS_WR_NO_RING */
};

/* Data with a message, and data alone; msg is in the completion in both cases. */
int rs_post_write_msg(struct rs_stream *s, struct ibv_sge *sges, int count, uint32_t msg,
		      const struct rs_target *to);
int rs_post_write(struct rs_stream *s, struct ibv_sge *sges, int count, uint32_t msg,
		  const struct rs_target *to);

#endif
