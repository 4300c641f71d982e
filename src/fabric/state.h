/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything that the fabric keeps for the process, in one struct. Each member belongs to the file
 * that it names, which alone uses it, unless it says otherwise; fork.c takes all locks around a fork.
 *
 * Locks, outermost first: service.awake, the locks of the adapter (config.before_fork), init_lock,
 * links.lock, service.lock, service.timer_lock, directory.lock, epoch.reclaim_lock,
 * links.allocated_lock, epoch.retired_lock. Locks of struct epoch_cells are innermost; the child of a
 * fork makes them anew.
 */
#ifndef FABRIC_STATE_H
#define FABRIC_STATE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "fabric/config.h"
#include "fabric/folder.h"
#include "fabric/id.h"
#include "fabric/lock.h"
#include "fabric/segment_head.h"
#include "util/array.h"

struct dir_file;
struct fabric_link;
struct fabric_link_cold;
struct handshake_inbound;
struct service_watch;
struct service_work;
struct share_state;

/* epoch.h: a member of an object that is freed when no section can still use it */
struct epoch_node {
	struct epoch_node *next;
	void (*free)(struct epoch_node *node);
};

#define EPOCH_CELL_WORDS (EPOCH_CELLS / 64)

/* epoch_cells.c: cells of an area that have a thread, a bit each, and words without a free one */
struct epoch_cells {
	struct fabric_lock lock;
	uint64_t full[EPOCH_CELL_WORDS / 64];
	uint64_t taken[EPOCH_CELL_WORDS];
};

/* epoch.c: a section that was open at one moment */
struct epoch_section {
	const struct epoch_cell *cell;
	uint64_t section;
};

/* poll_set.c: the links that polling threads look at; replaced rather than changed */
struct fabric_poll_set {
	struct epoch_node epoch;
	uint32_t count;
	bool doubled; /* a link is there more than once */
	_Atomic(struct fabric_link *) link[];
};

/* poll.h: read and written on each poll */
struct fabric_poll {
	/* Incremented by all polling threads without care for lost counts: it only has to move. */
	_Alignas(64) _Atomic uint32_t count;
	_Atomic uint32_t base;       /* the count when polling stopped last */
	_Atomic uint64_t checked_ns; /* when the service thread checked the count last */
	_Atomic(struct fabric_page *) page;
	_Alignas(64) _Atomic(struct fabric_poll_set *) set;
};

/* poll.c: the service thread's last look at the poll counter */
struct fabric_poll_check {
	bool on;
	uint32_t count;
	uint64_t since_ns;
	uint64_t period_ns;
	uint64_t cpu_ns;     /* CPU time of the thread by then */
	uint32_t iterations; /* of the thread since then */
};

/* epoch.c; epoch.h reads `generation` with each section */
struct fabric_epoch {
	/* Changes with the area. Bit 0, which no thread has: marks have to be fenced, because some
	 * process that waits for our sections has no membarrier. */
	_Alignas(64) _Atomic uint32_t generation;
	/* Where threads mark their sections: in the segment, or in `private` without one. */
	_Atomic(struct epoch_area *) area;
	_Atomic(struct epoch_area *) private;

	_Atomic uint32_t
		key_and_1; /* 0: none yet; its destructor frees the cell of a thread that ends */

	struct fabric_lock retired_lock;
	struct epoch_node *retired;
	_Atomic bool some_retired;

	/* One grace period at a time: objects that wait for it, and the sections that are open. */
	struct fabric_lock reclaim_lock;
	struct epoch_node *waiting;
	ARRAY_OF(struct epoch_section) sections;

	struct epoch_cells area_cells, private_cells;
};

/* barrier.c */
struct fabric_barrier {
	_Atomic bool has_private, has_global;
};

/* directory.c */
struct fabric_directory {
	pthread_mutex_t lock;     /* outside of the OFD lock, which does not exclude threads */
	uint64_t lock_timeout_ns; /* a constant, except in tests */
	int fd;
	struct folder_file place;
	_Atomic(struct dir_file *) file;
	_Atomic fabric_id_t self;
};

/* segment.c */
struct fabric_segment {
	void *base;
	uint64_t size;
	int fd;
};

/* mailbox.c */
struct fabric_mailbox {
	void *base;
	uint64_t size;
	int fd;
};

/* link.c and link_service.c */
struct fabric_links {
	pthread_mutex_t lock; /* of by_slot; for look-ups only */
	struct fabric_link *by_slot[FABRIC_SLOTS];
	uint32_t slots; /* slots from here on have had no link */

	/* Every link that is not freed, for the child of a fork. */
	struct fabric_lock allocated_lock;
	LIST_HEAD(, fabric_link_cold) allocated;

	/* Used by the service thread only. */
	LIST_HEAD(, fabric_link_cold) active; /* CONNECTING or UP */
	bool some_connecting, some_want_room;

	_Atomic bool flagged; /* some link has kill or want_room set */
};

/* handshake.c; used by the service thread only */
struct fabric_handshake {
	int listener;
	bool listener_paused;
	uint64_t listener_retry_ns;
	LIST_HEAD(, handshake_inbound) inbound; /* connections whose HELLO has not come yet */
};

/* service.c */
struct fabric_service {
	pthread_mutex_t awake; /* held by the thread whenever it does not sleep, for fork */
	pthread_mutex_t lock;  /* of work, watches and starting the thread; not during callbacks */
	pthread_cond_t callback_done;
	pthread_t thread;
	_Atomic bool running; /* set and cleared under lock */
	_Atomic bool stop;
	int epoll, wake, timer;
	_Atomic bool wake_pending;
	STAILQ_HEAD(, service_work) work;
	ARRAY_OF(struct service_watch) watches;
	size_t in_callback;            /* index of a watch, or SIZE_MAX */
	struct fabric_lock timer_lock; /* of armed_ns and the timerfd */
	_Atomic uint64_t armed_ns;
	uint64_t (*iterate)(uint64_t now_ns);
	void (*finish)(void);
	cpu_set_t cpus; /* of the process when it was loaded */
	bool cpus_known;
};

struct fabric {
	struct fabric_poll poll;
	struct fabric_poll_check poll_check;
	struct fabric_epoch epoch;
	struct fabric_barrier barrier;
	struct fabric_config config; /* written by fabric_init(), read everywhere */

	/* fabric.c */
	pthread_mutex_t init_lock;
	bool fork_watched; /* fork.c; under init_lock */
	_Atomic bool up;

	struct fabric_directory directory;
	struct fabric_segment segment;
	struct fabric_mailbox mailbox;
	struct fabric_links links;
	struct fabric_handshake handshake;
	struct fabric_service service;

	/* share_state.c */
	_Atomic(struct share_state *) share;
};

extern struct fabric fabric;

/* State of the poll path while the fabric is down: nothing to poll, and no peer to notify. */
extern const struct fabric_page fabric_no_page;
extern const struct fabric_poll_set fabric_no_links;

#endif
