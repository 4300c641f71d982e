/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture to pcapng, for Wireshark: Ethernet frames with made-up MAC addresses around the packets as they
 * are on the wire, ICRC included, with nanosecond timestamps, direction and comments.
 *
 * The object always exists and is mostly off; roce_capture_on() is one load. Several processes may write
 * one file: blocks are written whole, by appending writes, and all refer to one interface. Own lock
 * inside; any thread.
 */
#ifndef ROCE_CAPTURE_H
#define ROCE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "roce/addr.h"
#include "roce/packet.h"
#include "roce/inspect_enabled.h"

struct roce_capture;

int roce_capture_create(struct roce_capture **out);
/* Stops first. */
void roce_capture_destroy(struct roce_capture *cap);

/* Appends to `path`, or creates it. -EINVAL when it is not a capture of ours; -EALREADY while on. */
int roce_capture_start(struct roce_capture *cap, const char *path);
/* Writes all buffered frames. */
void roce_capture_stop(struct roce_capture *cap);

/* Held around fork(). */
void roce_capture_lock(struct roce_capture *cap);
void roce_capture_unlock(struct roce_capture *cap);

/* Whether packets are captured. One load. */
static inline bool roce_capture_on(const struct roce_capture *cap)
{
	return roce_inspect_flag_on((const struct roce_inspect_flag *)cap);
}

/* IP and UDP header fields of a frame. */
struct roce_frame {
	struct roce_addr src;
	struct roce_addr dst;
	uint16_t sport;
	uint16_t dport;
	uint16_t ip_id;
	uint8_t tclass;
	uint8_t ttl;
	bool out;
};

/*
 * `packet` is BTH through ICRC. `comment` may be NULL; process name and pid precede it. Buffered until
 * roce_capture_flush(), or until the buffer fills.
 */
void roce_capture_frame(struct roce_capture *cap, const struct roce_frame *frame,
			const uint8_t *packet, size_t len, const char *comment);

/* For traffic over shared memory: encodes the packet that it would have been on the wire. */
void roce_capture_packet(struct roce_capture *cap, const struct roce_frame *frame,
			 const struct roce_pkt *pkt, uint16_t pkey, const struct iovec *pieces,
			 size_t count, const char *comment);

void roce_capture_flush(struct roce_capture *cap);

/* Frames since the start, and frames lost by a failed write, which ends the capture. */
void roce_capture_count(struct roce_capture *cap, uint64_t *frames, uint64_t *lost);

#endif
