/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client that reaches its server by address: it resolves the address and the route, connects, and
 * gets with the acceptance where the server's buffer lies. It reads the buffer, writes to it, and
 * disconnects. Its id has no event channel, so every call waits for its outcome and returns it.
 * cm_server.c is the other end.
 *
 *	cm_client ADDRESS [PORT]
 */
#include <arpa/inet.h>
#include <err.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>

#include "cm_offer.h"

/* rdma_getaddrinfo() finds the address; an endpoint of it has its route and its QP. */
static struct rdma_cm_id *make_endpoint(const char *node, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *found;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(node, port, &hints, &found))
		err(1, "%s port %s", node, port);
	if (rdma_create_ep(&id, found, NULL, &attr))
		err(1, "no way to %s port %s", node, port);
	rdma_freeaddrinfo(found);
	return id;
}

static void wait_for_completion(struct rdma_cm_id *id, const char *what)
{
	struct ibv_wc wc;

	if (rdma_get_send_comp(id, &wc) != 1)
		err(1, "%s", what);
	if (wc.status)
		errx(1, "%s: %s", what, ibv_wc_status_str(wc.status));
}

int main(int argc, char **argv)
{
	struct rdma_conn_param param = { .initiator_depth = 1, .retry_count = 7 };
	char buffer[OFFER_BYTES] = "";
	struct rdma_cm_id *id;
	struct offer offer;
	struct ibv_mr *mr;

	if (argc < 2)
		errx(2, "usage: cm_client ADDRESS [PORT]");
	id = make_endpoint(argv[1], argc > 2 ? argv[2] : OFFER_PORT);
	mr = rdma_reg_msgs(id, buffer, sizeof(buffer));
	if (!mr)
		err(1, "rdma_reg_msgs");
	if (rdma_connect(id, &param))
		err(1, "%s does not accept", argv[1]);
	/* The event that ended the call is there until the next call. */
	memcpy(&offer, id->event->param.conn.private_data, sizeof(offer));
	offer.addr = be64toh(offer.addr);
	offer.rkey = ntohl(offer.rkey);

	if (rdma_post_read(id, NULL, buffer, sizeof(buffer), mr, 0, offer.addr, offer.rkey))
		err(1, "rdma_post_read");
	wait_for_completion(id, "reading the server's buffer");
	printf("the server's buffer has: %s\n", buffer);

	snprintf(buffer, sizeof(buffer), "%zu letters were read", strlen(buffer));
	if (rdma_post_write(id, NULL, buffer, sizeof(buffer), mr, 0, offer.addr, offer.rkey))
		err(1, "rdma_post_write");
	wait_for_completion(id, "writing to the server's buffer");

	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return 0;
}
