/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's state: one lock and all that it guards. The library does no data path work, so one
 * lock for ids, channels with their queues, ports and adapters is enough.
 */
#ifndef CM_STATE_H
#define CM_STATE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <sys/queue.h>
#include <time.h>

#include "cm/conn_types.h"
#include "cm/sidr_types.h"
#include "cm/signal.h"
#include "util/forksafe.h"
#include "util/hash.h"

struct cm_device;
struct cm_port_table;
struct cm_resolving;
struct hca_gsi_agent;

struct cm_state {
	pthread_mutex_t lock;
	struct forksafe forksafe;                       /* of lock */
	struct cm_signals signals;                      /* of channels, written by cm_unlock() */
	struct forksafe signals_forksafe;               /* of signals.write_lock */
	pthread_cond_t event_acked;                     /* signalled by rdma_ack_cm_event() */
	struct hash handles;                            /* handle.c: pointers handed out */
	struct cm_port_table *ports;                    /* port.c; NULL until the first bind */
	STAILQ_HEAD(cm_device_list, cm_device) devices; /* device.c */
	struct cm_device_list removed;                  /* dead ones, of which ids may be left */
	bool is_listed;                                 /* devices has been filled */
	bool had_devices;                               /* there has been an adapter */
	uint32_t presence_seen;                         /* hca_presence_changes() of that time */
	struct hca_gsi_agent *agent; /* agent.c: of queue pair 1; NULL until the first connection */
	struct conn_table conns;     /* conn.c */
	struct {
		uint64_t due_ns; /* 0: there is no connection with another host */
		uint32_t turn;
	} peers;                             /* peers.c */
	uint64_t changes_due_ns;             /* changes.c: 0: all are taken in */
	struct sidr_table sidrs;             /* sidr.c */
	LIST_HEAD(, cm_resolving) resolving; /* resolving.c */
};

extern struct cm_state cm;

static inline void cm_lock(void)
{
	pthread_mutex_lock(&cm.lock);
}

/* Also writes the signals that were raised under the lock. */
void cm_unlock(void);

/* The clock of all deadlines. */
static inline uint64_t cm_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
