/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/connect.h"

#include <errno.h>
#include <infiniband/ib.h>
#include <string.h>

#include "rsocket/endpoint.h"
#include "util/explain.h"

/* Resolving is tried again after 1, 2, 4 s and so on. */
#define RESOLVE_MS      1000
#define RESOLVE_RETRIES 6
/* Retries without end while the peer has no receive posted (IBTA 1.4 9.7.5.2.8). */
#define RNR_RETRY_FOREVER 7
#define RETRIES           7
/* On AF_IB the program provides the header that RDMA CM has in front of the private data. */
#define IP_CM_HEADER_LEN 36

static void resolve_addr(struct rs_stream *s)
{
	if (rdma_resolve_addr(s->id, NULL, (struct sockaddr *)&s->peer_addr,
			      RESOLVE_MS << s->retries++))
		rs_stream_fail(s, errno);
	else
		rs_stream_enter(s, RS_RESOLVING_ADDR);
}

/* Paths that the program has set answer with the same event as a resolution. */
static void resolve_route(struct rs_stream *s)
{
	int err;

	if (s->route) {
		err = rdma_set_option(s->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, s->route,
				      s->route_len);
	} else {
		err = rdma_resolve_route(s->id, RESOLVE_MS << s->retries++);
	}
	if (err)
		rs_stream_fail(s, errno);
	else
		rs_stream_enter(s, RS_RESOLVING_ROUTE);
}

static void request(struct rs_stream *s)
{
	const size_t header = s->peer_addr.ss_family == AF_IB ? IP_CM_HEADER_LEN : 0;
	uint8_t private_data[IP_CM_HEADER_LEN + RS_CONN_DATA_LEN] = { 0 };
	struct rdma_conn_param param = {
		.private_data = private_data,
		.private_data_len = header + RS_CONN_DATA_LEN,
		.flow_control = 1,
		.retry_count = RETRIES,
		.rnr_retry_count = RNR_RETRY_FOREVER,
	};
	struct rs_conn_data data;
	int err = rs_endpoint_create(s);

	if (err) {
		rs_stream_fail(s, -err);
		return;
	}
	rs_endpoint_describe(s, &data);
	rs_conn_data_encode(&data, private_data + header);
	if (rdma_connect(s->id, &param))
		rs_stream_fail(s, errno);
	else
		rs_stream_enter(s, RS_CONNECTING);
}

static void established(struct rs_stream *s, const struct rdma_conn_param *param)
{
	struct rs_conn_data data;
	int err = rs_conn_data_decode(param->private_data, param->private_data_len, &data);

	if (!err)
		err = rs_endpoint_set_peer(s, &data);
	if (err) {
		rdma_disconnect(s->id);
		rs_stream_fail(s, -err);
		return;
	}
	rs_stream_enter(s, RS_CONNECTED);
}

int rs_connect_error(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	if (event->event == RDMA_CM_EVENT_DISCONNECTED)
		return ECONNRESET;
	return event->status < 0 ? -event->status : EIO;
}

void rs_connect_event(struct rs_stream *s, const struct rdma_cm_event *event)
{
	const bool again = event->status == -ETIMEDOUT && s->retries <= RESOLVE_RETRIES;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		s->retries = 0;
		resolve_route(s);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		request(s);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		established(s, &event->param.conn);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		if (again)
			resolve_addr(s);
		else
			rs_stream_fail(s, rs_connect_error(event));
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		if (again)
			resolve_route(s);
		else
			rs_stream_fail(s, rs_connect_error(event));
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rs_stream_fail(s, rs_connect_error(event));
		break;
	default:
		break;
	}
}

int rs_connect_start(struct rs_stream *s, const struct sockaddr *addr, socklen_t len)
{
	if (!addr || len < sizeof(addr->sa_family) || len > sizeof(s->peer_addr))
		return explain(EINVAL, "rconnect has an address of %u bytes", len);
	memcpy(&s->peer_addr, addr, len);
	s->retries = 0;
	resolve_addr(s);
	return s->phase == RS_FAILED ? -s->error : 0;
}
