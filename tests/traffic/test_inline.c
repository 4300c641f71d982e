/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inline data: up to the limit that the queue pair has, refused above; the memory is free again as
 * soon as the post returns, and needs no key.
 */
#include "rig.h"

static uint32_t limit_of(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	check_ok(ibv_query_qp(e->qp, &attr, IBV_QP_CAP, &init));
	return init.cap.max_inline_data;
}

/* The largest that create accepts. */
static uint32_t largest(enum ibv_qp_type type)
{
	struct ibv_pd *pd = must(ibv_alloc_pd(rig_context()));
	struct ibv_cq *cq = must(ibv_create_cq(rig_context(), 16, NULL, NULL, 0));
	uint32_t good = 0, bad = 1 << 16;

	while (bad - good > 1) {
		uint32_t middle = (good + bad) / 2;
		struct ibv_qp_init_attr attr = {
			.send_cq = cq, .recv_cq = cq, .cap = { 4, 4, 1, 1, middle }, .qp_type = type
		};
		struct ibv_qp *qp = ibv_create_qp(pd, &attr);

		if (qp) {
			check(attr.cap.max_inline_data >= middle);
			check_ok(ibv_destroy_qp(qp));
			good = middle;
		} else {
			check(errno == EINVAL || errno == ENOMEM);
			bad = middle;
		}
	}
	check_ok(ibv_destroy_cq(cq));
	check_ok(ibv_dealloc_pd(pd));
	return good;
}

static int post_inline(struct end *e, enum ibv_wr_opcode op, const char *from, uint32_t len,
		       int pieces)
{
	struct ibv_sge sge[16];
	struct ibv_send_wr *bad, wr = { .wr_id = len,
					.sg_list = sge,
					.num_sge = pieces,
					.opcode = op,
					.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };

	wr.wr.rdma.remote_addr = e->to.va;
	wr.wr.rdma.rkey = e->to.rkey;
	for (int i = 0; i < pieces; i++) {
		uint32_t at = (uint64_t)len * i / pieces, end = (uint64_t)len * (i + 1) / pieces;

		/* no key: inline data has none */
		sge[i] = (struct ibv_sge){ (uintptr_t)from + at, end - at, 0 };
	}
	return ibv_post_send(e->qp, &wr, &bad);
}

/* The entry in the send ring is no place for an answer. */
static void an_answer_cannot_be_inline(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD };

	for (size_t i = 0; i < array_size(ops); i++) {
		struct options o = options_of(IBV_QPT_RC);
		struct pair p;
		uint64_t mine = 7;

		o.inline_bytes = 64;
		p = pair_open(&o);
		memset(p.b->buf, 0, 8);
		check_ok(post_inline(p.a, ops[i], (char *)&mine, 8, 1));
		expect_wc(p.a->scq, 8, IBV_WC_LOC_QP_OP_ERR);
		check_equal(mine, 7);
		check(is_all(p.b->buf, 8, 0));
		check_equal(end_state(p.a), IBV_QPS_ERR);
		pair_close(&p);
	}
}

static void every_length_up_to_the_limit_goes_inline(void)
{
	struct options o = options_of(IBV_QPT_RC);
	char stack[2048];
	struct pair p;
	uint32_t most;

	o.inline_bytes = largest(IBV_QPT_RC);
	check(o.inline_bytes >= 64);
	o.send_wr = o.recv_wr = 8;
	o.send_sge = 4;
	p = pair_open(&o);
	most = limit_of(p.a);
	check(most >= o.inline_bytes && most < sizeof(stack));
	for (uint32_t len = 0; len <= most; len++) {
		post_recv(p.b, len, 4096, most);
		fill(stack, len, len);
		check_ok(post_inline(p.a, IBV_WR_SEND, stack, len, 1 + len % 4));
		memset(stack, 0, sizeof(stack));
		check_equal(expect_ok(p.b->rcq, len).byte_len, len);
		check_filled(p.b->buf + 4096, len, len);
		expect_ok(p.a->scq, len);
		fill(stack, len, len + 1);
		check_ok(post_inline(p.a, IBV_WR_RDMA_WRITE, stack, len, 1 + len % 3));
		memset(stack, 0, sizeof(stack));
		expect_ok(p.a->scq, len);
		check_filled(p.b->buf, len, len + 1);
	}
	pair_close(&p);
}

static void one_byte_above_the_limit_is_refused(void)
{
	struct options o = options_of(IBV_QPT_RC);
	char stack[4096];
	struct pair p;
	uint32_t most;

	o.inline_bytes = 100;
	p = pair_open(&o);
	most = limit_of(p.a);
	check(most >= 100);
	fill(stack, sizeof(stack), 1);
	post_recv(p.b, 1, 0, 4096);
	check(post_inline(p.a, IBV_WR_SEND, stack, most + 1, 1) != 0);
	check(post_inline(p.a, IBV_WR_SEND, stack, most + 1, 2) != 0);
	check_empty(p.b->rcq);
	check_ok(post_inline(p.a, IBV_WR_SEND, stack, most, 1));
	check_equal(expect_ok(p.b->rcq, 1).byte_len, most);
	expect_ok(p.a->scq, most);
	pair_close(&p);
}

static void create_refuses_more_than_the_adapter_has(void)
{
	struct ibv_pd *pd = must(ibv_alloc_pd(rig_context()));
	struct ibv_cq *cq = must(ibv_create_cq(rig_context(), 16, NULL, NULL, 0));
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .cap = { 4, 4, 1, 1, 1 << 20 }, .qp_type = IBV_QPT_RC
	};

	check_refused(ibv_create_qp(pd, &attr), EINVAL);
	check_ok(ibv_destroy_cq(cq));
	check_ok(ibv_dealloc_pd(pd));
}

/* The request waits in the queue while its memory is long overwritten. */
static void inline_data_of_a_queued_request_is_kept(void)
{
	struct options o = options_of(IBV_QPT_RC);
	char stack[64];
	struct pair p;

	o.inline_bytes = 64;
	p = pair_open(&o);
	for (unsigned int i = 0; i < 8; i++) {
		fill(stack, 64, i);
		check_ok(post_inline(p.a, IBV_WR_SEND, stack, 64, 1));
	}
	memset(stack, 0, sizeof(stack));
	for (unsigned int i = 0; i < 8; i++) {
		post_recv(p.b, i, 0, 64);
		expect_ok(p.b->rcq, i);
		check_filled(p.b->buf, 64, i);
		expect_ok(p.a->scq, 64);
	}
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_cannot_be_inline),
		TEST(every_length_up_to_the_limit_goes_inline),
		TEST(one_byte_above_the_limit_is_refused),
		TEST(create_refuses_more_than_the_adapter_has),
		TEST(inline_data_of_a_queued_request_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
