/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State of the checker, one per process. Locks nest in the order in which they stand here; report_lock is
 * innermost. None of them is held while libibverbs is called, but for those of a queue (queue.h), which are
 * held while a request is handed on.
 */
#ifndef CHECK_STATE_H
#define CHECK_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/forksafe.h"
#include "util/hash.h"

struct check_place;
struct check_cq;
struct check_qp;
struct check_srq;
struct check_dead;
struct check_retired;
struct check_cycle;
struct check_rule;
struct check_context;

#define CHECK_LOCKS  4
#define CHECK_PLACES 4096 /* a power of two; stacks beyond these are told as unknown */

struct check_state {
	pthread_mutex_t queue_lock; /* the lists of queues */
	LIST_HEAD(, check_qp) qps;
	LIST_HEAD(, check_srq) srqs;
	LIST_HEAD(, check_cq) cqs;
	struct hash qp_numbers;
	/* Structs of destroyed queues. Never freed: a thread that polls may still look at one. */
	LIST_HEAD(, check_qp) free_qps;

	pthread_mutex_t object_lock;
	struct hash objects; /* live ones, by address */
	struct hash retired; /* destroyed ones whose memory is kept, by address */
	TAILQ_HEAD(, check_retired) retired_order;
	unsigned int retired_count;
	LIST_HEAD(, check_dead) dead_contexts;
	struct check_context *contexts;

	pthread_mutex_t memory_lock;
	struct hash regions;      /* by index of the key */
	struct hash gone_regions; /* deregistered lately, by key */
	struct hash cycles;       /* objects made again and again, by place and attributes */
	unsigned int cycle_count;

	atomic_uint region_count; /* of this process */
	atomic_uint region_epoch; /* changes with the table of regions */
	/* of the first fork that was not prepared; NULL: there was none */
	const struct check_place *_Atomic forked_at;
	atomic_uint forked_regions;

	pthread_mutex_t report_lock;
	struct hash told; /* findings, by id and place */
	unsigned int told_count, note_count;
	int records; /* descriptor of the file for the verbena command, or -1 */
	struct check_rule *suppressions;

	_Atomic(struct check_place *) places[CHECK_PLACES]; /* by the caller's address */
	atomic_uint place_count;
	atomic_ullong clock;     /* counts posts and completions */
	atomic_ullong datagrams; /* posted with an address handle */
	atomic_ullong answered;  /* clock of the last datagram that the program got */
	atomic_ullong posts;     /* of all kinds */
	uint64_t adversary;      /* seed; 0: none */
	atomic_ullong random;    /* state of its random numbers */
	struct forksafe forksafe[CHECK_LOCKS];
};

extern struct check_state check;

#endif
