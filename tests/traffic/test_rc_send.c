/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SEND on reliable connections: what arrives, where, in which order, and what completions say.
 */
#include "rig.h"

#include <arpa/inet.h>

static const uint32_t sizes[] = { 0,    1,    2,     3,     7,     8,       31,           63,
				  64,   65,   127,   255,   256,   257,     1023,         1024,
				  1025, 2047, 2048,  2049,  4095,  4096,    4097,         8191,
				  8192, 8193, 65535, 65536, 65537, 1 << 20, (1 << 20) + 3 };

#define BIG (16u << 20)

static struct options roomy(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = BIG + 4096;
	return o;
}

static void send_one(struct end *from, uint32_t len, size_t off, uint64_t id)
{
	fill(from->buf + off, len, len);
	post(from, &(struct work){ .id = id,
				   .op = IBV_WR_SEND,
				   .flags = IBV_SEND_SIGNALED,
				   .off = off,
				   .len = len });
}

static void take_one(struct end *to, uint32_t len, size_t off, uint64_t id)
{
	struct ibv_wc wc = expect_ok(to->rcq, id);

	check_equal(wc.byte_len, len);
	check_equal(wc.opcode, IBV_WC_RECV);
	check_equal(wc.qp_num, to->qp->qp_num);
	check_equal(wc.wc_flags, 0);
	check_filled(to->buf + off, len, len);
}

static void messages_of_every_size_arrive_whole(void)
{
	struct options o = roomy();
	struct pair p = pair_open(&o);

	for (size_t i = 0; i < array_size(sizes); i++) {
		size_t off = i % 5;

		memset(p.b->buf, 0xee, sizes[i] + 64);
		post_recv(p.b, 100 + i, off, sizes[i] + 9);
		send_one(p.a, sizes[i], (3 * i) % 7, i);
		take_one(p.b, sizes[i], off, 100 + i);
		check(is_all(p.b->buf + off + sizes[i], 9, 0xee));
		check_equal(expect_ok(p.a->scq, i).opcode, IBV_WC_SEND);
	}
	pair_close(&p);
}

static void a_message_may_fill_the_receive_exactly(void)
{
	struct pair p = pair_open(NULL);

	for (uint32_t len = 0; len < 3; len++) {
		post_recv(p.b, 1, 0, len);
		send_one(p.a, len, 0, 2);
		take_one(p.b, len, 0, 1);
		expect_ok(p.a->scq, 2);
	}
	pair_close(&p);
}

static void sixteen_mebibytes_arrive_whole(void)
{
	struct options o = roomy();
	struct pair p = pair_open(&o);

	post_recv(p.b, 1, 1, BIG);
	send_one(p.a, BIG, 3, 2);
	take_one(p.b, BIG, 1, 1);
	expect_ok(p.a->scq, 2);
	pair_close(&p);
}

