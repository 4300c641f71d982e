/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet socket (packet(7)) with two rings in memory that the kernel shares: frames are read in
 * place, and many frames are sent by one system call.
 *
 * One thread at a time reads, and one writes; the caller provides the locks.
 */
#ifndef HCA_PSOCK_H
#define HCA_PSOCK_H

#include <stdbool.h>
#include <stdint.h>

struct psock_ring {
	uint8_t *at;
	uint32_t frame_size, per_block, count;
	uint32_t next; /* slot to read or write next; below count */
};

struct psock {
	int fd;
	struct psock_ring rx, tx;
	uint32_t unsent;  /* first slot of tx that the kernel may not have sent yet */
	uint32_t waiting; /* slots from `unsent` on that were written */
	uint8_t *big;     /* a received frame that is longer than a slot; allocated at need */
};

/* A received frame. */
struct psock_frame {
	const uint8_t *data; /* NULL: the frame was truncated */
	uint32_t len;
	bool has_tag; /* the kernel has removed a VLAN tag: */
	uint16_t tpid, tci;
	bool unsummed;    /* checksum offload: TCP's or UDP's is not filled in */
	uint16_t segment; /* segmentation offload: payload bytes per segment; 0: one frame */
};

/* 0 or -errno: the interface has to exist, and the socket needs CAP_NET_RAW. */
int psock_open(struct psock *s, const char *interface);
void psock_close(struct psock *s);

/* True when a frame can be read. Any thread. */
bool psock_is_ready(const struct psock *s);
/* The next frame, which stays in its slot until psock_release(). False when there is none. */
bool psock_peek(struct psock *s, struct psock_frame *out);
void psock_release(struct psock *s);

bool psock_has_room(struct psock *s);
/*
 * Writes a frame, which psock_kick() sends. False without room. A frame that is too long for the
 * interface is lost.
 */
bool psock_put(struct psock *s, const void *data, uint32_t len);
/* Sends. False when the kernel did not take all frames: call again when fd is writable. */
bool psock_kick(struct psock *s);

#endif
