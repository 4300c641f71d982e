/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_DEVICE_STATE_H
#define HCA_DEVICE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hca/device/adapter.h"
#include "hca/device/config.h"
#include "hca/device/interfaces.h"

struct hca_async;
struct hca_gid_entry;

/* A port as its interfaces were when they were last read. */
struct port_table {
	bool built;
	bool up;
	struct host_interface base; /* the interface behind the port; index 0: none */
	struct hca_gid_entry *entries;
};

/* A link of a bond. */
struct lag_link {
	_Atomic uint32_t ifindex;
	_Atomic bool up;
	_Atomic uint8_t mapped; /* the link that its affinity stands for; 0: itself */
};

struct device_state {
	struct {
		pthread_mutex_t lock;
		bool built;
		struct hca_config config;
		const struct hca_adapter *list[HCA_ADAPTERS_MAX];
	} adapters;

	/* of hardware addresses of interfaces, and of adapters that are present */
	_Atomic uint32_t changes;

	struct {
		_Atomic uint32_t absent;  /* a bit per adapter */
		_Atomic uint32_t changes; /* of absent */
	} presence;

	struct {
		atomic_uint last_domain; /* number of the context that was opened last */
	} ctx;

	struct {
		pthread_mutex_t lock; /* guards the list and every queue's tap */
		LIST_HEAD(, hca_async) queues;
	} async;

	struct {
		/* 0: not asked for yet. A LID never changes while its directory lives. */
		_Atomic uint16_t known[HCA_ADAPTERS_MAX][HCA_PORTS_MAX];
	} lid;

	struct {
		pthread_mutex_t lock; /* guards all but the counter and the flag */
		int watch_fd;         /* netlink socket of the service thread, or -1 */
		struct port_table table[HCA_ADAPTERS_MAX][HCA_PORTS_MAX];
		_Atomic uint32_t gid_changes;
		_Atomic bool wake_on_change; /* hca_port_wake_on_change() was called */
	} port;

	struct {
		atomic_uint next; /* affinities that were given */
		struct lag_link link[HCA_ADAPTERS_MAX][HCA_LAG_LINKS];
	} lag;

	struct {
		pthread_mutex_t lock;
		uint32_t *free; /* a queue: the number that was released last is used last */
		size_t head, count, room;
	} qpns;
};

#define DEVICE_STATE_INIT                                                                          \
	{                                                                                          \
		.adapters.lock = PTHREAD_MUTEX_INITIALIZER,                                        \
		.async.lock = PTHREAD_MUTEX_INITIALIZER, .port.lock = PTHREAD_MUTEX_INITIALIZER,   \
		.port.watch_fd = -1, .qpns.lock = PTHREAD_MUTEX_INITIALIZER,                       \
	}

#endif
