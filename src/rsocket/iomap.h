/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffers that the two programs open to each other: riomap() on one side, riowrite() on the other.
 * All with base.lock held, except close, when nothing else uses the socket any more.
 */
#ifndef RSOCKET_IOMAP_H
#define RSOCKET_IOMAP_H

#include "rsocket/stream.h"

/* Registers the buffer; prot is PROT_NONE or PROT_WRITE, an offset of -1 becomes the address. */
int rs_iomap_open(struct rs_stream *s, void *buf, size_t len, int prot, uint64_t *offset);
int rs_iomap_remove(struct rs_stream *s, const void *buf, size_t len);
/* Tells the peer of one region that it does not know; a data message could be sent. */
int rs_iomap_announce(struct rs_stream *s);
/* The peer's buffer that has the offset; NULL: none. */
const struct rs_iomap_entry *rs_iomap_find(const struct rs_stream *s, uint64_t offset);
void rs_iomap_close(struct rs_stream *s);

#endif
