/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A socket that a request made is an embryo until the connection is established: the program does not
 * know it, so nobody else uses it, and the service lock is enough to move it.
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

/* rlisten() without rbind(): any address, a free port. */
static int bind_any(struct rs_stream *s)
{
	struct sockaddr_in6 any = { .sin6_family = s->base.domain };

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
	s->backlog = backlog;
	/* Before the first request can come. */
	rs_stream_enter(s, RS_LISTENING);
	if (rdma_listen(s->id, backlog)) {
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

static int accept_request(struct rs_stream *s, const struct rdma_conn_param *request,
			  const struct rs_conn_data *peer)
{
	uint8_t private_data[RS_CONN_DATA_LEN];
	struct rdma_conn_param param = {
		.private_data = private_data,
		.private_data_len = sizeof(private_data),
		.responder_resources = request->responder_resources,
		.initiator_depth = request->initiator_depth,
		.flow_control = request->flow_control,
		.rnr_retry_count = RNR_RETRY_FOREVER,
	};
	struct rs_conn_data data;
	int err = rs_endpoint_create(s);

	if (!err)
		err = rs_endpoint_set_peer(s, peer);
	if (err)
		return err;
	rs_endpoint_describe(s, &data);
	rs_conn_data_encode(&data, private_data);
	return rdma_accept(s->id, &param) ? -errno : 0;
}

struct rs_stream *rs_listen_request(struct rs_stream *listener, const struct rdma_cm_event *event)
{
	struct rs_stream *s;
	struct rs_conn_data data;
	int err;

	pthread_mutex_lock(&listener->base.lock);
	s = listener->phase == RS_LISTENING ? rs_stream_create(listener, listener->base.ops) : NULL;
	pthread_mutex_unlock(&listener->base.lock);
	if (!s) {
		rdma_reject(event->id, NULL, 0);
		rdma_destroy_id(event->id);
		return NULL;
	}
	s->id = event->id;
	s->owner = listener->owner;
	s->id->context = &s->owner;
	err = read_request(listener, &event->param.conn, &data);
	if (!err)
		err = accept_request(s, &event->param.conn, &data);
	if (err) {
		rdma_reject(s->id, NULL, 0);
		return s;
	}
	s->phase = RS_ACCEPTING;
	s->listener = listener;
	LIST_INSERT_HEAD(&listener->embryos, s, embryo_link);
	return NULL;
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

struct rs_stream *rs_listen_event(struct rs_stream *s, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		established(s);
		return NULL;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		LIST_REMOVE(s, embryo_link);
		s->listener = NULL;
		return s;
	default:
		return NULL;
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
	return s;
}

/*
 * rdma_destroy_id() waits for events that the service thread holds, so the service lock is not held
 * then; a socket that has left its list is nobody's, and the CLOSED phase keeps events off.
 */
void rs_listen_close(struct rs_stream *listener)
{
	struct rs_stream *s;
	LIST_HEAD(, rs_stream) all = LIST_HEAD_INITIALIZER(all);

	rs_service_lock();
	while ((s = LIST_FIRST(&listener->embryos))) {
		LIST_REMOVE(s, embryo_link);
		LIST_INSERT_HEAD(&all, s, embryo_link);
	}
	while ((s = TAILQ_FIRST(&listener->accepted))) {
		TAILQ_REMOVE(&listener->accepted, s, accept_link);
		LIST_INSERT_HEAD(&all, s, embryo_link);
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
