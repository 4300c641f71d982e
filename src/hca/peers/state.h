/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_PEERS_STATE_H
#define HCA_PEERS_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "fabric/id.h"
#include "hca/peers/rpc_types.h"

struct hca_peer;
struct hca_segment;
struct rpc_pending;

/* A process that did not answer a handshake. */
struct peer_unreachable {
	_Atomic fabric_id_t id;
	_Atomic uint64_t until_ns;
};

struct peers_state {
	/* this process's own; set once the fabric is joined */
	struct hca_segment *segment;
	_Atomic bool no_membarrier; /* threads that post receives must fence themselves */
	struct {
		pthread_mutex_t lock;   /* by_slot (writing), leaving */
		pthread_cond_t changed; /* a link came up, or could not be made */
		_Atomic(struct hca_peer *) by_slot[FABRIC_SLOTS];
		_Atomic uint32_t end;     /* slots from here on have had no peer */
		struct hca_peer *leaving; /* not in by_slot any more, and not freed yet; or NULL */
		struct peer_unreachable unreachable[FABRIC_SLOTS]; /* by slot of the id */
		bool vm_allowed; /* process_vm_readv() may be used: VERBENA_VM is not "off" */
	} peer;
	struct {
		pthread_mutex_t lock;
		pthread_cond_t replied;
		LIST_HEAD(, rpc_pending) pending;
		uint32_t last_serial;
		hca_rpc_fn *handler[HCA_RPC_VERBS];
	} rpc;
	struct {
		void (*_Atomic fn)(void);
		_Atomic pid_t process; /* that set it: a child of vfork() must not call it */
	} process_exit;
};

#define PEERS_STATE_INIT                                                                           \
	{                                                                                          \
		.segment = NULL, .no_membarrier = true, .peer.lock = PTHREAD_MUTEX_INITIALIZER,    \
		.peer.changed = PTHREAD_COND_INITIALIZER, .rpc.lock = PTHREAD_MUTEX_INITIALIZER,   \
		.rpc.replied = PTHREAD_COND_INITIALIZER,                                           \
	}

#endif
