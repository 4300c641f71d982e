/* SPDX-License-Identifier: BSD-2-Clause */
/* XRC over the network in memory: a sender names the shared receive queue of each message. */
#include "cmocka_all.h"

#include <string.h>

#include "transport/end.h"

#include "hca/queue/srq.h"

struct xrc {
	struct end *sender, *receiver, *other; /* `other` has a queue of the domain, too */
};

static void begin(struct xrc *x)
{
	struct end_options send = END_DEFAULTS, recv = END_DEFAULTS;

	send.type = HCA_QP_XRC_SEND;
	send.timeout = 10;
	send.retry_cnt = 7;
	send.rnr_retry = 7;
	recv.type = HCA_QP_XRC_RECV;
	recv.srq = true;
	recv.psn = send.peer_psn;
	recv.peer_psn = send.psn;
	net_reset();
	x->sender = end_create(0, &send);
	x->receiver = end_create(1, &recv);
	x->other = end_create(1, &recv);
	end_connect(x->sender, x->receiver->qp->qpn, &send);
	end_connect(x->receiver, x->sender->qp->qpn, &recv);
	for (uint32_t i = 0; i < END_SLOTS - 1; i++) {
		end_post_recv(x->receiver, 65536 + i * 2048, 2048);
		end_post_recv(x->other, 65536 + i * 2048, 2048);
	}
}

static void finish(struct xrc *x)
{
	end_destroy(x->sender);
	end_destroy(x->receiver);
	end_destroy(x->other);
}

static void each_message_goes_to_the_queue_that_it_names(void **state)
{
	struct xrc x;

	begin(&x);
	for (unsigned int i = 0; i < 20; i++)
		end_post(x.sender, HCA_OP_SEND, 0, 10 + i)->xrc_srqn =
			(i % 2 ? x.other : x.receiver)->srq->srqn;
	end_ring(x.sender);
	for (unsigned int i = 0; i < 20; i++) {
		const struct hca_cqe *c;

		assert_int_equal(end_await(x.sender)->status, HCA_SUCCESS);
		c = end_completion(i % 2 ? x.other : x.receiver);
		assert_non_null(c);
		assert_int_equal(c->byte_len, 10 + i);
		assert_int_equal(c->qpn, x.receiver->qp->qpn);
		assert_true(c->xrc);
	}
	finish(&x);
}

static void a_queue_that_does_not_exist_is_an_invalid_request(void **state)
{
	struct xrc x;

	begin(&x);
	end_post(x.sender, HCA_OP_SEND, 0, 10)->xrc_srqn = 0xffff00;
	end_ring(x.sender);
	assert_int_equal(end_await(x.sender)->status, HCA_REM_INV_REQ_ERR);
	finish(&x);
}

/* A packet of a message to the queue of `to`. */
static void inject(struct xrc *x, const struct end *to, uint8_t op, uint32_t psn)
{
	static const uint8_t data[1024] = "data";
	struct roce_pkt p = end_request(x->receiver, ROCE_TR_XRC | op, psn);

	p.rdma.srqn = to->srq->srqn;
	net_inject(x->receiver->qp, &p, data);
}

static void replace_srq(struct end *end)
{
	struct hca_srq_init init = { .pd = end->pd,
				     .format = end->srq->format,
				     .type = HCA_SRQ_XRC,
				     .ring = end->srq->ring,
				     .cq = end->cq,
				     .xrcd = END_XRCD,
				     .user_index = HCA_SRQ_NO_INDEX };

	assert_int_equal(hca_srq_destroy(end->srq), 0);
	assert_int_equal(hca_srq_create(&init, &end->srq), 0);
}

static void a_message_ends_with_the_queue_that_it_has_taken_an_entry_of(void **state)
{
	for (int number_is_used_again = 0; number_is_used_again < 2; number_is_used_again++) {
		struct xrc x;

		begin(&x);
		net.held = true;
		inject(&x, x.other, ROCE_PKT_SEND_FIRST, END_DEFAULTS.psn);
		assert_int_equal(net_take()->pkt.ack.syndrome, ROCE_SYN_ACK);
		if (number_is_used_again)
			x.other->srq->serial++;
		else
			replace_srq(x.other);
		inject(&x, x.other, ROCE_PKT_SEND_LAST, END_DEFAULTS.psn + 1);
		assert_int_equal(net_take()->pkt.ack.syndrome, ROCE_SYN_NAK_INVALID);
		assert_null(end_completion(x.other));
		finish(&x);
	}
}

static void a_queue_pair_fails_quietly_after_the_queue_of_its_message_is_gone(void **state)
{
	struct xrc x;

	begin(&x);
	net.held = true;
	inject(&x, x.other, ROCE_PKT_SEND_FIRST, END_DEFAULTS.psn);
	replace_srq(x.other);
	assert_int_equal(end_set_state(x.receiver, HCA_QPS_ERR), 0);
	assert_null(end_completion(x.other));
	finish(&x);
}

static void faults_on_the_way_change_nothing(void **state)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct xrc x;

		begin(&x);
		net_set_faults(&(struct net_faults){ .delay_ns = 3000,
						     .seed = seed,
						     .loss = 20000,
						     .duplicate = 20000,
						     .reorder = 20000,
						     .corrupt = 20000 });
		for (unsigned int i = 0; i < 40; i++)
			end_post(x.sender, HCA_OP_SEND, 0, 500 + i)->xrc_srqn =
				(i % 3 ? x.other : x.receiver)->srq->srqn;
		end_ring(x.sender);
		for (unsigned int i = 0; i < 40; i++)
			if (end_await(x.sender)->status != HCA_SUCCESS)
				fail_msg("seed %u: message %u failed", (unsigned int)seed, i);
		for (unsigned int i = 0; i < 40; i++) {
			const struct hca_cqe *c = end_completion(i % 3 ? x.other : x.receiver);

			if (!c || c->byte_len != 500 + i)
				fail_msg("seed %u: message %u was not delivered once",
					 (unsigned int)seed, i);
		}
		assert_null(end_completion(x.other));
		assert_null(end_completion(x.receiver));
		finish(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_goes_to_the_queue_that_it_names),
		cmocka_unit_test(a_queue_that_does_not_exist_is_an_invalid_request),
		cmocka_unit_test(a_message_ends_with_the_queue_that_it_has_taken_an_entry_of),
		cmocka_unit_test(a_queue_pair_fails_quietly_after_the_queue_of_its_message_is_gone),
		cmocka_unit_test(faults_on_the_way_change_nothing),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