static void immediate_data_arrives_in_network_order(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_wc wc;

	post_recv(p.b, 1, 0, 100);
	post_recv(p.b, 2, 100, 100);
	fill(p.a->buf, 33, 5);
	post(p.a,
	     &(struct work){ .id = 7, .op = IBV_WR_SEND_WITH_IMM, .imm = 0x01020304, .len = 33 });
	post(p.a, &(struct work){ .id = 8,
				  .op = IBV_WR_SEND_WITH_IMM,
				  .imm = 0xfffefdfc,
				  .flags = IBV_SEND_SIGNALED });
	wc = expect_ok(p.b->rcq, 1);
	check_equal(wc.wc_flags & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
	check_equal(ntohl(wc.imm_data), 0x01020304);
	check_equal(wc.byte_len, 33);
	check_filled(p.b->buf, 33, 5);
	wc = expect_ok(p.b->rcq, 2);
	check_equal(ntohl(wc.imm_data), 0xfffefdfc);
	check_equal(wc.byte_len, 0);
	expect_ok(p.a->scq, 8);
	check_empty(p.a->scq);
	pair_close(&p);
}

static void messages_take_receives_in_the_order_of_posting(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.bytes = 1 << 18;
	p = pair_open(&o);
	for (unsigned int i = 0; i < 50; i++)
		post_recv(p.b, i, i * 4096, 4096);
	for (unsigned int i = 0; i < 50; i++)
		send_one(p.a, 1 + i * 81, i * 4096, 1000 + i);
	for (unsigned int i = 0; i < 50; i++)
		take_one(p.b, 1 + i * 81, i * 4096, i);
	for (unsigned int i = 0; i < 50; i++)
		expect_ok(p.a->scq, 1000 + i);
	pair_close(&p);
}

/* As many elements as the limit, of odd lengths at odd addresses, against one and against many. */
static void gather_and_scatter_take_every_count_of_elements(void)
{
	struct options o = options_of(IBV_QPT_RC);
	uint32_t most = rig_attr()->max_sge;
	struct ibv_sge sge[64];
	struct pair p;

	check(most <= 64);
	o.send_sge = o.recv_sge = most;
	o.send_wr = o.recv_wr = 16;
	p = pair_open(&o);
	for (uint32_t n = 1; n <= most; n++) {
		struct ibv_send_wr *bad_send, send = { .wr_id = n,
						       .sg_list = sge,
						       .num_sge = n,
						       .opcode = IBV_WR_SEND,
						       .send_flags = IBV_SEND_SIGNALED };
		struct ibv_recv_wr *bad_recv, recv = { .wr_id = n, .sg_list = sge, .num_sge = n };
		uint32_t total = 0, at = 0;

		memset(p.b->buf, 0, 32768);
		/* receive: elements in reverse order of address, one of them empty */
		for (uint32_t i = 0; i < n; i++)
			sge[i] = (struct ibv_sge){ (uintptr_t)p.b->buf + 1 + (n - i) * 300,
						   i == 1 && n > 2 ? 0 : 200 + i, p.b->mr->lkey };
		check_ok(ibv_post_recv(p.b->qp, &recv, &bad_recv));
		for (uint32_t i = 0; i < n; i++) {
			sge[i] = (struct ibv_sge){ (uintptr_t)p.a->buf + 3 + i * 201, 97 - i,
						   p.a->mr->lkey };
			fill(p.a->buf + 3 + i * 201, 97 - i, i + 9);
			total += 97 - i;
		}
		check_ok(ibv_post_send(p.a->qp, &send, &bad_send));
		check_equal(expect_ok(p.b->rcq, n).byte_len, total);
		expect_ok(p.a->scq, n);
		/* walk both lists again */
		for (uint32_t i = 0, left = 0, to = 0; i < n; i++) {
			for (uint32_t k = 0; k < 97 - i; k++, at++) {
				unsigned char want;

				while (!left) {
					left = to == 1 && n > 2 ? 0 : 200 + to;
					at = 1 + (n - to) * 300;
					to++;
				}
				want = ((unsigned char *)p.a->buf)[3 + i * 201 + k];
				check_equal(((unsigned char *)p.b->buf)[at], want);
				left--;
			}
		}
	}
	pair_close(&p);
}

static void more_elements_than_the_queue_pair_has_are_refused(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_qp_init_attr init;
	struct ibv_sge sge[65] = { 0 };
	struct ibv_send_wr *bad_send = NULL, send = { .sg_list = sge, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr *bad_recv = NULL, recv = { .sg_list = sge };
	struct ibv_qp_attr attr;
	struct pair p = pair_open(&o);

	check_ok(ibv_query_qp(p.a->qp, &attr, IBV_QP_CAP, &init));
	check(init.cap.max_send_sge >= o.send_sge && init.cap.max_recv_sge >= o.recv_sge);
	send.num_sge = init.cap.max_send_sge + 1;
	recv.num_sge = init.cap.max_recv_sge + 1;
	check(send.num_sge <= 65 && recv.num_sge <= 65);
	for (int i = 0; i < 65; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)p.a->buf, 1, p.a->mr->lkey };
	check(ibv_post_send(p.a->qp, &send, &bad_send) != 0);
	check(bad_send == &send);
	check(ibv_post_recv(p.a->qp, &recv, &bad_recv) != 0);
	check(bad_recv == &recv);
	/* nothing of it went out, and the queue works */
	post_recv(p.b, 1, 0, 10);
	send_one(p.a, 5, 0, 2);
	take_one(p.b, 5, 0, 1);
	expect_ok(p.a->scq, 2);
	check_empty(p.a->scq);
	pair_close(&p);
}

static void a_full_send_queue_refuses_and_names_the_request(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	unsigned int most;
	struct pair p;
	int err = 0;

	o.send_wr = 16;
	o.cqe = 4096;
	p = pair_open(&o);
	check_ok(ibv_query_qp(p.a->qp, &attr, IBV_QP_CAP, &init));
	check(init.cap.max_send_wr >= 16);
	/* no receive is posted: everything waits */
	for (most = 0; most < 4096; most++) {
		err = try_post(p.a, &(struct work){ .id = most,
						    .op = IBV_WR_SEND,
						    .flags = IBV_SEND_SIGNALED,
						    .len = 8 });
		if (err)
			break;
	}
	check_equal(err, ENOMEM);
	check(most >= 16);
	for (unsigned int i = 0; i < most; i++) {
		post_recv(p.b, i, 0, 8);
		expect_ok(p.b->rcq, i);
		expect_ok(p.a->scq, i);
	}
	/* room again */
	post_recv(p.b, 1, 0, 8);
	send_one(p.a, 8, 0, 2);
	take_one(p.b, 8, 0, 1);
	expect_ok(p.a->scq, 2);
	pair_close(&p);
}

static void a_full_receive_queue_refuses(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_recv_wr *bad = NULL, wr = { .wr_id = 1 };
	unsigned int most = 0;
	struct pair p;

	o.recv_wr = 16;
	p = pair_open(&o);
	while (!ibv_post_recv(p.b->qp, &wr, &bad)) {
		most++;
		check(most < 4096);
	}
	check(most >= 16);
	check(bad == &wr);
	check_equal(ibv_post_recv(p.b->qp, &wr, &bad), ENOMEM);
	pair_close(&p);
}

static void a_list_is_posted_up_to_the_bad_request(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr[3], *bad = NULL;
	struct pair p = pair_open(NULL);

	fill(p.a->buf, 64, 1);
	sge = (struct ibv_sge){ (uintptr_t)p.a->buf, 64, p.a->mr->lkey };
	for (int i = 0; i < 3; i++)
		wr[i] = (struct ibv_send_wr){ .wr_id = i,
					      .next = i < 2 ? &wr[i + 1] : NULL,
					      .sg_list = &sge,
					      .num_sge = 1,
					      .opcode = IBV_WR_SEND,
					      .send_flags = IBV_SEND_SIGNALED };
	wr[1].opcode = (enum ibv_wr_opcode)1000;
	post_recv(p.b, 1, 0, 64);
	post_recv(p.b, 2, 64, 64);
	check_equal(ibv_post_send(p.a->qp, wr, &bad), EINVAL);
	check(bad == &wr[1]);
	expect_ok(p.a->scq, 0);
	expect_ok(p.b->rcq, 1);
	check_ok(ibv_post_send(p.a->qp, &wr[2], &bad));
	expect_ok(p.a->scq, 2);
	expect_ok(p.b->rcq, 2);
	check_empty(p.a->scq);
	pair_close(&p);
}

static void receives_may_be_posted_in_init(void)
{
	struct end *a = end_open(NULL), *b = end_open(NULL);
	struct address to_a = end_address(a), to_b = end_address(b);

	end_to_init(b);
	post_recv(b, 1, 0, 100);
	end_to_rtr(b, &to_a);
	end_connect(a, &to_b);
	send_one(a, 50, 0, 2);
	take_one(b, 50, 0, 1);
	expect_ok(a->scq, 2);
	end_close(a);
	end_close(b);
}

static void posting_is_refused_in_states_that_forbid_it(void)
{
	struct ibv_recv_wr *bad_recv = NULL, recv = { .wr_id = 1 };
	struct end *e = end_open(NULL);
	struct work w = { .op = IBV_WR_SEND, .len = 1 };

	/* RESET: neither; INIT: receives only */
	check(try_post(e, &w) != 0);
	check(ibv_post_recv(e->qp, &recv, &bad_recv) != 0);
	end_to_init(e);
	check(try_post(e, &w) != 0);
	check_ok(ibv_post_recv(e->qp, &recv, &bad_recv));
	end_close(e);
}

static void a_queue_pair_may_be_connected_to_itself(void)
{
	struct end *e = end_open(NULL);
	struct address me = end_address(e);

	end_connect(e, &me);
	for (int i = 0; i < 20; i++) {
		post_recv(e, 1, 4096, 4096);
		send_one(e, 4000, 0, 2);
		take_one(e, 4000, 4096, 1);
		expect_ok(e->scq, 2);
	}
	end_close(e);
}

static void ten_thousand_messages_keep_their_order(void)
{
	struct options o = options_of(IBV_QPT_RC);
	const unsigned int total = 10000, depth = 48;
	unsigned int posted = 0, sent = 0, got = 0, done = 0;
	struct pair p;

	o.bytes = 1 << 20;
	p = pair_open(&o);
	wait_for(({
		struct ibv_wc wc;

		while (posted < total && posted - got < depth) {
			post_recv(p.b, posted, (posted % depth) * 4096, 4096);
			posted++;
		}
		while (sent < total && sent - done < depth && sent < posted) {
			memcpy(p.a->buf + sent % depth * 4096, &sent, sizeof(sent));
			post(p.a, &(struct work){ .id = sent,
						  .op = IBV_WR_SEND,
						  .flags = IBV_SEND_SIGNALED,
						  .off = sent % depth * 4096,
						  .len = sent % 2 ? 4 : 3000 });
			sent++;
		}
		while (ibv_poll_cq(p.a->scq, 1, &wc) == 1) {
			check_equal(wc.status, IBV_WC_SUCCESS);
			check_equal(wc.wr_id, done);
			done++;
		}
		while (ibv_poll_cq(p.b->rcq, 1, &wc) == 1) {
			check_equal(wc.status, IBV_WC_SUCCESS);
			check_equal(wc.wr_id, got);
			check(!memcmp(p.b->buf + got % depth * 4096, &got, sizeof(got)));
			got++;
		}
		got == total &&done == total;
	}));
	pair_close(&p);
}

/* ---- two processes ---- */

static void echo(int fd)
{
	struct options o = roomy();
	struct end *e = end_open(&o);

	end_meet(e, fd);
	for (size_t i = 0; i < array_size(sizes); i++) {
		post_recv(e, i, i % 5, sizes[i]);
		tell_mark(fd, 'p');
		take_one(e, sizes[i], i % 5, i);
		hear_mark(fd, 'p');
		send_one(e, sizes[i], 1, i);
		expect_ok(e->scq, i);
	}
	tell_mark(fd, 'E');
	hear_mark(fd, 'E');
	end_close(e);
}

static void messages_of_every_size_cross_processes_and_back(void)
{
	struct peer peer = peer_start(echo);
	struct options o = roomy();
	struct end *e = end_open(&o);

	end_meet(e, peer.fd);
	for (size_t i = 0; i < array_size(sizes); i++) {
		hear_mark(peer.fd, 'p');
		send_one(e, sizes[i], i % 3, i);
		expect_ok(e->scq, i);
		post_recv(e, i, 2, sizes[i]);
		tell_mark(peer.fd, 'p');
		take_one(e, sizes[i], 2, i);
	}
	hear_mark(peer.fd, 'E');
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

#define STREAM 3000u

/* Both ways at once, each side at its own speed. */
static void stream(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	unsigned int posted = 0, sent = 0, got = 0, done = 0;
	struct end *e;

	o.bytes = 1 << 20;
	e = end_open(&o);
	end_meet(e, fd);
	wait_for(({
		struct ibv_wc wc;

		for (; posted < STREAM && posted - got < 32; posted++)
			post_recv(e, posted, (posted % 32) * 8192, 8192);
		for (; sent < STREAM && sent - done < 32; sent++) {
			uint32_t len = 8 + sent * 37 % 8000;
			size_t off = (1 << 19) + (sent % 32) * 8192;

			memcpy(e->buf + off, &sent, sizeof(sent));
			e->buf[off + len - 1] = sent & 0x7f;
			post(e, &(struct work){ .id = sent,
						.op = IBV_WR_SEND,
						.flags = IBV_SEND_SIGNALED,
						.off = off,
						.len = len });
		}
		while (ibv_poll_cq(e->scq, 1, &wc) == 1) {
			check_equal(wc.status, IBV_WC_SUCCESS);
			check_equal(wc.wr_id, done);
			done++;
		}
		while (ibv_poll_cq(e->rcq, 1, &wc) == 1) {
			char *at = e->buf + (got % 32) * 8192;

			check_equal(wc.status, IBV_WC_SUCCESS);
			check_equal(wc.wr_id, got);
			check_equal(wc.byte_len, 8 + got * 37 % 8000);
			check_equal(at[wc.byte_len - 1], got & 0x7f);
			check(!memcmp(at, &got, sizeof(got)));
			got++;
		}
		got == STREAM &&done == STREAM;
	}));
	tell_mark(fd, 'E');
	hear_mark(fd, 'E');
	end_close(e);
}

static void two_processes_stream_both_ways_at_once(void)
{
	struct peer peer = peer_start(stream);

	stream(peer.fd);
	peer_join(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(messages_of_every_size_arrive_whole),
		TEST(a_message_may_fill_the_receive_exactly),
		TEST(sixteen_mebibytes_arrive_whole),
		TEST(immediate_data_arrives_in_network_order),
		TEST(messages_take_receives_in_the_order_of_posting),
		TEST(gather_and_scatter_take_every_count_of_elements),
		TEST(more_elements_than_the_queue_pair_has_are_refused),
		TEST(a_full_send_queue_refuses_and_names_the_request),
		TEST(a_full_receive_queue_refuses),
		TEST(a_list_is_posted_up_to_the_bad_request),
		TEST(receives_may_be_posted_in_init),
		TEST(posting_is_refused_in_states_that_forbid_it),
		TEST(a_queue_pair_may_be_connected_to_itself),
		TEST(ten_thousand_messages_keep_their_order),
		TEST(messages_of_every_size_cross_processes_and_back),
		TEST(two_processes_stream_both_ways_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
