/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hosts-connect listen|connect ADDRESS PORT: a connection by address, and a line for each of its events.
 * No byte is sent on it.
 */
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int err, const char *what)
{
	if (!err)
		return;
	perror(what);
	exit(1);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	must(rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
}

/* The next step of a connection. */
static void answer(const struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { .retry_count = 7 };

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		must(rdma_resolve_route(event->id, 10000), "rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		make_qp(event->id);
		must(rdma_connect(event->id, &param), "rdma_connect");
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		make_qp(event->id);
		must(rdma_accept(event->id, &param), "rdma_accept");
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		must(rdma_disconnect(event->id), "rdma_disconnect");
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct addrinfo *to;
	struct rdma_cm_id *id;

	if (argc != 4 || getaddrinfo(argv[2], argv[3], NULL, &to))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	if (!strcmp(argv[1], "listen")) {
		must(rdma_bind_addr(id, to->ai_addr), "rdma_bind_addr");
		must(rdma_listen(id, 8), "rdma_listen");
		puts("listening");
	} else {
		must(rdma_resolve_addr(id, NULL, to->ai_addr, 10000), "rdma_resolve_addr");
	}
	freeaddrinfo(to);
	while (!rdma_get_cm_event(channel, &event)) {
		answer(event);
		puts(rdma_event_str(event->event));
		must(rdma_ack_cm_event(event), "rdma_ack_cm_event");
	}
	return 1;
}
