/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A socket that a request made is an embryo until the connection is established: the program has no
 * descriptor for it, so only the service lock is needed to move it between lists. When as many connections
 * as the backlog allows wait for raccept(), requests are held without an answer until there is room, or
 * the peer gives up.
 */
#include "rsocket/listen.h"

#include <errno.h>
#include <infiniband/ib.h>
#include <netinet/in.h>

#include "rsocket/connect.h"
#include "rsocket/endpoint.h"
#include "rsocket/service.h"
#include "util/explain.h"

#define IP_CM_HEADER_LEN  36 /* in front of the private data of AF_IB */
#define RNR_RETRY_FOREVER 7
/*
 * Requests without an answer, held ones included. More are dropped by the connection manager, and come
 * again after seconds, so this is not the backlog, which may be small.
 */
#define REQUESTS_MAX 1024

/* rlisten() without rbind(): any address, a free port. */
static int bind_any(struct rs_stream *s)
{
	struct sockaddr_storage any = { .ss_family = s->base.domain };

	return rdma_bind_addr(s->id, (struct sockaddr *)&any) ? -errno : 0;
}

int rs_listen_start(struct rs_stream *s, int backlog)
{
	int err = 0;

	if (s->phase == RS_LISTENING)
		return 0;
	if (s->phase == RS_NEW)
		err = bind_any(s);
	else if (s->phase != RS_BOUND)
		err = explain(EINVAL, "the rsocket is connected or connecting; it cannot listen");
	if (err)
		return err;
	s->backlog = backlog > 0 ? backlog : 0;
	/* Before the first request can come. */
	rs_stream_enter(s, RS_LISTENING);
	if (rdma_listen(s->id, backlog > REQUESTS_MAX ? backlog : REQUESTS_MAX)) {
		err = -errno;
		rs_stream_enter(s, RS_BOUND);
	}
	return err;
}

static int read_request(const struct rs_stream *listener, const struct rdma_conn_param *param,
			struct rs_conn_data *data)
{
	const size_t header = listener->base.domain == AF_IB ? IP_CM_HEADER_LEN : 0;

	if (param->private_data_len < header)
		return explain(EPROTO, "a request has no private data");
	return rs_conn_data_decode((const char *)param->private_data + header,
				   param->private_data_len - header, data);
}

/* Rsockets neither read nor use atomics, so depths are 0. */
static int accept_request(struct rs_stream *s)
{
	uint8_t private_data[RS_CONN_DATA_LEN];
	struct rdma_conn_param param = {
		.private_data = private_data,
		.private_data_len = sizeof(private_data),
		.flow_control = 1,
		.rnr_retry_count = RNR_RETRY_FOREVER,
	};
	struct rs_conn_data data;
	int err = rs_endpoint_create(s);

	if (err)
		return err;
	rs_endpoint_describe(s, &data);
	rs_conn_data_encode(&data, private_data);
	return rdma_accept(s->id, &param) ? -errno : 0;
}

static void discard(void *s)
{
	rs_listen_discard(s);
}

static void destroy_id(void *id)
{
	rdma_destroy_id(id);
}

/* Adds `change` to the number of connections that wait for raccept(). False: the backlog is full. */
static bool count_queued(struct rs_stream *listener, int change)
{
	bool fits;

	pthread_mutex_lock(&listener->base.lock);
	fits = change < 0 || listener->queued <= listener->backlog;
	if (fits)
		listener->queued += change;
	pthread_mutex_unlock(&listener->base.lock);
	return fits;
}

static void count_held(struct rs_stream *listener, int change)
{
	pthread_mutex_lock(&listener->base.lock);
	listener->held_count += change;
	pthread_mutex_unlock(&listener->base.lock);
}

/* Accepts the request of a socket that is counted as waiting. False: rejected; the caller frees it. */
static bool admit(struct rs_stream *s)
{
	if (accept_request(s)) {
		rdma_reject(s->id, NULL, 0);
		count_queued(s->listener, -1);
		s->listener = NULL;
		return false;
	}
	s->phase = RS_ACCEPTING;
	LIST_INSERT_HEAD(&s->listener->embryos, s, embryo_link);
	return true;
}

void rs_listen_request(struct rs_stream *listener, const struct rdma_cm_event *event,
		       struct rs_cm_cleanup *cleanup)
{
	struct rs_stream *s;
	struct rs_conn_data data;
	int err;

