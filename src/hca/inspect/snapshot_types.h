/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A snapshot of a process's queue pairs and of the queues that they use, as numbers: what a process tells a viewer
 * that has asked (fabric/ask.h), in a memory file, and what a dump of its state can be made of. All in host byte order; a
 * viewer takes only the version that it was built with. Types only.
 */
#ifndef HCA_SNAPSHOT_TYPES_H
#define HCA_SNAPSHOT_TYPES_H

#include <stdint.h>

#include "fabric/traffic_block.h"
#include "hca/device/adapter.h"

#define SNAPSHOT_MAGIC   0x70616e7362726576ull
#define SNAPSHOT_VERSION 1u

enum snapshot_flag {
	/* another thread kept the queue pair's lock: the numbers are not of one moment */
	SNAPSHOT_UNLOCKED = 1 << 0,
	SNAPSHOT_POSTED =
		1 << 1, /* `posted` and `polled` are known: the driver posts, not the program */
	SNAPSHOT_TRAFFIC = 1 << 2, /* `traffic` is known */
	SNAPSHOT_RQ = 1 << 3,      /* has a receive queue of its own, or uses a shared one */
	SNAPSHOT_REMOTE = 1 << 4,  /* connected by the wire */
};

/* A ring and how full it is. */
struct snapshot_ring {
	uint32_t number; /* of a CQ or SRQ; 0: there is none, or it could not be looked at */
	uint32_t size;   /* entries */
	uint32_t
		fill; /* CQ: entries not polled; receive queue: receives that messages can still take */
	uint32_t failed; /* CQ: it overran */
};

struct snapshot_qp {
	uint32_t qpn;
	uint8_t type, state; /* enum hca_qp_type, hca_qp_state */
	uint8_t port;
	uint8_t flags; /* enum snapshot_flag */
	char adapter[HCA_NAME_MAX];

	/* the other end of a connection; 0: none */
	uint32_t dest_qpn;
	int32_t peer_pid; /* on this host, where the link to it is known; else 0 */
	uint8_t dgid[16];
	uint32_t dlid;

	/* send queue: requests, free running */
	uint32_t sq_size;        /* the most that the program may post */
	uint32_t posted, polled; /* by the program; polled: their completions, or later ones */
	uint32_t pending;        /* that the adapter has not completed */
	/* receives */
	uint32_t received; /* messages that took a receive of the queue pair's own, free running */
	uint32_t
		requests; /* messages, reads and atomics of the peer that came as packets, free running */
	struct snapshot_ring recv; /* own or shared receive queue; number: 0 when own */
	struct snapshot_ring send_cq, recv_cq;

	uint64_t traffic[FABRIC_TRAFFIC_COUNTS]; /* packets and their bytes on a link */
	uint64_t rtt_ns; /* from a packet to its acknowledgement, on the wire; 0: not measured */

	/* attributes and present retries of the requester */
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t retries, rnr_retries; /* since the last progress */
	uint16_t reserved;
	/* counts, free running */
	uint32_t retried, rnr, no_recv, errors, flushed;
	uint32_t reserved2;
};

struct snapshot {
	uint64_t magic;
	uint32_t version;
	uint32_t qp_size;  /* bytes of a queue pair below */
	uint64_t taken_ns; /* CLOCK_MONOTONIC */
	uint32_t pid;      /* in the process's own namespace */
	uint32_t count;
	struct snapshot_qp qp[];
};

#endif
