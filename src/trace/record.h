/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file that a traced process writes, for the verbena command to read: a head, and chunks of records. A chunk
 * belongs to one thread, and its records are in the order of time. A file ends with the last chunk that was
 * begun; the oldest chunks are written again when there are as many as the limit permits.
 */
#ifndef TRACE_RECORD_H
#define TRACE_RECORD_H

#include <stdint.h>

#define TRACE_MAGIC   0x31306563617274ull /* "trace01" */
#define TRACE_PAGE    4096u
#define TRACE_CHUNK   32768u
#define TRACE_RECORDS (TRACE_CHUNK / sizeof(struct trace_record) - 1)

enum trace_kind {
	TRACE_NONE, /* not written, or not wholly */
	/* of the thread; each begin has an end */
	TRACE_SEND_BEGIN, /* ibv_post_send(): queue pair, count of requests, wr_id of the first */
	TRACE_SEND_END,   /* status: errno */
	TRACE_RECV_BEGIN, /* ibv_post_recv(): queue pair, index of the first entry, count */
	TRACE_RECV_END,
	TRACE_SRQ_BEGIN, /* ibv_post_srq_recv(): number of the SRQ, count */
	TRACE_SRQ_WR,    /* one of its requests: number of the SRQ, wr_id */
	TRACE_SRQ_END,
	TRACE_POLL_BEGIN, /* number of the CQ */
	TRACE_POLLED,     /* a completion: number of the CQ, queue pair, flag of receives, wr_id */
	TRACE_POLL_END,   /* number of the CQ, count */
	TRACE_IDLE,       /* polls in a row that found nothing: number of the CQ, count, duration */
	TRACE_WAIT_BEGIN, /* ibv_get_cq_event() */
	TRACE_WAIT_END,
	/* of the queue pair, in any thread */
	TRACE_QP,       /* it was created: type, slots of the queues, number of the SRQ */
	TRACE_STATE,    /* ibv_modify_qp(): state, or errno */
	TRACE_DOORBELL, /* first slot, count of slots */
	TRACE_FETCH,    /* the adapter takes a request: slot, counter, operation, length, wr_id */
	TRACE_PACKET,   /* from, to, PSN, opcode, length; flags; counter */
	TRACE_DIRECT,   /* a one-sided request without packets: counter, operation, length */
	TRACE_CQE,      /* the adapter writes a completion: CQ, counter, status, length */
	TRACE_QP_GONE,
};

enum trace_flag {
	TRACE_RECV = 1 << 0,    /* of a receive */
	TRACE_OUT = 1 << 1,     /* a packet leaves */
	TRACE_WIRE = 1 << 2,    /* ... or arrives, by the wire */
	TRACE_COUNTER = 1 << 3, /* `index` is the counter of a request */
};

struct trace_record {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint16_t kind;
	uint8_t flags, op;
	uint16_t status, count;
	uint32_t qpn; /* queue pair, or shared receive queue */
	uint32_t cqn;
	uint32_t index; /* slot, or counter */
	uint32_t psn;
	uint32_t length; /* bytes; or of slots, or polls */
	uint32_t peer;   /* a packet's other queue pair */
	uint32_t reserved;
	uint64_t wr_id;
	uint64_t duration;
};

_Static_assert(sizeof(struct trace_record) == 64, "one line per record");

struct trace_chunk {
	uint64_t number; /* in the order of use; 0: never used */
	uint32_t tid;
	uint32_t reserved;
	char thread[16];
	uint64_t pad[4];
	struct trace_record record[];
};

_Static_assert(sizeof(struct trace_chunk) == sizeof(struct trace_record), "a record's place");

struct trace_head {
	uint64_t magic;
	uint32_t pid;
	uint32_t reserved;
	char program[16];
	uint64_t lost;    /* records for which there was no room */
	uint64_t dropped; /* chunks that were written again */
	int32_t error;    /* that ended the trace, or 0 */
};

#endif
