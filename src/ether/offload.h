/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an adapter computes over frames: check sums to verify and to fill in, the FCS, and the
 * headers of the pieces that a long segment is cut into.
 */
#ifndef ETHER_OFFLOAD_H
#define ETHER_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ether/frame.h"

/* Looks once, and remembers the answer in frame->check. */
uint8_t ether_check(struct ether_frame *frame);

/* Fills in the check sums of one level of headers. What is not there is left alone. */
void ether_fill_l3(uint8_t *data, const struct ether_headers *h);
void ether_fill_l4(uint8_t *data, const struct ether_headers *h);

/* The last four bytes of a frame on the wire, in memory order. */
uint32_t ether_fcs(const uint8_t *data, uint32_t len);

/*
 * Makes the copied headers those of piece number `piece` of a segment: lengths, the IPv4 id, the
 * sequence number, and the flags that belong to the first or last piece only. `offset` is where
 * the piece's data stands in the whole, `len` the frame's length, headers included.
 */
void ether_tso_fix(uint8_t *data, uint32_t len, const struct ether_parsed *parsed, uint32_t piece,
		   uint32_t offset, bool last);

#endif
