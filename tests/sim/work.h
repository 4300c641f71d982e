/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model of a request: what it may do to memory, how it may complete, the message that it
 * brings. Requests live until the end of their round.
 *
 * Memory is checked against sets: a byte of a target is that of the last request that has certainly
 * been carried out, or of a later one that may have been. Everything else is as it was.
 */
#ifndef TESTS_SIM_WORK_H
#define TESTS_SIM_WORK_H

#include "sim/sim.h"

#define STATUS_BIT(name) (1u << HCA_##name)

struct work {
	unsigned int op_index; /* of the program */
	struct end *end, *to;
	unsigned int life; /* of the end's connection */
	enum hca_op op;
	uint32_t index; /* in the send queue */
	bool signaled;
	enum { WORK_POSTED, WORK_DONE, WORK_DISCARDED } state;
	enum hca_status status;
	uint32_t expect; /* bits of statuses beside SUCCESS that it may complete with */
	bool must_fail;
	bool never_runs; /* nothing may happen at the other end */
	uint32_t length;
	struct span local[SPANS_MOST];
	unsigned int locals;
	bool inlined;
	uint8_t bytes[INLINE_MOST];
	bool uses_spare_here, uses_spare_there;
	/* the other end's memory */
	struct slice *target;
	unsigned int
		writer; /* of a write: its place in the slice; of a read: the first it may see */
	bool sees_base; /* a read may see the bytes from before the round */
	unsigned int counter, bit;   /* FETCH_ADD */
	struct swap_word *swap_word; /* CMP_SWAP, with its place among the values */
	unsigned int swap;
	/* through a memory window of the other end */
	bool through_window;
	unsigned int binding;
	/* a message, which takes a receive of `rq` */
	bool message, too_long;
	bool delivered, dead;
	bool lacks_receive; /* perhaps none was posted for it */
	struct rq *rq;
	enum hca_recv_kind kind;
	uint32_t imm;
	unsigned int copies;
};

struct work *work_new(struct end *end, enum hca_op op);
void work_free_all(void);
const char *work_name(const struct work *w);
const char *work_status_name(enum hca_status status);

/* The bytes that the request sends. Returns `out`, which has room for a message. */
const uint8_t *work_gather(const struct work *w, uint8_t *out);

/* The request is complete: checks the status and what it has done. */
void work_complete(struct work *w, enum hca_status status);
/* Requests without a completion: the queue pair was reset, or is gone. */
void work_discard_all(struct end *end);
void work_discard_receives(struct rq *rq);
/* A receiver may have had no receive for it. */
bool work_may_lack_receive(const struct work *w);
/* The end has failed, or its state was changed to an error. */
void work_end_failed(struct end *end);
/* Nothing can have kept it from arriving, even on an unreliable queue pair. */
bool work_is_certain(const struct work *w);
/* The last checks of a round: 1: it was carried out, -1: it was not, 0: nobody can say. */
int work_evidence(const struct work *w);

/* ---- slices ---- */

struct slice *slice_new(const struct span *at);
void slice_add_writer(struct slice *s, struct work *w);
/* Whether each byte is one that it may be. */
void slice_check(const struct slice *s);
void slice_free_all(void);

struct swap_word *swap_word_new(const struct span *at);
void swap_word_check(const struct swap_word *word);

#define MESSAGE_MOST (64u << 10)

#endif
