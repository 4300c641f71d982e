/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of this room (struct hca, hca/hca.h). Types only. Parts that a forked child gets anew
 * have a type and an initial value of their own (engine/fork.c).
 */
#ifndef HCA_QUEUE_STATE_H
#define HCA_QUEUE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hca/device/table.h"
#include "util/array.h"
#include "util/heap.h"

struct doorbell_source;
struct hca_channel;
struct cq_alias_place;
struct hca_cq_alias;
struct hca_uar;
struct uar_place;

/* The watch over raw rings: doorbell_watch.c explains the states. */
struct doorbell_watch_state {
	/* read and written without the lock */
	_Atomic bool looking;   /* something is watched, and pages are open or there are none */
	_Atomic bool rx_seen;   /* a link had received records; cleared while spinning */
	_Atomic bool qp_failed; /* a QP is in the error state: receives posted to it ring nothing */
	_Atomic uint64_t found_ns; /* when a look found something last */

	/* guarded by watch_lock */
	ARRAY_OF(struct doorbell_source *) posts; /* queue pairs */
	ARRAY_OF(struct doorbell_source *) arms;  /* completion queues */
	struct hca_table posts_by_number;         /* read in epoch sections as well */
	struct hca_table arms_by_number;
	uint32_t without_page; /* watched queues whose programs need not write to a page */
	uint32_t polls;        /* looks of polling threads, */
	uint32_t polls_seen;   /* and how many there were at the service thread's last look */
	bool closed;           /* all pages are closed, and no thread looks */
	bool just_opened;      /* a page was opened in this turn of the service thread */
	bool store_pending;    /* ... and nothing was posted: the store itself will say */
	uint64_t
		run_at_ns; /* the service thread looks then, at the latest; UINT64_MAX: it sleeps */
	uint64_t burst_ns; /* when a page was left open for a burst */

	/* service thread only */
	uint64_t open_ns;  /* how long a page stays open if nothing else happens */
	uint64_t due_ns;   /* time for which the next look is set; 0: none */
	uint64_t late_ns;  /* by how much timers are late, as a moving average */
	uint64_t shown_ns; /* when to check pages in files (uar.h) next */
};

#define DOORBELL_WATCH_STATE_INIT                                                                  \
	{                                                                                          \
		.open_ns = 5000, .shown_ns = UINT64_MAX, .run_at_ns = UINT64_MAX                   \
	}

#define UAR_PLACE_LISTS 64u

/* Doorbells that are signals on their threads (doorbell_trap.c). */
struct doorbell_trap_state {
	_Atomic bool tried; /* to install the handler */
	_Atomic bool on;    /* it is installed: pages are closed by it from now on */
	/* constant once `on` is set */
	void *pass;             /* verbena_signal_pass() of tools/facade/signal.c */
	uint32_t upper_vectors; /* access_store.h */
	uint64_t burst_gap_ns;  /* between doorbells of a burst, at most */
	/* while that is measured */
	uint8_t *probe;
	uint64_t probe_ns;
	_Atomic uint32_t entries;      /* of completion queues that programs poll by hand */
	_Atomic uint32_t rx;           /* receptions from links */
	_Atomic uint32_t rx_at_ring;   /* the same at the last doorbell after one */
	_Atomic uint32_t rx_at_poll;   /* the same at the last trapped poll */
	_Atomic uint64_t rx_ns;        /* when trapped polls found a reception last */
	_Atomic uint32_t entries_seen; /* entries at the last trapped poll */
	_Atomic uint32_t wait_ns;      /* that a trapped poll waits for an entry */
	_Atomic bool in_vain;          /* the last one did so in vain */
	_Atomic bool
		given; /* a trapped poll has found a new entry, and no doorbell has come since */
	_Atomic uint64_t rung_ns; /* end of the last doorbell */
	/* Aliases, changed with watch_lock held: */
	_Atomic(struct hca_cq_alias *) trapped; /* its polls are signals; or NULL */
	_Atomic(struct hca_cq_alias *) opened; /* they shall be when messages come again; or NULL */
	_Atomic(struct hca_cq_alias *) pair[2]; /* of the queue pair that has rung last */
	_Atomic uint32_t rx_at_open;            /* receptions when it was opened */
	_Atomic uint64_t burst_ns;              /* when a burst was interrupted */
	_Atomic uint32_t streak;                /* doorbells that followed each other at once */
	_Atomic(struct uar_place *) places[UAR_PLACE_LISTS];
};

