/* SPDX-License-Identifier: BSD-2-Clause */
/* Tag matching: where messages go, what completes, and the rendezvous that the adapter does itself. */
#include "cmocka_all.h"

#include <endian.h>
#include <string.h>

#include "transport/end.h"

#include "hca/queue/srq.h"

#define FIRST_PSN 500u /* that END_DEFAULTS expects of the peer */
#define TAGS      16u
#define TMH       16u
#define BUFFER    16384u /* where tagged buffers are */

enum { KIND_NO_TAG, KIND_RNDV, KIND_FIN, KIND_EAGER };

static struct end_options options(void)
{
	struct end_options o = END_DEFAULTS;

	o.srq = true;
	o.tags = TAGS;
	return o;
}

static struct end *alone(void)
{
	struct end_options o = options();

	return end_alone(&o);
}

/* ---- the list ---- */

static uint16_t next_index;

static void append(struct end *e, uint64_t tag, uint64_t mask, uint32_t at, uint32_t len)
{
	const struct hca_sge sge = { (uintptr_t)e->mem + at, len, e->mr->key };
	struct hca_tag_op op = { .change = HCA_TAG_APPEND, .tag = tag, .mask = mask };

	next_index = (next_index + 1) % TAGS;
	op.index = next_index;
	assert_true(hca_srq_tag(e->srq, 0, &op, len ? &sge : NULL));
}

static void handled(struct end *e, uint16_t count)
{
	const struct hca_tag_op op = { .change = HCA_TAG_SYNC, .sync = true, .handled = count };

	assert_true(hca_srq_tag(e->srq, 0, &op, NULL));
}

static int setup(void **state)
{
	next_index = 0;
	return 0;
}

/* ---- messages ---- */

static uint8_t message[4096];

static void put64(uint8_t *to, uint64_t v)
{
	v = htobe64(v);
	memcpy(to, &v, 8);
}

static void put32(uint8_t *to, uint32_t v)
{
	v = htobe32(v);
	memcpy(to, &v, 4);
}

static void header(uint8_t *m, uint8_t kind, uint64_t tag)
{
	memset(m, 0, TMH);
	m[0] = kind;
	put32(m + 4, 0xabcd);
	put64(m + 8, tag);
}

static void rendezvous(uint8_t *m, uint64_t tag, uint64_t va, uint32_t rkey, uint32_t len)
{
	header(m, KIND_RNDV, tag);
	put64(m + 16, va);
	put32(m + 24, rkey);
	put32(m + 28, len);
}

static void arrive(struct end *e, uint8_t op, uint32_t psn, uint32_t len)
{
	struct roce_pkt p = end_request(e, op, psn);

	p.len = len;
	net_inject(e->qp, &p, message);
}

static void eager(struct end *e, uint32_t psn, uint64_t tag, uint32_t len)
{
	header(message, KIND_EAGER, tag);
	memset(message + TMH, (int)tag, len);
	arrive(e, ROCE_PKT_SEND_ONLY, psn, TMH + len);
}

static const struct hca_cqe *expect(struct end *e, uint8_t what)
{
	const struct hca_cqe *cqe = end_completion(e);

	assert_non_null(cqe);
	assert_int_equal(cqe->status, HCA_SUCCESS);
	assert_true(cqe->is_recv);
	assert_non_null(cqe->tm);
	assert_int_equal(cqe->tm->what, what);
	return cqe;
}

static void expect_byte(const struct end *e, uint32_t at, uint32_t len, uint8_t byte)
{
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(e->mem[at + i], byte);
	assert_int_equal(e->mem[at + len], 0);
}

/* ---- eager messages ---- */

static void a_match_puts_the_payload_into_the_tagged_buffer(void **state)
{
	struct end *e = alone();
	const struct hca_cqe *cqe;

	append(e, 1, UINT64_MAX, BUFFER, 256);
	append(e, 2, UINT64_MAX, BUFFER + 1024, 256);
	eager(e, FIRST_PSN, 2, 100);
	cqe = expect(e, HCA_TM_CONSUMED_MSG);
	assert_int_equal(cqe->tm->index, 1);
	assert_int_equal(cqe->byte_len, 100);
	assert_memory_equal(cqe->tm->header, message, TMH);
	expect_byte(e, BUFFER + 1024, 100, 2);
	assert_int_equal(e->mem[BUFFER], 0);
	assert_null(end_completion(e));
	end_destroy(e);
}

