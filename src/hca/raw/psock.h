/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet socket with a ring for each direction that kernel and process share: frames are read
 * where the kernel put them, and written where it takes them, many per system call.
 *
 * Reading is for one thread at a time, and so is writing; the owner has the locks. It knows an
 * interface and frames, no port and no rule.
 */
#ifndef HCA_PSOCK_H
#define HCA_PSOCK_H

#include <stdbool.h>
#include <stdint.h>

struct psock_ring {
	uint8_t *at;
	uint32_t frame_size, per_block, count;
	uint32_t next; /* slot to look at; below count */
};

struct psock {
	int fd;
	struct psock_ring rx, tx;
	uint32_t unsent;  /* the first slot of tx that the kernel may not have taken, */
	uint32_t waiting; /* and how many there are from it on */
	uint8_t *big;     /* one frame that is longer than a slot */
};

/* What lies in front of the reader. */
struct psock_frame {
	const uint8_t *data; /* NULL: it did not come through whole */
	uint32_t len;
	bool has_tag; /* the kernel took a tag out: this one */
	uint16_t tpid, tci;
	bool unsummed; /* its sender left the sum of TCP or UDP to an adapter, */
	uint16_t
		segment; /* and the cutting, into pieces with so much data; 0: no piece is too long */
};

/* -errno: it needs CAP_NET_RAW, and the interface. */
int psock_open(struct psock *s, const char *interface);
void psock_close(struct psock *s);

/* Is there something to read? For any thread. */
bool psock_is_ready(const struct psock *s);
/* False when nothing has arrived. */
bool psock_peek(struct psock *s, struct psock_frame *out);
/* The slot is the kernel's again. */
void psock_release(struct psock *s);

bool psock_has_room(struct psock *s);
/* A frame that waits for psock_kick(); false without room. What the interface refuses is lost. */
bool psock_put(struct psock *s, const void *data, uint32_t len);
/* False when the kernel did not take all: once more when the descriptor is writable. */
bool psock_kick(struct psock *s);

#endif
