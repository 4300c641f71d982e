/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which requests complete, and in which order: unsignaled, sq_sig_all, fence.
 */
#include "rig.h"

static void unsignaled_requests_complete_silently(void)
{
	struct pair p = pair_open(NULL);

	for (unsigned int i = 0; i < 8; i++)
		post_recv(p.b, i, 0, 64);
	for (unsigned int i = 0; i < 8; i++)
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_SEND,
					  .flags = i == 7 ? IBV_SEND_SIGNALED : 0,
					  .len = 8 });
	expect_ok(p.a->scq, 7);
	check_empty(p.a->scq);
	for (unsigned int i = 0; i < 8; i++)
		expect_ok(p.b->rcq, i);
	pair_close(&p);
}

/* The signaled ones tell the driver that the others are gone, too: the queue never fills up. */
static void one_signal_frees_the_room_of_all_before_it(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.send_wr = 16;
	p = pair_open(&o);
	for (unsigned int i = 0; i < 2000; i++) {
		bool last = i % 15 == 14;

		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_RDMA_WRITE,
					  .flags = last ? IBV_SEND_SIGNALED : 0,
					  .len = 8,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey });
		if (last)
			expect_ok(p.a->scq, i);
	}
	check_empty(p.a->scq);
	pair_close(&p);
}

static void sq_sig_all_signals_every_request(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.sig_all = true;
	p = pair_open(&o);
	post_recv(p.b, 1, 0, 64);
	post(p.a, &(struct work){ .id = 1, .op = IBV_WR_SEND, .len = 8 });
	post(p.a, &(struct work){ .id = 2,
				  .op = IBV_WR_RDMA_WRITE,
				  .len = 8,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey });
	post(p.a, &(struct work){ .id = 3,
				  .op = IBV_WR_RDMA_READ,
				  .len = 8,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey });
	for (unsigned int i = 1; i <= 3; i++)
		expect_ok(p.a->scq, i);
	check_empty(p.a->scq);
	pair_close(&p);
}

static void an_error_completes_even_unsignaled_requests(void)
{
	struct pair p = pair_open(NULL);

	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_RDMA_WRITE,
				  .len = 8,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey ^ 0x100 });
	post(p.a, &(struct work){ .id = 2, .op = IBV_WR_SEND, .len = 8 });
	expect_wc(p.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_wc(p.a->scq, 2, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

/* A fenced request starts after the reads before it: it may send what they brought. */
static void a_fenced_send_carries_what_the_read_before_it_brought(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.bytes = 1 << 20;
	p = pair_open(&o);
	for (unsigned int i = 0; i < 50; i++) {
		uint32_t len = i % 2 ? 60000 : 64;

		post_recv(p.b, i, 1 << 19, 1 << 17);
		fill(p.b->buf, len, i);
		memset(p.a->buf, 0, len);
		post(p.a, &(struct work){ .op = IBV_WR_RDMA_READ,
					  .len = len,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey });
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_SEND,
					  .flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
					  .len = len });
		expect_ok(p.b->rcq, i);
		check_filled(p.b->buf + (1 << 19), len, i);
		expect_ok(p.a->scq, i);
	}
	pair_close(&p);
}

static void a_fence_without_reads_costs_nothing(void)
{
	struct pair p = pair_open(NULL);

	post_recv(p.b, 1, 0, 8);
	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_SEND,
				  .flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED,
				  .len = 8 });
	expect_ok(p.a->scq, 1);
	expect_ok(p.b->rcq, 1);
	pair_close(&p);
}

/* Kinds of requests take different ways through the adapter; completions keep the order. */
static void completions_of_mixed_work_keep_the_order_of_posting(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD,
						  IBV_WR_RDMA_WRITE_WITH_IMM };
	struct pair p = pair_open(NULL);
	unsigned int receives = 0;

	for (unsigned int i = 0; i < 64; i++)
		post_recv(p.b, i, 8192, 4096);
	for (unsigned int i = 0; i < 60; i++) {
		enum ibv_wr_opcode op = ops[(i * i + i / 7) % array_size(ops)];

		receives += op == IBV_WR_SEND || op == IBV_WR_RDMA_WRITE_WITH_IMM;
		post(p.a, &(struct work){ .id = i,
					  .op = op,
					  .flags = IBV_SEND_SIGNALED,
					  .off = i * 16,
					  .len = op == IBV_WR_SEND && i % 3 ? 3000 : 8,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey,
					  .compare = 1 });
	}
	for (unsigned int i = 0; i < 60; i++)
		expect_ok(p.a->scq, i);
	for (unsigned int i = 0; i < receives; i++)
		expect_ok(p.b->rcq, i);
	check_empty(p.b->rcq);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unsignaled_requests_complete_silently),
		TEST(one_signal_frees_the_room_of_all_before_it),
		TEST(sq_sig_all_signals_every_request),
		TEST(an_error_completes_even_unsignaled_requests),
		TEST(a_fenced_send_carries_what_the_read_before_it_brought),
		TEST(a_fence_without_reads_costs_nothing),
		TEST(completions_of_mixed_work_keep_the_order_of_posting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
