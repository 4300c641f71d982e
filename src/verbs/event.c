/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events. Destroying an object waits until its events are acknowledged; each object counts
 * its own.
 */
#include <errno.h>

#include "verbs/event.h"

#include "util/explain.h"
#include "verbs/objects.h"

_Static_assert((int)HCA_EVENT_CQ_ERR == (int)IBV_EVENT_CQ_ERR &&
		       (int)HCA_EVENT_SQ_DRAINED == (int)IBV_EVENT_SQ_DRAINED &&
		       (int)HCA_EVENT_SRQ_ERR == (int)IBV_EVENT_SRQ_ERR &&
		       (int)HCA_EVENT_WQ_FATAL == (int)IBV_EVENT_WQ_FATAL,
	       "event types are the public ones");

/* The counter of the object that the event is about, NULL when it is about none. */
static atomic_uint *counter_of(const struct hca_event *event)
{
	switch (event->type) {
	case HCA_EVENT_CQ_ERR:
		return &to_cq(event->element)->async_events;
	case HCA_EVENT_QP_FATAL:
	case HCA_EVENT_QP_REQ_ERR:
	case HCA_EVENT_QP_ACCESS_ERR:
	case HCA_EVENT_COMM_EST:
	case HCA_EVENT_SQ_DRAINED:
	case HCA_EVENT_PATH_MIG:
	case HCA_EVENT_PATH_MIG_ERR:
	case HCA_EVENT_QP_LAST_WQE_REACHED:
		return &to_qp(event->element)->async_events;
	case HCA_EVENT_SRQ_ERR:
	case HCA_EVENT_SRQ_LIMIT_REACHED:
		return &to_srq(event->element)->async_events;
	case HCA_EVENT_WQ_FATAL:
		return &to_wq(event->element)->async_events;
	default:
		return NULL;
	}
}

void vb_event_taken(const struct hca_event *event)
{
	atomic_uint *counter = event->element ? counter_of(event) : NULL;

	if (counter)
		atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

void vb_event_wait(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		   atomic_uint *handed_out)
{
	pthread_mutex_lock(mutex);
	while (*completed != atomic_load_explicit(handed_out, memory_order_relaxed))
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct hca_event e;
	int err = hca_async_get(&to_context(context)->async, &e);

	if (err) {
		errno = -err;
		return -1;
	}
	event->event_type = (enum ibv_event_type)e.type;
	if (e.element)
		event->element.qp = e.element; /* the union has pointers only */
	else
		event->element.port_num = e.port;
	return 0;
}

static void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	++*completed;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		acknowledge(&event->element.cq->mutex, &event->element.cq->cond,
			    &event->element.cq->async_events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		acknowledge(&event->element.qp->mutex, &event->element.qp->cond,
			    &event->element.qp->events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		acknowledge(&event->element.srq->mutex, &event->element.srq->cond,
			    &event->element.srq->events_completed);
		break;
	case IBV_EVENT_WQ_FATAL:
		acknowledge(&event->element.wq->mutex, &event->element.wq->cond,
			    &event->element.wq->events_completed);
		break;
	default:
		break; /* port and device events are not counted */
	}
}
