/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network in memory, in virtual time: the transport's carrier and clock for tests. Packets are encoded,
 * with their ICRC, and lie in a queue ordered by the time at which they arrive; loss, duplicates,
 * reordering, delay and flipped bits come from a seed. Everything runs in the calling thread: time
 * stands still until net_run() moves it to the next packet or timer.
 */
#ifndef TESTS_TRANSPORT_NET_H
#define TESTS_TRANSPORT_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/transport/qp_types.h"

#define NET_MOST_SENT 4096

/* Shares are in millionths of the packets. */
struct net_faults {
	uint32_t loss;
	uint32_t duplicate;
	uint32_t corrupt;
	uint32_t reorder; /* delayed by up to ten times the delay */
	uint64_t delay_ns;
	uint64_t seed;
};

/* A packet as the carrier was given it. */
struct net_sent {
	struct roce_pkt pkt;
	uint64_t at_ns;
	uint32_t len;
	uint8_t payload[4096];
};

struct net {
	uint64_t now_ns;
	uint64_t woken_ns; /* the earliest time at which the transport asked to be called */
	struct net_faults faults;
	bool held;             /* packets are recorded in `sent` and go nowhere */
	bool full;             /* no room: senders wait for net_room() */
	bool unread;           /* what the carrier says of packets that wait to be received */
	struct net_sent *sent; /* of NET_MOST_SENT; recorded while held */
	unsigned int sent_count, taken;
	struct qp *blocked;
	uint64_t packets, lost, duplicated, corrupted, dropped_icrc;
	unsigned int connects;
};

extern struct net net;

/* Hands the network and the clock to struct hca. Once per program. */
void net_begin(void);
/* An empty network without faults. Time goes on. */
void net_reset(void);
void net_set_faults(const struct net_faults *faults);

/* Moves time on to the next packet or timer, and handles it. False: there is none. */
bool net_step(void);
/* Steps until `done` says so. False: nothing is left that could happen, or `most_ns` have passed. */
bool net_run(bool (*done)(void *arg), void *arg, uint64_t most_ns);
/* Handles all that happens within so long. */
void net_pass(uint64_t ns);
/* Handles packets that have arrived; no time passes. */
void net_deliver_arrived(void);

/* A packet arrives at the queue pair, as if it came from its peer (at a DCT: from `sqpn`). */
void net_inject(struct hca_qp *qp, const struct roce_pkt *pkt, const void *payload);
/* There is room again for those that found none. */
void net_room(void);
/* The first recorded packet that was not taken yet, or NULL. */
const struct net_sent *net_take(void);
/* Lets time pass until there is such a packet; NULL: there is none within most_ns. */
const struct net_sent *net_await_packet(uint64_t most_ns);

#endif
