/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events of one open context: a queue and an eventfd that counts it, so that the
 * program's poll, epoll and O_NONBLOCK on the descriptor mean what they mean on a real one.
 *
 * An event concerns a port, or an object that the program knows by its public handle (element).
 * Before an object is destroyed its events are withdrawn (hca_async_forget); the library waits for
 * the acknowledgement of events that were already handed out.
 */
#ifndef HCA_ASYNC_H
#define HCA_ASYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hca/device/adapter.h"

/* Numbers as enum ibv_event_type has them; verbs/event.c asserts so. */
enum hca_event_type {
	HCA_EVENT_CQ_ERR,
	HCA_EVENT_QP_FATAL,
	HCA_EVENT_QP_REQ_ERR,
	HCA_EVENT_QP_ACCESS_ERR,
	HCA_EVENT_COMM_EST,
	HCA_EVENT_SQ_DRAINED,
	HCA_EVENT_PATH_MIG,
	HCA_EVENT_PATH_MIG_ERR,
	HCA_EVENT_DEVICE_FATAL,
	HCA_EVENT_PORT_ACTIVE,
	HCA_EVENT_PORT_ERR,
	HCA_EVENT_LID_CHANGE,
	HCA_EVENT_PKEY_CHANGE,
	HCA_EVENT_SM_CHANGE,
	HCA_EVENT_SRQ_ERR,
	HCA_EVENT_SRQ_LIMIT_REACHED,
	HCA_EVENT_QP_LAST_WQE_REACHED,
	HCA_EVENT_CLIENT_REREGISTER,
	HCA_EVENT_GID_CHANGE,
	HCA_EVENT_WQ_FATAL,
};

struct hca_event {
	enum hca_event_type type;
	int port;      /* for port events, else 0 */
	void *element; /* for object events, else NULL */
};

#define HCA_ASYNC_BUCKETS 256u

struct async_entry;

struct hca_async {
	int fd; /* eventfd in semaphore mode: one count per queued event */
	const struct hca_adapter *adapter;
	pthread_mutex_t lock; /* guards the queue; innermost, taken with any other lock held */
	TAILQ_HEAD(, async_entry) queue;
	unsigned int count;
	/* Queued events by the hash of their object, so that an object's are found without a walk. */
	LIST_HEAD(, async_entry) bucket[HCA_ASYNC_BUCKETS];
	/*
	 * Called with the lock held for every event that is handed out, if set: the library counts
	 * events that wait for their acknowledgement here, so that none is handed out and not
	 * counted when its object is destroyed.
	 */
	void (*taken)(const struct hca_event *event);
	/*
	 * Called for every event before it is queued, if set, on the posting thread, which may hold
	 * any lock: takes innermost ones only. True: the event is not for the queue. Set once,
	 * before the context has objects.
	 */
	bool (*tap)(void *arg, const struct hca_event *event);
	void *tap_arg;
	_Atomic bool dead; /* the adapter was removed: no event follows those that are queued */
	bool listed;       /* in the list of this process's queues; false in a forked child */
	LIST_ENTRY(hca_async) entry;
};

VB_API int hca_async_init(struct hca_async *q, const struct hca_adapter *adapter);
VB_API void hca_async_fini(struct hca_async *q);

/* From now on tap(arg) sees every event first. */
VB_API void hca_async_set_tap(struct hca_async *q,
			      bool (*tap)(void *arg, const struct hca_event *event), void *arg);

/* From any thread. When memory runs out the event is lost, as on an adapter with a full queue. */
VB_API void hca_async_post(struct hca_async *q, enum hca_event_type type, void *element);

/* To every open context of the adapter in this process. */
VB_API void hca_async_post_port(const struct hca_adapter *a, enum hca_event_type type, int port);

/*
 * The adapter is gone: every open context of it in this process gets HCA_EVENT_DEVICE_FATAL, and is dead.
 * False: there was none that was not dead.
 */
bool hca_async_kill(const struct hca_adapter *a);

/*
 * Waits unless the descriptor is O_NONBLOCK: then -EAGAIN. -EINTR as read() has it. -EIO: the context is
 * dead, and there is no event left; the descriptor stays readable.
 */
VB_API int hca_async_get(struct hca_async *q, struct hca_event *out);

/* Withdraws the events of an object; returns how many there were. */
VB_API unsigned int hca_async_forget(struct hca_async *q, void *element);

/*
 * In a forked child (engine/fork.c): takes all queues off the list. An inherited queue shares its
 * descriptor with the parent, and events of the child's ports are not for the parent.
 */
void hca_async_forked(void);

#endif
