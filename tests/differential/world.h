/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects of a running program, by the small numbers that its lines have for them, and the trace. One
 * thread, one process: everything is a member of `world`.
 */
#ifndef DIFFERENTIAL_WORLD_H
#define DIFFERENTIAL_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "words.h"

enum {
	MOST_OBJECTS = 64, /* of a kind */
	MOST_WRS = 16,     /* of a list */
	MOST_SGES = 32,
	MOST_IDS = 4096, /* of work requests */
	ARENA = 1 << 18, /* bytes that a program's regions lie in */
	GRH_BYTES = 40,
};

/* A queue pair, with the requests that will complete. */
struct end {
	struct ibv_qp *qp;
	struct ibv_qp_cap cap;
	enum ibv_qp_type type;
	bool signal_all, has_srq;
	bool stuck; /* a request should have completed; the next ones are not waited for as long */
	uint32_t number;
};

enum wr_state { WR_NONE, WR_SEND, WR_RECV };

/* A work request that was accepted, by its id; `owner` is the number of its queue pair, or of its SRQ. */
struct pending {
	enum wr_state state;
	bool will_complete; /* a success has a completion, too */
	bool of_srq;
	bool given_up; /* reported as stuck */
	int owner;
	size_t grh; /* offset of a receive's first GRH_BYTES in the arena, plus one; 0: not in one piece */
};

struct world {
	struct ibv_context *ctx;
	struct ibv_comp_channel *channel;
	int gid_index;
	int recv_limit_ms; /* how long to wait for receives to be flushed */
	union ibv_gid gid;
	uint8_t *arena, *before; /* what the arena was when it was last looked at */

	struct ibv_pd *pd[MOST_OBJECTS];
	struct ibv_cq *cq[MOST_OBJECTS];
	struct ibv_srq *srq[MOST_OBJECTS];
	struct end end[MOST_OBJECTS];
	struct ibv_mr *mr[MOST_OBJECTS];
	struct ibv_mw *mw[MOST_OBJECTS];
	uint32_t mw_key[MOST_OBJECTS]; /* of the last bind that was posted */
	struct ibv_ah *ah[MOST_OBJECTS];
	struct pending pending[MOST_IDS];
	int next_id; /* above all ids in use */

	int line; /* number of the line that is carried out */
};

extern struct world world;

/* The object's number in a line; -1, and a line in the trace, if it has none or one out of range. */
int world_number(const struct words *w, const char *kind);

/* A line of the trace, with the number of the program's line in front. */
void trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The result of a call: that of an int, or of a pointer, with the error's name. */
void trace_result(const char *call, int result);
void trace_pointer(const char *call, const void *pointer);

/* Name of an error; a static string. */
const char *error_name(int number);

/* The queue pair with that number in the adapter; -1 if none of the program's has it. */
int world_find_qp(uint32_t qpn);

#endif