static void the_first_posted_that_matches_is_taken(void **state)
{
	struct end *e = alone();

	append(e, 0x10, 0xf0, BUFFER, 64);
	append(e, 0x15, 0xff, BUFFER + 64, 64);
	append(e, 0, 0, BUFFER + 128, 64);
	eager(e, FIRST_PSN, 0x15, 8);
	assert_int_equal(expect(e, HCA_TM_CONSUMED_MSG)->tm->index, 0);
	eager(e, FIRST_PSN + 1, 0x99, 8); /* only the wild card */
	assert_int_equal(expect(e, HCA_TM_CONSUMED_MSG)->tm->index, 2);
	eager(e, FIRST_PSN + 2, 0x15, 8);
	assert_int_equal(expect(e, HCA_TM_CONSUMED_MSG)->tm->index, 1);
	end_destroy(e);
}

static void a_message_that_matches_nothing_goes_whole_into_an_entry(void **state)
{
	struct end *e = alone();
	const struct hca_cqe *cqe;

	append(e, 1, UINT64_MAX, BUFFER, 256);
	end_post_recv(e, 8192, 1024);
	eager(e, FIRST_PSN, 7, 100);
	cqe = expect(e, HCA_TM_UNEXPECTED);
	assert_int_equal(cqe->byte_len, TMH + 100);
	assert_int_equal(cqe->counter, 0);
	assert_memory_equal(e->mem + 8192, message, TMH + 100);
	assert_int_equal(e->srq->tags->unexpected, 1);
	end_destroy(e);
}

static void messages_without_a_tag_are_not_counted(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 15, 200 };
	struct end *e = alone();

	append(e, 0, 0, BUFFER, 256);
	for (uint32_t i = 0; i < array_size(lengths); i++) {
		end_post_recv(e, 8192, 1024);
		/* Of a kind that matches, but too short for a tag; then of another kind. */
		header(message, i < 3 ? KIND_EAGER : KIND_NO_TAG, 0);
		arrive(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + i, lengths[i]);
		assert_int_equal(expect(e, HCA_TM_NO_TAG)->byte_len, lengths[i]);
	}
	end_post_recv(e, 8192, 1024);
	header(message, KIND_FIN, 0);
	arrive(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + 4, 32);
	expect(e, HCA_TM_NO_TAG);
	assert_int_equal(e->srq->tags->unexpected, 0);
	end_destroy(e);
}

static void without_an_entry_a_message_waits_and_is_not_counted(void **state)
{
	struct end *e = alone();

	eager(e, FIRST_PSN, 7, 100);
	assert_int_equal(net_take()->pkt.ack.syndrome & ROCE_SYN_KIND, ROCE_SYN_RNR);
	assert_int_equal(e->srq->tags->unexpected, 0);
	append(e, 7, UINT64_MAX, BUFFER, 256); /* in time for the next attempt */
	eager(e, FIRST_PSN, 7, 100);
	expect(e, HCA_TM_CONSUMED_MSG);
	end_destroy(e);
}

static void a_long_message_completes_twice(void **state)
{
	struct end *e = alone();
	const struct hca_cqe *cqe;

	append(e, 3, UINT64_MAX, BUFFER, 4096);
	header(message, KIND_EAGER, 3);
	memset(message + TMH, 3, sizeof(message) - TMH);
	arrive(e, ROCE_PKT_SEND_FIRST, FIRST_PSN, 1024);
	cqe = expect(e, HCA_TM_CONSUMED);
	assert_memory_equal(cqe->tm->header, message, TMH);
	assert_null(end_completion(e));
	memset(message, 3, TMH);
	arrive(e, ROCE_PKT_SEND_MIDDLE, FIRST_PSN + 1, 1024);
	arrive(e, ROCE_PKT_SEND_LAST, FIRST_PSN + 2, 10);
	cqe = expect(e, HCA_TM_EXPECTED);
	assert_int_equal(cqe->tm->index, 0);
	assert_int_equal(cqe->byte_len, 2 * 1024 + 10 - TMH);
	expect_byte(e, BUFFER, 2 * 1024 + 10 - TMH, 3);
	end_destroy(e);
}

static void a_message_longer_than_its_buffer_ends_the_connection(void **state)
{
	struct end *e = alone();

	append(e, 3, UINT64_MAX, BUFFER, 99);
	eager(e, FIRST_PSN, 3, 100);
	expect(e, HCA_TM_CANCELED);
	assert_int_equal(net_take()->pkt.ack.syndrome, ROCE_SYN_NAK_INVALID);
	assert_int_equal(e->qp->state, HCA_QPS_ERR);
	assert_int_equal(e->mem[BUFFER], 0);
	end_destroy(e);
}

