/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offloads of an adapter: checksums to verify and to fill in, the FCS, and the headers of the segments
 * of a TSO frame.
 */
#ifndef ETHER_OFFLOAD_H
#define ETHER_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ether/frame.h"

/* Verifies once, and stores the result in frame->check. */
uint8_t ether_check(struct ether_frame *frame);
/* The result, as bits, for one level of headers. */
uint8_t ether_check_headers(const uint8_t *data, const struct ether_headers *h);

/* Fills in the checksums of one level of headers; missing headers are skipped. */
void ether_fill_l3(uint8_t *data, const struct ether_headers *h);
void ether_fill_l4(uint8_t *data, const struct ether_headers *h);

/* The last four bytes of a frame on the wire, in memory order. */
uint32_t ether_fcs(const uint8_t *data, uint32_t len);

/*
 * Turns the copied headers into those of segment number `piece`: lengths, the IPv4 id, the sequence
 * number, and the flags that only the first or last segment has. `offset` is that of the segment's data
 * in the whole, `len` the frame's length, headers included.
 */
void ether_tso_fix(uint8_t *data, uint32_t len, const struct ether_parsed *parsed, uint32_t piece,
		   uint32_t offset, bool last);

#endif
