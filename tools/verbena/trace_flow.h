/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From one event to the next: which post a request is of, which request a packet or a completion is of, and
 * which completion the program has polled. Each request and each packet has a number, its flow.
 */
#ifndef VERBENA_TRACE_FLOW_H
#define VERBENA_TRACE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/record.h"
#include "util/hash.h"

#define FLOW_PACKETS 65536u /* under way, that are remembered */

/* A place in the timeline. */
struct flow_at {
	uint64_t ns; /* 0: none */
	uint64_t track;
};

/* Completions that are not polled yet, in order. */
struct flow_queue {
	struct flow_done {
		uint64_t flow; /* 0: of a shared receive queue, whose entry is not known yet */
		uint32_t srqn;
		struct flow_at at;
	} * data;
	uint32_t head, count, room;
};

struct flow_qp {
	struct hash_link link; /* by file and number */
	uint32_t qpn;
	unsigned int file;
	/* by slot of the send queue */
	struct flow_origin {
		struct flow_at post, doorbell;
	} * origin;
	uint64_t *sends, *receives; /* flows, by slot */
	uint32_t send_mask, receive_mask;
	struct flow_queue done[2]; /* sends, receives */
	struct flow_at arrived;    /* the last packet */
	/* the newest event of its track, which ends when the next begins */
	char *pending;
	uint64_t pending_ns;
};

struct flow_packet {
	struct hash_link link;
	bool used;
	uint64_t flow;
};

struct flows {
	struct hash qps, entries; /* entries: of shared receive queues, by file, number and wr_id */
	struct hash packets;
	struct flow_packet *under_way; /* FLOW_PACKETS of them */
	uint32_t next_packet;
	uint64_t last; /* number of a flow */
	bool no_memory;
};

int flow_init(struct flows *f);
void flow_fini(struct flows *f);

/* The queue pair; made if it is new. NULL: no memory. */
struct flow_qp *flow_qp(struct flows *f, unsigned int file, uint32_t qpn);
/* It was created, with queues of so many slots. */
void flow_qp_start(struct flows *f, struct flow_qp *q, uint32_t send_slots, uint32_t receive_slots);
/* Outstanding requests and completions are gone. */
void flow_qp_reset(struct flow_qp *q);

static inline uint64_t flow_new(struct flows *f)
{
	return ++f->last;
}

void flow_done_push(struct flows *f, struct flow_qp *q, bool recv, struct flow_done done);
/* False: none is there. */
bool flow_done_pop(struct flow_qp *q, bool recv, struct flow_done *out);

/* An entry of a shared receive queue is posted; it is taken with the oldest of this wr_id. 0: none. */
void flow_entry_add(struct flows *f, unsigned int file, uint32_t srqn, uint64_t wr_id,
		    uint64_t flow);
uint64_t flow_entry_take(struct flows *f, unsigned int file, uint32_t srqn, uint64_t wr_id);

/* The flow of a packet that leaves; that of one that arrives, or 0. */
uint64_t flow_packet_out(struct flows *f, const struct trace_record *r);
uint64_t flow_packet_in(struct flows *f, const struct trace_record *r);

#endif
