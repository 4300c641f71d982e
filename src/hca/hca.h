/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter state of a process: one member per room, defined in engine/hca.c. A room uses its own
 * member only, and other rooms by their functions; a forked child gets all of it anew in one place
 * (engine/fork.c).
 */
#ifndef HCA_HCA_H
#define HCA_HCA_H

#include <stdatomic.h>
#include <stdint.h>

#include "hca/device/state.h"
#include "hca/engine/state.h"
#include "hca/inspect/state.h"
#include "hca/memory/state.h"
#include "hca/peers/state.h"
#include "hca/queue/state.h"
#include "hca/raw/state.h"
#include "hca/transport/state.h"
#include "hca/wire/state.h"
#include "util/api.h"

/* Time is handed in, so that tests run the transport in virtual time. */
struct hca_clock {
	uint64_t (*now_ns)(void);  /* monotonic */
	uint32_t (*wall_ms)(void); /* of the calendar: goes on when the host is started anew */
	uint32_t (*random)(void);  /* what no stranger can foresee */
	/* Timers are run at this time at the latest, by the service thread. Any thread. */
	void (*wake_at)(uint64_t at_ns);
};

struct failure_ops;
struct hca_checker;
struct network;
struct observer;
struct packet_filter;
struct peer_listener;
struct raw_qp_ops;
struct wire_port_events;

/* Functions of higher rooms that lower rooms call. */
struct hca_ops {
	/* Joins the host's fabric, once per process and again in a forked child (engine/host.c). */
	int (*join)(void);
	/* Copies for peers are served from now on (memory/copy_server.c). */
	void (*serve_copies)(void);
	/* Takes in what peers have sent; the program is about to sleep (engine/poll.h). */
	void (*poll)(void);
	void (*poll_pause)(void);
};

struct hca {
	/* interfaces that lower rooms call and higher rooms implement */
	const struct hca_clock *clock;
	const struct hca_ops *ops;
	const struct network *network;                     /* transport/network.h */
	const struct raw_qp_ops *raw_qp;                   /* transport/raw_qp_ops.h */
	const struct failure_ops *failures;                /* transport/failure.h */
	const struct wire_port_events *wire_events;        /* wire/wire_port.h */
	const struct peer_listener *const *peer_listeners; /* peers/peer_types.h; NULL ends them */
	_Atomic(const struct observer *) observer;         /* transport/observer.h; NULL: none */
	_Atomic(const struct packet_filter *)
		packet_filter;             /* transport/packet_filter.h; NULL: none */
	const struct hca_checker *checker; /* device/checker.h; set when a queue is checked */
	/* the rooms */
	struct device_state device;
	struct peers_state peers;
	struct memory_state memory;
	struct queue_state queue;
	struct transport_state transport;
	struct wire_state wire;
	struct raw_state raw;
	struct inspect_state inspect;
	struct engine_state engine;
};

VB_API extern struct hca hca;

static inline uint64_t hca_now_ns(void)
{
	return hca.clock->now_ns();
}

static inline void hca_wake_at(uint64_t at_ns)
{
	hca.clock->wake_at(at_ns);
}

#endif