static void an_empty_message_needs_no_buffer(void **state)
{
	struct end *e = alone();

	append(e, 3, UINT64_MAX, 0, 0);
	eager(e, FIRST_PSN, 3, 0);
	assert_int_equal(expect(e, HCA_TM_CONSUMED_MSG)->byte_len, 0);
	end_destroy(e);
}

static void an_error_cancels_the_buffer_of_a_message_in_progress(void **state)
{
	struct end *e = alone();

	append(e, 3, UINT64_MAX, BUFFER, 4096);
	header(message, KIND_EAGER, 3);
	arrive(e, ROCE_PKT_SEND_FIRST, FIRST_PSN, 1024);
	expect(e, HCA_TM_CONSUMED);
	assert_int_equal(end_set_state(e, HCA_QPS_ERR), 0);
	assert_int_equal(expect(e, HCA_TM_CANCELED)->tm->index, 0);
	end_destroy(e);
}

/* ---- order with the program's own matching ---- */

static void new_buffers_wait_until_unexpected_messages_are_known(void **state)
{
	struct end *e = alone();

	append(e, 1, UINT64_MAX, BUFFER, 64);
	for (int i = 0; i < 3; i++)
		end_post_recv(e, 8192, 1024);
	eager(e, FIRST_PSN, 2, 8);
	expect(e, HCA_TM_UNEXPECTED);
	append(e, 2, UINT64_MAX, BUFFER + 64, 64); /* might be the first message's */
	eager(e, FIRST_PSN + 1, 2, 8);
	expect(e, HCA_TM_UNEXPECTED);
	eager(e, FIRST_PSN + 2, 1, 8); /* was there before */
	assert_int_equal(expect(e, HCA_TM_CONSUMED_MSG)->tm->index, 0);
	handled(e, 1);
	eager(e, FIRST_PSN + 3, 2, 8); /* there is one more */
	expect(e, HCA_TM_UNEXPECTED);
	handled(e, 3);
	eager(e, FIRST_PSN + 4, 2, 8);
	assert_int_equal(expect(e, HCA_TM_CONSUMED_MSG)->tm->index, 1);
	end_destroy(e);
}

static void changes_complete_with_the_count_of_unexpected_messages(void **state)
{
	struct hca_tag_op op = { .change = HCA_TAG_REMOVE, .signaled = true };
	struct end *e = alone();
	const struct hca_cqe *cqe;

	append(e, 1, UINT64_MAX, BUFFER, 64);
	end_post_recv(e, 8192, 1024);
	eager(e, FIRST_PSN, 2, 8);
	expect(e, HCA_TM_UNEXPECTED);
	assert_true(hca_srq_tag(e->srq, 0x55, &op, NULL));
	cqe = expect(e, HCA_TM_REMOVE);
	assert_int_equal(cqe->qpn, 0x55);
	assert_true(cqe->tm->done);
	assert_int_equal(cqe->tm->unexpected, 1);
	assert_true(hca_srq_tag(e->srq, 0, &op, NULL)); /* it is gone */
	assert_false(expect(e, HCA_TM_REMOVE)->tm->done);
	op.change = HCA_TAG_SYNC;
	assert_true(hca_srq_tag(e->srq, 0, &op, NULL));
	expect(e, HCA_TM_SYNC);
	end_destroy(e);
}

static void entries_that_do_not_exist_or_are_in_use_cannot_be_appended(void **state)
{
	struct hca_tag_op op = { .change = HCA_TAG_APPEND, .index = TAGS };
	struct end *e = alone();

	assert_false(hca_srq_tag(e->srq, 0, &op, NULL));
	op.index = 0; /* the same again */
	assert_true(hca_srq_tag(e->srq, 0, &op, NULL));
	assert_false(hca_srq_tag(e->srq, 0, &op, NULL));
	op.change = 3;
	assert_false(hca_srq_tag(e->srq, 0, &op, NULL));
	end_destroy(e);
}