	pthread_mutex_lock(&listener->base.lock);
	s = listener->phase == RS_LISTENING ? rs_stream_create(listener, listener->base.ops) : NULL;
	pthread_mutex_unlock(&listener->base.lock);
	if (!s) {
		rdma_reject(event->id, NULL, 0);
		*cleanup = (struct rs_cm_cleanup){ .run = destroy_id, .arg = event->id };
		return;
	}
	s->id = event->id;
	s->owner = listener->owner;
	s->id->context = &s->owner;
	s->listener = listener;
	err = read_request(listener, &event->param.conn, &data);
	if (!err)
		err = rs_endpoint_set_peer(s, &data);
	if (err) {
		rdma_reject(s->id, NULL, 0);
		*cleanup = (struct rs_cm_cleanup){ .run = discard, .arg = s };
	} else if (!count_queued(listener, 1)) {
		TAILQ_INSERT_TAIL(&listener->held, s, accept_link);
		count_held(listener, 1);
	} else if (!admit(s)) {
		*cleanup = (struct rs_cm_cleanup){ .run = discard, .arg = s };
	}
}

static void established(struct rs_stream *s)
{
	struct rs_stream *listener = s->listener;

	rs_stream_enter(s, RS_CONNECTED);
	LIST_REMOVE(s, embryo_link);
	s->listener = NULL;
	pthread_mutex_lock(&listener->base.lock);
	TAILQ_INSERT_TAIL(&listener->accepted, s, accept_link);
	rs_wake_others(&listener->base.sleepers, -1);
	pthread_mutex_unlock(&listener->base.lock);
}

static void forget(struct rs_stream *s)
{
	if (s->phase == RS_ACCEPTING) {
		LIST_REMOVE(s, embryo_link);
		count_queued(s->listener, -1);
	} else {
		TAILQ_REMOVE(&s->listener->held, s, accept_link);
		count_held(s->listener, -1);
	}
	s->listener = NULL;
}

void rs_listen_event(struct rs_stream *s, const struct rdma_cm_event *event,
		     struct rs_cm_cleanup *cleanup)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		established(s);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		forget(s);
		*cleanup = (struct rs_cm_cleanup){ .run = discard, .arg = s };
		break;
	default:
		break;
	}
}

void rs_listen_discard(struct rs_stream *s)
{
	rs_endpoint_destroy(s);
	rdma_destroy_id(s->id);
	rs_stream_destroy(s);
}

struct rs_stream *rs_listen_take(struct rs_stream *listener)
{
	struct rs_stream *s = TAILQ_FIRST(&listener->accepted);

	TAILQ_REMOVE(&listener->accepted, s, accept_link);
	listener->queued--;
	return s;
}

void rs_listen_admit(struct rs_stream *listener)
{
	struct rs_accept_queue useless = TAILQ_HEAD_INITIALIZER(useless);
	struct rs_stream *s;

	rs_service_lock();
	while ((s = TAILQ_FIRST(&listener->held)) && count_queued(listener, 1)) {
		TAILQ_REMOVE(&listener->held, s, accept_link);
		count_held(listener, -1);
		if (!admit(s)) {
			s->phase = RS_CLOSED;
			TAILQ_INSERT_TAIL(&useless, s, accept_link);
		}
	}
	rs_service_unlock();
	while ((s = TAILQ_FIRST(&useless))) {
		TAILQ_REMOVE(&useless, s, accept_link);
		rs_listen_discard(s);
	}
}

/*
 * rdma_destroy_id() waits for events that the service thread holds, so it is called without the service
 * lock. No other thread finds a socket that has left its list, and events leave a CLOSED one alone.
 */
void rs_listen_close(struct rs_stream *listener)
{
	struct rs_accept_queue *const queues[] = { &listener->held, &listener->accepted };
	LIST_HEAD(, rs_stream) all = LIST_HEAD_INITIALIZER(all);
	struct rs_stream *s;

	rs_service_lock();
	while ((s = LIST_FIRST(&listener->embryos))) {
		LIST_REMOVE(s, embryo_link);
		LIST_INSERT_HEAD(&all, s, embryo_link);
	}
	for (int i = 0; i < 2; i++) {
		while ((s = TAILQ_FIRST(queues[i]))) {
			TAILQ_REMOVE(queues[i], s, accept_link);
			LIST_INSERT_HEAD(&all, s, embryo_link);
		}
	}
	LIST_FOREACH(s, &all, embryo_link) {
		s->listener = NULL;
		s->phase = RS_CLOSED;
	}
	rs_service_unlock();
	while ((s = LIST_FIRST(&all))) {
		LIST_REMOVE(s, embryo_link);
		rs_listen_discard(s);
	}
}
