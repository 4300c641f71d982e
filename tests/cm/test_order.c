/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a connection is not heard of before what was said on it: an adapter has completed a message
 * before it acknowledges the message, and the DREQ leaves later. Programs that are told of the end find
 * the completion by one look, also when no thread of theirs has polled meanwhile. On the wire a host that is
 * busy may swap packets of different sockets, so there the completion only has to come.
 */
#include "cm_rig.h"

#include <stdlib.h>

#define ROUNDS 100
#define LENGTH 512

/* How an end leaves: by rdma_disconnect(), or by destroying its queue pair and id. */
static void leave(struct rdma_cm_id *id, int round)
{
	if (round % 2)
		check_ok(rdma_disconnect(id));
	destroy(id);
}

static void wait_completed(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	wait_for(ibv_poll_cq(cq, 1, &wc));
	check_equal(wc.status, IBV_WC_SUCCESS);
}

static void check_completed(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (getenv("TRAFFIC_ON_WIRE")) {
		wait_completed(cq);
		return;
	}
	check_equal(ibv_poll_cq(cq, 1, &wc), 1);
	check_equal(wc.status, IBV_WC_SUCCESS);
}

static struct rdma_cm_id *accept_next(struct rdma_event_channel *channel, void *buf,
				      struct ibv_mr **mr)
{
	struct rdma_cm_id *id = expect_request(channel);

	make_qp(id);
	*mr = must(rdma_reg_msgs(id, buf, LENGTH));
	check_ok(rdma_post_recv(id, NULL, buf, LENGTH, *mr));
	check_ok(rdma_accept(id, NULL));
	expect_ack(channel, ESTABLISHED, 0);
	return id;
}

static struct rdma_cm_id *connect_and_send(struct rdma_event_channel *channel, uint16_t port,
					   void *buf, struct ibv_mr **mr)
{
	struct rdma_cm_id *id = route_to(channel, port);

	make_qp(id);
	*mr = must(rdma_reg_msgs(id, buf, LENGTH));
	check_ok(rdma_connect(id, NULL));
	expect_ack(channel, ESTABLISHED, 0);
	check_ok(rdma_post_send(id, NULL, buf, LENGTH, *mr, IBV_SEND_SIGNALED));
	return id;
}

static void receive(int fd, bool sender_leaves)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *listener = listen_at(channel, 0), *id;
	uint16_t port = port_of(listener);
	char buf[LENGTH];
	struct ibv_mr *mr;

	tell(fd, &port, sizeof(port));
	for (int i = 0; i < ROUNDS; i++) {
		id = accept_next(channel, buf, &mr);
		if (sender_leaves) {
			expect_ack(channel, DISCONNECTED, 0);
			check_completed(id->recv_cq);
			destroy(id);
		} else {
			wait_completed(id->recv_cq);
			leave(id, i);
		}
		check_ok(rdma_dereg_mr(mr));
	}
	hear_mark(fd, 'e');
	destroy(listener);
	rdma_destroy_event_channel(channel);
}

static void receive_until_the_sender_leaves(int fd)
{
	receive(fd, true);
}

static void receive_and_leave(int fd)
{
	receive(fd, false);
}

static void send_messages(bool sender_leaves)
{
	struct peer b =
		peer_start(sender_leaves ? receive_until_the_sender_leaves : receive_and_leave);
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	char buf[LENGTH] = { 0 };
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint16_t port;

	hear(b.fd, &port, sizeof(port));
	for (int i = 0; i < ROUNDS; i++) {
		id = connect_and_send(channel, port, buf, &mr);
		if (sender_leaves) {
			wait_completed(id->send_cq);
			leave(id, i);
		} else {
			expect_ack(channel, DISCONNECTED, 0);
			check_completed(id->send_cq);
			destroy(id);
		}
		check_ok(rdma_dereg_mr(mr));
	}
	tell_mark(b.fd, 'e');
	rdma_destroy_event_channel(channel);
	peer_join(&b);
}

static void data_that_was_acknowledged_is_there_before_its_sender_disconnects(void)
{
	send_messages(true);
}

static void a_message_is_acknowledged_before_its_receiver_disconnects(void)
{
	send_messages(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(data_that_was_acknowledged_is_there_before_its_sender_disconnects),
		TEST(a_message_is_acknowledged_before_its_receiver_disconnects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