/* The program will not see a message that failed, so it cannot tell that it knows of it. */
static void an_unexpected_message_that_fails_is_not_counted(void **state)
{
	struct end *e = alone();

	end_post_recv(e, 8192, 64);
	eager(e, FIRST_PSN, 2, 100); /* too long for the entry */
	assert_int_equal(end_completion(e)->status, HCA_LOC_LEN_ERR);
	assert_int_equal(e->srq->tags->unexpected, 0);
	end_destroy(e);

	e = alone();
	end_post_recv(e, 8192, 4096);
	header(message, KIND_EAGER, 3);
	arrive(e, ROCE_PKT_SEND_FIRST, FIRST_PSN, 1024);
	assert_int_equal(e->srq->tags->unexpected, 1);
	append(e, 4, UINT64_MAX, BUFFER, 64);
	assert_false(TAILQ_FIRST(&e->srq->tags->list)->active);
	assert_int_equal(end_set_state(e, HCA_QPS_ERR), 0);
	assert_int_equal(end_completion(e)->status, HCA_WR_FLUSH_ERR);
	assert_int_equal(e->srq->tags->unexpected, 0);
	assert_true(TAILQ_FIRST(&e->srq->tags->list)->active);
	end_destroy(e);
}

/* ---- requests that change the list ---- */

static void a_request_changes_the_list_of_its_receive_queue(void **state)
{
	struct end_options o = options();
	struct end *plain, *e;
	struct hca_send *s;

	plain = end_alone(&END_DEFAULTS);
	s = end_post(plain, HCA_OP_TAG, 0, 0);
	s->tag = (struct hca_tag_op){ .change = HCA_TAG_SYNC };
	end_ring(plain);
	assert_int_equal(end_completion(plain)->status, HCA_LOC_QP_OP_ERR);
	end_destroy(plain);

	e = end_alone(&o);
	append(e, 1, UINT64_MAX, BUFFER, 64);
	assert_false(TAILQ_EMPTY(&e->srq->tags->list));
	end_destroy(e);
}

/* ---- rendezvous ---- */

static void a_rendezvous_is_read_and_the_sender_told(void **state)
{
	struct end *e = alone();
	const struct net_sent *s;
	struct roce_pkt p;

	append(e, 9, UINT64_MAX, BUFFER, 4096);
	rendezvous(message, 9, 0x123456789000, 0x77, 1500);
	arrive(e, ROCE_PKT_SEND_ONLY, FIRST_PSN, 48);
	assert_memory_equal(expect(e, HCA_TM_CONSUMED)->tm->header, message, TMH);
	s = net_take(); /* the READ may leave before the acknowledgement */
	if (s->pkt.op == ROCE_PKT_ACK)
		s = net_take();
	assert_int_equal(s->pkt.op, ROCE_PKT_READ_REQUEST);
	assert_int_equal(s->pkt.rdma.va, 0x123456789000);
	assert_int_equal(s->pkt.rdma.rkey, 0x77);
	assert_int_equal(s->pkt.rdma.dma_len, 1500);
	while ((s = net_take()))
		assert_int_equal(s->pkt.op, ROCE_PKT_ACK);

	memset(message + 64, 9, 1500);
	p = end_request(e, ROCE_PKT_READ_RESP_FIRST, 100);
	p.len = 1024;
	net_inject(e->qp, &p, message + 64);
	assert_null(end_completion(e));
	p = end_request(e, ROCE_PKT_READ_RESP_LAST, 101);
	p.len = 1500 - 1024;
	net_inject(e->qp, &p, message + 64);
	assert_int_equal(expect(e, HCA_TM_EXPECTED)->byte_len, 1500);
	expect_byte(e, BUFFER, 1500, 9);
	s = net_take();
	assert_int_equal(s->pkt.op, ROCE_PKT_SEND_ONLY);
	assert_int_equal(s->len, 32);
	assert_int_equal(s->payload[0], KIND_FIN);
	assert_memory_equal(s->payload + 1, message + 1, 31);
	end_destroy(e);
}

static void a_rendezvous_longer_than_its_buffer_is_the_programs(void **state)
{
	struct end *e = alone();

	append(e, 9, UINT64_MAX, BUFFER, 1000);
	rendezvous(message, 9, 0x1000, 0x77, 1001);
	arrive(e, ROCE_PKT_SEND_ONLY, FIRST_PSN, 48);
	assert_int_equal(expect(e, HCA_TM_CONSUMED_MSG_SW_RNDV)->byte_len, 48);
	assert_memory_equal(e->mem + BUFFER, message, 48);
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_ACK);
	assert_null(net_take());
	end_destroy(e);
}

static void a_rendezvous_without_its_header_matches_nothing(void **state)
{
	struct end *e = alone();

	append(e, 9, UINT64_MAX, BUFFER, 1000);
	end_post_recv(e, 8192, 1024);
	rendezvous(message, 9, 0x1000, 0x77, 100);
	arrive(e, ROCE_PKT_SEND_ONLY, FIRST_PSN, 31);
	expect(e, HCA_TM_UNEXPECTED);
	assert_int_equal(e->srq->tags->unexpected, 1);
	end_destroy(e);
}

