/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulation: hosts on a network in memory, their objects, and what the reference model knows
 * of each. A host is a context of its own with an address of its own; all of them live in this
 * process and this thread, and reach each other by packets only. One noun per file: net (packets
 * and time), ring (the ring format), host, end (queue pairs), shape and program (what a seed
 * decides), post, draft and spoil (requests), work and slice (the model of requests and of memory),
 * completion, settle (the end of a round), trace, mutation, alloc, shrink.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hca/device/ctx.h"
#include "hca/memory/mr.h"
#include "hca/memory/mw.h"
#include "hca/transport/hca_qp.h"
#include "roce/addr.h"

#include "sim/rng.h"

struct roce_fault;

#define SPANS_MOST   4u
#define WRITERS_MOST 4u
#define INLINE_MOST  64u
#define COUNTERS     4u  /* words of a host that FETCH_ADD changes */
#define ADDS_MOST    32u /* FETCH_ADDs of a counter in a round: each has a bit of its own */

/*
 * Entries of a completion queue that random requests and receives leave, so that a round can end.
 */
#define CQ_SPARE_SEND 2u
#define CQ_SPARE_RECV 6u

struct end;
struct host;
struct work;

/* Bytes of a host's memory. */
struct span {
	struct host *host;
	uint32_t off, len;
};

/* Memory that requests of one queue pair at most change in a round; the model is in slice.c. */
struct slice {
	struct span at;
	struct work *writer[WRITERS_MOST]; /* in the order of the send queue */
	unsigned int writers;
};

/* A word that CMP_SWAPs of one connection change, and its value after each of them. */
struct swap_word {
	struct span at;
	uint64_t value[ADDS_MOST + 1];
	unsigned int count, done; /* posted; behind the last that is certainly done */
};

enum region_kind {
	REGION_DATA,
	REGION_WINDOW,    /* for memory windows, which keep it from being deregistered */
	REGION_SPARE,     /* deregistered while it is in use */
	REGION_READ_ONLY, /* for peers */
	REGION_RECV,
	REGIONS,
};

struct region {
	uint32_t off, len, used;
	struct hca_mr *mr;
	uint32_t key;    /* of the last registration */
	bool gone;       /* deregistered in this round */
	uint8_t *frozen; /* its bytes then, or NULL */
};

struct cq {
	struct host *host;
	struct hca_cq *hca;
	uint32_t size;
	struct hca_cqe *done;
	uint32_t completed, taken;
	uint32_t reserved; /* entries that requests and receives may still fill */
};

struct recv {
	bool posted;
	struct hca_sge sge[3];
	unsigned int sges;
	uint32_t off, len;
	uint32_t next; /* of a shared queue: the slot that is posted after this one */
};

/* A receive queue, of a queue pair or shared. */
struct rq {
	unsigned int index; /* of shared ones */
	struct host *host;
	struct cq *cq;
	struct hca_srq *srq; /* NULL: of a queue pair */
	bool shared;
	enum hca_srq_type type;
	uint32_t srqn; /* of the last queue with this place */
	uint32_t size, off, stride;
	struct recv *slot;
	uint32_t posted, taken; /* `taken`: of a queue pair's own, completed in this order */
	/*
	 * shared: slots that are free, in the order in which they will be posted; the last one
	 * stays free
	 */
	uint32_t first_free, last_free;
	uint32_t consumed;
	uint32_t owed; /* messages posted to it and not received */
	bool scarce;   /* of several senders: some message had no receive in this round */
	bool loose;    /* a message may have ended in the middle: bytes of buffers may differ */
	unsigned int orphans; /* entries that a reset may have taken without a completion */
};

/* A memory window of type 2, of the end that binds it for its peer. */
struct window_model {
	struct hca_mw *mw;
	struct span at;
	uint32_t used; /* of its bytes, by targets of writes */
	uint32_t key;
	enum { MW_IDLE, MW_BINDING, MW_BOUND, MW_ENDING } state;
	unsigned int binding; /* counts binds: writes through an earlier one must fail */
};