struct uar_state {
	LIST_HEAD(, hca_uar) all;
	LIST_HEAD(, hca_uar) pages; /* those that are watched */
	uint32_t last_id;           /* of any page */
};

struct cq_alias_state {
	LIST_HEAD(, hca_cq_alias) list;
	_Atomic(struct cq_alias_place *)
		places; /* of those whose reads can be signals; read without the lock */
};

struct uffd_state {
	int fd;         /* or -1 */
	bool tried;     /* opening it was tried */
	bool has_minor; /* the kernel also reports minor faults of shared memory */
};

#define UFFD_STATE_INIT                                                                            \
	{                                                                                          \
		.fd = -1                                                                           \
	}

#define SPIN_BAN_NS 50000000ull /* the first ban; each further one takes twice as long */

/* Service thread only. */
struct spin_policy_state {
	bool idle_processor;
	uint64_t check_at_ns, banned_until_ns, ban_ns, undisturbed_ns;
	/* spin_is_room() */
	_Atomic uint64_t room_check_ns, no_room_ns;
	_Atomic uint32_t crowded;
	_Atomic bool is_room;
};

#define SPIN_POLICY_STATE_INIT                                                                     \
	{                                                                                          \
		.ban_ns = SPIN_BAN_NS, .no_room_ns = SPIN_BAN_NS, .is_room = true                  \
	}

struct queue_state {
	_Atomic uint32_t rx_seq; /* read inline by drivers (rx_seq.h) */

	struct {
		pthread_mutex_t
			lock; /* guards the table, and that a queue that goes gets no user */
		struct hca_numbers numbers;
		struct hca_table table;
	} cq;

	struct {
		pthread_mutex_t run_lock; /* held while held-back events are sent; outside a CQ's */
		pthread_mutex_t lock;     /* guards the heap; innermost */
		struct heap due;          /* CQs with an event that is held back */
	} cq_moderation;

	struct {
		pthread_mutex_t lock;
		LIST_HEAD(, hca_channel) list;
	} channel;

	struct {
		pthread_mutex_t lock;
		struct hca_table table;
		uint64_t last_serial;
	} srq;

	struct doorbell_trap_state doorbell_trap;
	pthread_mutex_t watch_lock; /* guards the next four; outside of a QP's and a CQ's lock */
	struct doorbell_watch_state doorbell_watch;
	struct uar_state uar;
	struct cq_alias_state cq_alias;
	struct uffd_state uffd;

	struct spin_policy_state spin_policy;
};

#define QUEUE_STATE_INIT                                                                           \
	{                                                                                          \
		.cq = { .lock = PTHREAD_MUTEX_INITIALIZER,                                         \
			.numbers = { .first = 1, .limit = 1u << 24 } },                            \
		.cq_moderation = { .run_lock = PTHREAD_MUTEX_INITIALIZER,                          \
				   .lock = PTHREAD_MUTEX_INITIALIZER },                            \
		.channel.lock = PTHREAD_MUTEX_INITIALIZER, .srq.lock = PTHREAD_MUTEX_INITIALIZER,  \
		.watch_lock = PTHREAD_MUTEX_INITIALIZER,                                           \
		.doorbell_watch = DOORBELL_WATCH_STATE_INIT, .uffd = UFFD_STATE_INIT,              \
		.spin_policy = SPIN_POLICY_STATE_INIT,                                             \
	}

#endif
