/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture to pcapng, as Wireshark reads it: Ethernet frames with made-up MAC addresses around the
 * packets as they are on the wire, ICRC included, with nanosecond stamps, direction and comments.
 *
 * A capture is an object that is always there and mostly off; roce_capture_on() is one load.
 * Several processes may write one file: whole blocks go out by single appending writes, and every
 * one of them describes its packets by the same one interface. Own lock inside; any thread.
 */
#ifndef ROCE_CAPTURE_H
#define ROCE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "roce/addr.h"
#include "roce/packet.h"
#include "roce/switch.h"

struct roce_capture;

int roce_capture_create(struct roce_capture **out);
/* Stops first. */
void roce_capture_destroy(struct roce_capture *cap);

/*
 * Appends to `path`, which is made when it is not there. -EINVAL when the file is there and is not
 * such a capture; -EALREADY while on.
 */
int roce_capture_start(struct roce_capture *cap, const char *path);
/* Everything that was written before is in the file on return. */
void roce_capture_stop(struct roce_capture *cap);

/* For fork: held around it, nobody is inside. */
void roce_capture_lock(struct roce_capture *cap);
void roce_capture_unlock(struct roce_capture *cap);

/* Whether somebody wants packets; cheap. */
static inline bool roce_capture_on(const struct roce_capture *cap)
{
	return roce_switch_on((const struct roce_switch *)cap);
}

/* What the UDP payload of a frame came in. */
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
 * BTH through ICRC. `comment` may be NULL; the process's name and number go in front of it.
 * Buffered until roce_capture_flush() or until there is enough.
 */
void roce_capture_frame(struct roce_capture *cap, const struct roce_frame *frame,
			const uint8_t *packet, size_t len, const char *comment);

/* The packet that would have been: for traffic that never was on a wire. */
void roce_capture_packet(struct roce_capture *cap, const struct roce_frame *frame,
			 const struct roce_pkt *pkt, uint16_t pkey, const struct iovec *pieces,
			 size_t count, const char *comment);

void roce_capture_flush(struct roce_capture *cap);

/* Frames since the start, and frames that could not be written (a full disk ends the capture). */
void roce_capture_count(struct roce_capture *cap, uint64_t *frames, uint64_t *lost);

#endif