struct sq_slot {
	struct work *work;
	enum hca_op op;
	bool signaled, solicited, fence;
	uint32_t imm, rkey, feth, dqpn, qkey, xrc_srqn;
	uint64_t raddr, compare, swap, dc_key, length;
	struct hca_gid dgid;
	struct hca_bind bind;
	unsigned int sges;
	struct hca_sge sge[SPANS_MOST];
	uint8_t bytes[INLINE_MOST];
};

/* A queue pair. */
struct end {
	unsigned int index;
	enum hca_qp_type type;
	struct host *host;
	struct end *peer; /* of connected types */
	struct hca_qp *hca;
	uint32_t qpn; /* of the last queue pair with this place */
	struct cq *send_cq, *recv_cq;
	struct rq *rq; /* or NULL */
	struct sq_slot *slot;
	uint32_t slots, posted, done;
	/* attributes */
	uint8_t path_mtu, timeout, retry_cnt, rnr_retry, min_rnr_timer, rd_atomic;
	bool out_of_order;
	uint32_t psn;
	uint32_t message_most;
	unsigned int life; /* counts connections */
	/* the model: reasons for failures */
	bool trouble;     /* the peer may be out of reach: RETRY_EXC_ERR */
	bool fail_ok;     /* the queue pair may fail without a request of its own that fails */
	bool failed;      /* the state was changed to an error, or one was seen */
	bool unexplained; /* a receive was flushed; the reason may not be polled yet */
	bool flushing;    /* a request has failed: all later ones are flushed */
	bool drained;     /* in SQD by the program */
	/* messages that are on their way here, in the order of posting */
	struct work **inbox;
	unsigned int inbox_count, inbox_room;
	struct swap_word *swap;   /* that its CMP_SWAPs change; NULL: none yet */
	struct slice *last_slice; /* the last target of a write */
	struct window_model window;
};

struct host {
	struct hca_ctx ctx; /* first */
	unsigned int index;
	struct hca_pd *pd;
	uint8_t *mem, *shadow; /* the bytes, and those that the model expects */
	uint32_t bytes;
	struct region region[REGIONS];
	struct roce_addr addr;
	struct roce_fault *fault;
	uint64_t down_until_ns;
	bool gone;                                  /* vanished in this round */
	bool trouble;                               /* its link was down in this round */
	uint64_t added[COUNTERS], adding[COUNTERS]; /* bits: certainly, perhaps */
	unsigned int adds[COUNTERS];
};

/* The parts of a simulation that the seed decides before the first operation. */
struct shape {
	unsigned int hosts, ends, rqs, cqs, rounds, ops;
	bool stormy;   /* state changes, deregistrations, flaps and hosts that vanish */
	bool harsh;    /* so many losses that retries may run out */
	bool starved;  /* allocations fail */
	bool rnr;      /* the faults have RNR NAKs */
	bool lossless; /* no faults at all */
	uint64_t delay_ns, jitter_ns;
	const char *script;
};

struct sim {
	uint64_t seed;
	struct shape shape;
	struct host *host;
	struct end *end;
	struct rq *rq; /* shared ones first, then those of ends */
	struct cq *cq;
	struct slice **slice;
	unsigned int slices, slice_room;
	struct swap_word **swap;
	unsigned int swaps, swap_room;
	struct work **work;
	unsigned int works, work_room;
	unsigned int op;                               /* that runs */
	bool settled;                                  /* everything has arrived */
	uint64_t done[HCA_OP_COUNT], received, errors; /* completions, for the report */
};

extern struct sim sim;

/* A broken promise: prints the seed and the reason, and does not return. */
_Noreturn void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define SIM_CHECK(condition, ...)                                                                  \
	do {                                                                                       \
		if (!(condition))                                                                  \
			sim_fail(__VA_ARGS__);                                                     \
	} while (0)

#endif
