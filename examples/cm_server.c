/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server that is reached by address: it listens, accepts one client, and lends it a buffer. Where
 * the buffer lies goes with the acceptance, as private data. The client reads the buffer, writes to it
 * and disconnects; the server's processor takes no part in either. cm_client.c is the other end.
 *
 *	cm_server [PORT]
 */
#include <arpa/inet.h>
#include <err.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_offer.h"

/* The next event of the channel, which has to be of this type. */
static struct rdma_cm_event *expect(struct rdma_event_channel *channel,
				    enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event))
		err(1, "rdma_get_cm_event");
	if (event->event != type)
		errx(1, "%s came, with status %d; %s should have", rdma_event_str(event->event),
		     event->status, rdma_event_str(type));
	return event;
}

static struct rdma_cm_id *listen_at(struct rdma_event_channel *channel, const char *port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 }; /* IPv4 and IPv6 */
	struct rdma_cm_id *id;

	any.sin6_port = htons((uint16_t)atoi(port));
	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		err(1, "rdma_create_id");
	if (rdma_bind_addr(id, (struct sockaddr *)&any) || rdma_listen(id, 1))
		err(1, "port %s", port);
	return id;
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	char buffer[OFFER_BYTES] = "a greeting from the server's memory";
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event;
	struct offer offer;
	struct ibv_mr *mr;

	if (!channel)
		err(1, "rdma_create_event_channel");
	listener = listen_at(channel, argc > 1 ? argv[1] : OFFER_PORT);
	printf("listening at port %u\n", ntohs(rdma_get_src_port(listener)));
	fflush(stdout);

	/* The request comes with an id of its own, which the connection will be known by. */
	event = expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	rdma_ack_cm_event(event);
	if (rdma_create_qp(id, NULL, &attr)) /* the library makes PD, CQs and moves the QP */
		err(1, "rdma_create_qp");
	mr = ibv_reg_mr(id->pd, buffer, sizeof(buffer),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		err(1, "ibv_reg_mr");
	offer = (struct offer){ .addr = htobe64((uintptr_t)buffer), .rkey = htonl(mr->rkey) };
	param.private_data = &offer;
	param.private_data_len = sizeof(offer);
	if (rdma_accept(id, &param))
		err(1, "rdma_accept");
	rdma_ack_cm_event(expect(channel, RDMA_CM_EVENT_ESTABLISHED));

	rdma_ack_cm_event(expect(channel, RDMA_CM_EVENT_DISCONNECTED));
	printf("the client wrote: %s\n", buffer);
	rdma_disconnect(id);
	ibv_dereg_mr(mr);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	return 0;
}
