/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the wire (struct hca, hca/hca.h). Types only. */
#ifndef HCA_WIRE_STATE_H
#define HCA_WIRE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hca/device/adapter.h"
#include "util/scramble.h"

#define WIRE_REFUSALS     8
#define WIRE_GSI_COUNTERS 7 /* HCA_GSI_COUNTERS */

struct forward_waiting;
struct gsi_host;
struct gsi_sender;
struct gsi_unclaimed;
struct hca_gsi_agent;
struct roce_inspect;
struct wire_membership;
struct wire_port;

/* An address that could not be opened. */
struct wire_refusal {
	uint8_t gid[16];
	uint64_t until_ns;
	int err;
};

struct wire_state {
	_Atomic bool is_polled;             /* there is a port that polling threads receive from */
	bool is_forced;                     /* every path takes the wire */
	const struct roce_inspect *inspect; /* capture and faults of endpoints */
	struct {
		pthread_mutex_t lock; /* list (writing), refusals */
		_Atomic(struct wire_port *)
			first; /* only grows, until a fork empties it in the child */
		struct wire_refusal refused[WIRE_REFUSALS];
		unsigned int refused_next;
		_Atomic bool owner_reported; /* that another program owns the UDP port */
	} ports;
	struct {
		_Atomic bool any; /* port of an adapter, or group */
		_Atomic bool on[HCA_ADAPTERS_MAX][HCA_PORTS_MAX];
		_Atomic bool polled[HCA_ADAPTERS_MAX]
				   [HCA_PORTS_MAX]; /* not for queue pair 1 alone */
		_Atomic int attempts;               /* left */
		uint32_t gid_changes;               /* seen; with the next, service thread */
		_Atomic uint64_t next_ns;           /* attempt */
	} listen;
	struct {
		pthread_mutex_t lock; /* outside of those of ports and GID tables */
		LIST_HEAD(, wire_membership) memberships;
	} group;
	struct {
		pthread_mutex_t lock; /* outside of a link's send lock */
		TAILQ_HEAD(, forward_waiting) waiting;
		size_t bytes; /* of the records that wait */
	} forward;
	struct {
		_Atomic uint32_t
			misdelivered; /* packets that another process forwarded to this one */
	} reuseport;
	struct {
		pthread_mutex_t lock;     /* agents, senders, hosts */
		pthread_mutex_t run_lock; /* an agent's function runs */
		LIST_HEAD(, hca_gsi_agent) agents;
		LIST_HEAD(, gsi_sender) senders;
		LIST_HEAD(, gsi_host) hosts; /* of peers */
		STAILQ_HEAD(, gsi_unclaimed)
		unclaimed; /* requests for services that no process offers */
		unsigned int unclaimed_count;
		atomic_uint waiting;   /* MADs for the service thread */
		uint32_t changes_seen; /* of device.changes; service thread */
		atomic_uint last_serial;
		struct scramble ids; /* from serial numbers to ids */
		_Atomic uint64_t counters[WIRE_GSI_COUNTERS];
	} gsi;
	struct {
		_Atomic uint64_t cnps_sent, cnps_received;
	} congestion;
	_Atomic uint64_t port_user[64]; /* by port: users that were found (wire_source.c) */
	_Atomic uint64_t port_looks;    /* how often users were looked up (wire_source.c) */
};

#define WIRE_STATE_INIT                                                                            \
	{                                                                                          \
		.ports.lock = PTHREAD_MUTEX_INITIALIZER, .group.lock = PTHREAD_MUTEX_INITIALIZER,  \
		.forward.lock = PTHREAD_MUTEX_INITIALIZER,                                         \
		.forward.waiting = TAILQ_HEAD_INITIALIZER(hca.wire.forward.waiting),               \
		.gsi.lock = PTHREAD_MUTEX_INITIALIZER, .gsi.run_lock = PTHREAD_MUTEX_INITIALIZER,  \
		.gsi.unclaimed = STAILQ_HEAD_INITIALIZER(hca.wire.gsi.unclaimed),                  \
	}

#endif