static void a_refused_read_cancels_the_buffer(void **state)
{
	struct end *e = alone();
	struct roce_pkt p;

	append(e, 9, UINT64_MAX, BUFFER, 1000);
	rendezvous(message, 9, 0x1000, 0x77, 100);
	arrive(e, ROCE_PKT_SEND_ONLY, FIRST_PSN, 48);
	expect(e, HCA_TM_CONSUMED);
	p = end_request(e, ROCE_PKT_ACK, 100);
	p.ack.syndrome = ROCE_SYN_NAK_ACCESS;
	net_inject(e->qp, &p, NULL);
	expect(e, HCA_TM_CANCELED);
	assert_null(end_completion(e));
	assert_int_equal(e->qp->state, HCA_QPS_ERR);
	end_destroy(e);
}

/* ---- both ends, over a network that loses packets ---- */

#define ROUNDS 40u

static void run(uint64_t seed)
{
	const struct net_faults faults = {
		.loss = 50000, .duplicate = 50000, .reorder = 50000, .delay_ns = 1000, .seed = seed
	};
	struct end_options o = END_DEFAULTS, tagged = options();
	struct end *from, *to;

	net_reset();
	o.retry_cnt = tagged.retry_cnt = 7;
	o.peer_psn = tagged.psn;
	tagged.peer_psn = o.psn;
	from = end_create(0, &o);
	to = end_create(1, &tagged);
	end_connect(from, to->qp->qpn, &o);
	end_connect(to, from->qp->qpn, &tagged);
	net_set_faults(&faults);
	next_index = 0;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t len = 1 + (i * 617) % 5000;
		bool large = i % 2, fin_first;

		memset(from->mem + 8192, (int)(i + 1), len);
		append(to, i, UINT64_MAX, BUFFER, 5000);
		end_post_recv(from, 4096, 64); /* the FIN */
		if (large)
			rendezvous(from->mem, i, (uintptr_t)from->mem + 8192, from->mr->key, len);
		else
			header(from->mem + 8192 - TMH, KIND_EAGER, i);
		end_post(from, HCA_OP_SEND, large ? 0 : 8192 - TMH, large ? 40 : TMH + len);
		end_ring(from);
		if (!large)
			assert_int_equal(end_await(from)->op, HCA_OP_SEND);
		if (large || TMH + len > 1024)
			assert_int_equal(end_await(to)->tm->what, HCA_TM_CONSUMED);
		assert_int_equal(end_await(to)->byte_len, len);
		for (uint32_t k = 0; k < len; k++)
			assert_int_equal(to->mem[BUFFER + k], (uint8_t)(i + 1));
		if (large) {
			/* The acknowledgement of the request may be lost, and the FIN come before it. */
			fin_first = end_await(from)->is_recv;
			assert_int_equal(end_await(from)->is_recv, !fin_first);
			assert_int_equal(from->mem[4096], KIND_FIN);
		}
	}
	assert_null(end_completion(from));
	assert_null(end_completion(to));
	end_destroy(from);
	end_destroy(to);
}

static void loss_and_duplicates_change_nothing(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		run(seed);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_match_puts_the_payload_into_the_tagged_buffer),
		T(the_first_posted_that_matches_is_taken),
		T(a_message_that_matches_nothing_goes_whole_into_an_entry),
		T(messages_without_a_tag_are_not_counted),
		T(without_an_entry_a_message_waits_and_is_not_counted),
		T(a_long_message_completes_twice),
		T(a_message_longer_than_its_buffer_ends_the_connection),
		T(an_empty_message_needs_no_buffer),
		T(an_error_cancels_the_buffer_of_a_message_in_progress),
		T(new_buffers_wait_until_unexpected_messages_are_known),
		T(changes_complete_with_the_count_of_unexpected_messages),
		T(entries_that_do_not_exist_or_are_in_use_cannot_be_appended),
		T(an_unexpected_message_that_fails_is_not_counted),
		T(a_request_changes_the_list_of_its_receive_queue),
		T(a_rendezvous_is_read_and_the_sender_told),
		T(a_rendezvous_longer_than_its_buffer_is_the_programs),
		T(a_rendezvous_without_its_header_matches_nothing),
		T(a_refused_read_cancels_the_buffer),
		T(loss_and_duplicates_change_nothing),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
