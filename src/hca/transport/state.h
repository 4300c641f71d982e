/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the transport (struct hca, hca/hca.h). Types only. */
#ifndef HCA_TRANSPORT_STATE_H
#define HCA_TRANSPORT_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/queue.h>

#include "fabric/id.h"
#include "fabric/lock.h"
#include "hca/device/table.h"
#include "hca/memory/lz4.h"
#include "util/heap.h"

#define TRANSPORT_DROP_REASONS 16

struct packet_filter;
struct packet_trace;
struct qp;
struct opener;
struct xrc_guest;

LIST_HEAD(qp_list, qp);

struct transport_state {
	struct {
		pthread_mutex_t lock; /* table (writing), all */
		struct hca_table table;
		struct qp_list all;
	} qps;
	struct {
		pthread_mutex_t lock; /* innermost */
		struct heap heap;
		size_t users; /* QPs for whose timer there is memory */
	} timers;
	struct {
		uint64_t due_ns; /* when to send acknowledgements that wait; service thread */
	} acks;
	struct {
		struct fabric_lock lock;
		LIST_HEAD(, xrc_guest) all;
	} xrc_guests;
	struct {
		pthread_mutex_t lock;
		LIST_HEAD(, opener) openers;
		pthread_mutex_t stand_in_lock;
		struct qp_list stand_ins;
	} xrc_open;
	struct {
		/* packet_filter.c; both NULL while there are none */
		_Atomic(const struct packet_filter *) rules;
		const struct packet_trace *trace; /* constant once there are queue pairs */
	} filter;
	/* The process whose full link was met last: threads that poll look whether it has room. */
	_Atomic fabric_id_t tx_wait_for;
	_Atomic(lz4_decompress_fn *) lz4; /* of liblz4 (mmo.c); NULL: not loaded */
	atomic_uint comp_cntrs;
	atomic_ullong xrcd_opened; /* domains that this process has opened: tells them apart */
	_Atomic uint64_t dropped[TRANSPORT_DROP_REASONS]; /* by enum drop_reason */
};

#define TRANSPORT_STATE_INIT                                                                       \
	{                                                                                          \
		.qps.lock = PTHREAD_MUTEX_INITIALIZER, .timers.lock = PTHREAD_MUTEX_INITIALIZER,   \
		.acks.due_ns = UINT64_MAX, .xrc_open.lock = PTHREAD_MUTEX_INITIALIZER,             \
		.xrc_open.stand_in_lock = PTHREAD_MUTEX_INITIALIZER,                               \
	}

#endif
