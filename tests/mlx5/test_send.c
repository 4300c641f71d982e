/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_post_send() and ibv_post_recv(), by every transport. */
#include "pair.h"

#include <errno.h>

#define HALF (PAIR_BUF / 2)

static struct pair p;

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static void make(enum ibv_qp_type type)
{
	pair_make(&p, &(struct pair_wish){ .type = type });
}

/* Where a message's bytes land: datagrams have 40 bytes of header room before them. */
static size_t head(void)
{
	return p.qp[0]->qp_type == IBV_QPT_UD ? 40 : 0;
}

static void send_one(uint32_t length, unsigned int flags, uint8_t seed)
{
	struct ibv_sge sge = pair_sge(&p, 0, length);
	struct ibv_send_wr wr = { .wr_id = seed,
				  .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED | flags };
	struct ibv_wc wc;

	pair_pattern(p.buf, length, seed);
	memset(p.buf + HALF, 0, head() + length);
	pair_post_recv(&p, 1, 1000 + seed, HALF, head() + length + 64);
	pair_fill_wr(&p, &wr, HALF);
	pair_post(&p, &wr);
	pair_expect(p.cq[0], IBV_WC_SEND, seed);
	wc = pair_expect(p.cq[1], IBV_WC_RECV, 1000 + seed);
	assert_int_equal(wc.byte_len, head() + length);
	assert_int_equal(wc.qp_num, p.tgt[1] ? p.tgt[1]->qp_num : p.qp[1]->qp_num);
	if (p.qp[0]->qp_type == IBV_QPT_UD) {
		assert_int_equal(wc.src_qp, p.qp[0]->qp_num);
		assert_true(wc.wc_flags & IBV_WC_GRH);
	}
	assert_true(pair_is_pattern(p.buf + HALF + head(), length, seed));
}

static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND };

/* Many more than the rings have room for, so that every one of them wraps. */
static void messages_arrive_whole_over_many_laps(void **state)
{
	for (size_t t = 0; t < 4; t++) {
		make(types[t]);
		for (int i = 0; i < 700; i++)
			send_one(1 + i % 900, 0, i);
		if (t < 3)
			pair_drop(&p);
	}
}

static void inline_data_of_every_length_arrives_over_many_laps(void **state)
{
	for (size_t t = 0; t < 4; t++) {
		pair_make(&p, &(struct pair_wish){ .type = types[t],
						   .cap = { .max_inline_data = 400 } });
		for (int i = 0; i <= 800; i++)
			send_one(i % 401, IBV_SEND_INLINE, i);
		if (t < 3)
			pair_drop(&p);
	}
}

static void a_message_is_gathered_from_all_elements(void **state)
{
	struct ibv_sge sge[4];
	struct ibv_send_wr wr = { .wr_id = 5,
				  .opcode = IBV_WR_SEND,
				  .sg_list = sge,
				  .num_sge = 4,
				  .send_flags = IBV_SEND_SIGNALED };

	make(IBV_QPT_RC);
	pair_pattern(p.buf, 100, 9);
	for (int round = 0; round < 200; round++) {
		/* An empty element in the midst does no harm. */
		sge[0] = pair_sge(&p, 0, 10);
		sge[1] = pair_sge(&p, 77, 0);
		sge[2] = pair_sge(&p, 10, 60);
		sge[3] = pair_sge(&p, 70, 30);
		memset(p.buf + HALF, 0, 100);
		pair_post_recv(&p, 1, 6, HALF, 100);
		pair_post(&p, &wr);
		pair_expect(p.cq[0], IBV_WC_SEND, 5);
		assert_int_equal(pair_expect(p.cq[1], IBV_WC_RECV, 6).byte_len, 100);
		assert_true(pair_is_pattern(p.buf + HALF, 100, 9));
	}
}

static void immediate_data_is_handed_over(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED
	};
	struct ibv_wc wc;

	for (size_t t = 0; t < 4; t++) {
		make(types[t]);
		sge = pair_sge(&p, 0, 8);
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = htobe32(0xcafe);
		pair_fill_wr(&p, &wr, HALF);
		pair_post_recv(&p, 1, 2, HALF, 100);
		pair_post(&p, &wr);
		pair_expect(p.cq[0], IBV_WC_SEND, 1);
		wc = pair_expect(p.cq[1], IBV_WC_RECV, 2);
		assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
		assert_int_equal(wc.imm_data, htobe32(0xcafe));
		if (types[t] != IBV_QPT_UD) {
			wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			pair_post_recv(&p, 1, 3, HALF, 100);
			pair_post(&p, &wr);
			pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 1);
			wc = pair_expect(p.cq[1], IBV_WC_RECV_RDMA_WITH_IMM, 3);
			assert_int_equal(wc.imm_data, htobe32(0xcafe));
			assert_int_equal(wc.byte_len, 8);
		}
		if (t < 3)
			pair_drop(&p);
	}
}

static void rdma_moves_bytes_both_ways(void **state)
{
	const enum ibv_qp_type reliable[] = { IBV_QPT_RC, IBV_QPT_XRC_SEND };

	for (int t = 0; t < 2; t++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = { .wr_id = 1,
					  .opcode = IBV_WR_RDMA_WRITE,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .send_flags = IBV_SEND_SIGNALED };

		make(reliable[t]);
		sge = pair_sge(&p, 0, 100000);
		pair_fill_wr(&p, &wr, HALF);
		pair_pattern(p.buf, 100000, 3);
		pair_post(&p, &wr);
		pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 1);
		assert_true(pair_is_pattern(p.buf + HALF, 100000, 3));
		pair_pattern(p.buf + HALF, 100000, 77);
		wr.opcode = IBV_WR_RDMA_READ;
		pair_post(&p, &wr);
		assert_int_equal(pair_expect(p.cq[0], IBV_WC_RDMA_READ, 1).byte_len, 100000);
		assert_true(pair_is_pattern(p.buf, 100000, 77));
		if (!t)
			pair_drop(&p);
	}
}

static void atomics_return_what_was_there(void **state)
{
	const enum ibv_qp_type reliable[] = { IBV_QPT_RC, IBV_QPT_XRC_SEND };

	for (int t = 0; t < 2; t++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = { .wr_id = 1,
					  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .send_flags = IBV_SEND_SIGNALED };
		uint64_t *local, *remote;

		make(reliable[t]);
		local = (uint64_t *)p.buf;
		remote = (uint64_t *)(p.buf + HALF);
		sge = pair_sge(&p, 0, 8);
		pair_fill_wr(&p, &wr, HALF);
		*remote = 40;
		wr.wr.atomic.compare_add = 2;
		pair_post(&p, &wr);
		assert_int_equal(pair_expect(p.cq[0], IBV_WC_FETCH_ADD, 1).byte_len, 8);
		assert_int_equal(*local, 40);
		assert_int_equal(*remote, 42);
		wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
		wr.wr.atomic.compare_add = 42;
		wr.wr.atomic.swap = 7;
		pair_post(&p, &wr);
		pair_expect(p.cq[0], IBV_WC_COMP_SWAP, 1);
		assert_int_equal(*local, 42);
		assert_int_equal(*remote, 7);
		if (!t)
			pair_drop(&p);
	}
}

static void only_signaled_requests_complete(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr[8] = { 0 };
	struct ibv_wc wc;

	make(IBV_QPT_RC);
	sge = pair_sge(&p, 0, 8);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 8; i++) {
			wr[i] = (struct ibv_send_wr){ .wr_id = i,
						      .opcode = IBV_WR_RDMA_WRITE,
						      .sg_list = &sge,
						      .num_sge = 1,
						      .next = i < 7 ? &wr[i + 1] : NULL };
			pair_fill_wr(&p, &wr[i], HALF);
		}
		wr[7].send_flags = IBV_SEND_SIGNALED;
		pair_post(&p, wr);
		pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 7);
		assert_int_equal(ibv_poll_cq(p.cq[0], 1, &wc), 0);
	}
}

static void a_qp_may_signal_everything(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1
	};

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .sig_all = true });
	sge = pair_sge(&p, 0, 8);
	pair_fill_wr(&p, &wr, HALF);
	pair_post(&p, &wr);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 1);
}

static struct ibv_mw *bind_window(enum ibv_mw_type type, unsigned int access)
{
	struct ibv_mw *mw = ibv_alloc_mw(p.pd, type);
	struct ibv_mw_bind_info info = { .mr = p.mr,
					 .addr = (uintptr_t)p.buf + HALF,
					 .length = 4096,
					 .mw_access_flags = access };

	assert_non_null(mw);
	if (type == IBV_MW_TYPE_1) {
		struct ibv_mw_bind bind = { .wr_id = 11,
					    .send_flags = IBV_SEND_SIGNALED,
					    .bind_info = info };

		assert_int_equal(ibv_bind_mw(p.qp[1], mw, &bind), 0);
	} else {
		struct ibv_send_wr wr = { .wr_id = 11,
					  .opcode = IBV_WR_BIND_MW,
					  .send_flags = IBV_SEND_SIGNALED },
				   *bad;

		wr.bind_mw.mw = mw;
		wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
		wr.bind_mw.bind_info = info;
		assert_int_equal(ibv_post_send(p.qp[1], &wr, &bad), 0);
		mw->rkey = wr.bind_mw.rkey;
	}
	pair_expect(p.cq[1], IBV_WC_BIND_MW, 11);
	return mw;
}

static enum ibv_wc_status write_through(uint32_t rkey)
{
	struct ibv_sge sge = pair_sge(&p, 0, 64);
	struct ibv_send_wr wr = { .wr_id = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };

	pair_fill_wr(&p, &wr, HALF);
	wr.wr.rdma.rkey = rkey;
	pair_post(&p, &wr);
	return pair_wait(p.cq[0]).status;
}

static void windows_of_both_types_open_memory(void **state)
{
	for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		struct ibv_mw *mw;

		make(IBV_QPT_RC);
		mw = bind_window(type, IBV_ACCESS_REMOTE_WRITE);
		assert_int_equal(write_through(mw->rkey), IBV_WC_SUCCESS);
		assert_int_equal(ibv_dealloc_mw(mw), 0);
		if (type == IBV_MW_TYPE_1)
			pair_drop(&p);
	}
}

static void an_invalidated_window_is_shut(void **state)
{
	struct ibv_send_wr wr = { .wr_id = 12,
				  .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_mw *mw;

	make(IBV_QPT_RC);
	mw = bind_window(IBV_MW_TYPE_2, IBV_ACCESS_REMOTE_WRITE);
	wr.invalidate_rkey = mw->rkey;
	assert_int_equal(ibv_post_send(p.qp[1], &wr, &bad), 0);
	pair_expect(p.cq[1], IBV_WC_LOCAL_INV, 12);
	assert_int_equal(write_through(mw->rkey), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void a_send_may_invalidate_a_window(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 1,
				  .opcode = IBV_WR_SEND_WITH_INV,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw;
	struct ibv_wc wc;

	make(IBV_QPT_RC);
	mw = bind_window(IBV_MW_TYPE_2, IBV_ACCESS_REMOTE_WRITE);
	sge = pair_sge(&p, 0, 8);
	wr.invalidate_rkey = mw->rkey;
	pair_post_recv(&p, 1, 2, HALF, 64);
	pair_post(&p, &wr);
	pair_expect(p.cq[0], IBV_WC_SEND, 1);
	wc = pair_expect(p.cq[1], IBV_WC_RECV, 2);
	assert_true(wc.wc_flags & IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, mw->rkey);
	assert_int_equal(write_through(mw->rkey), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void an_operation_that_the_transport_lacks_fails_in_the_adapter(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 1,
				  .opcode = IBV_WR_RDMA_READ,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	make(IBV_QPT_UC);
	sge = pair_sge(&p, 0, 8);
	pair_fill_wr(&p, &wr, HALF);
	pair_post(&p, &wr);
	wc = pair_wait(p.cq[0]);
	assert_int_equal(wc.status, IBV_WC_LOC_QP_OP_ERR);
	assert_int_equal(wc.vendor_err, 0x68);
	assert_int_equal(wc.wr_id, 1);
}

static void after_an_error_everything_is_flushed_in_order(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;

	make(IBV_QPT_RC);
	sge = pair_sge(&p, 0, 8);
	pair_post_recv(&p, 0, 50, 4096, 8);
	pair_post_recv(&p, 0, 51, 4096, 8);
	pair_to_error(p.qp[0]);
	for (int i = 0; i < 2; i++) {
		wc = pair_wait(p.cq[0]);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.wr_id, 50 + i);
	}
	/* Posting goes on; unsignaled requests complete too, and receives at once. */
	pair_fill_wr(&p, &wr, HALF);
	for (int i = 0; i < 100; i++) {
		wr.wr_id = i;
		pair_post(&p, &wr);
		wc = pair_wait(p.cq[0]);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.wr_id, i);
	}
	pair_post_recv(&p, 0, 52, 4096, 8);
	assert_int_equal(pair_wait(p.cq[0]).wr_id, 52);
}

#define T(name) cmocka_unit_test_teardown(name, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(messages_arrive_whole_over_many_laps),
		T(inline_data_of_every_length_arrives_over_many_laps),
		T(a_message_is_gathered_from_all_elements),
		T(immediate_data_is_handed_over),
		T(rdma_moves_bytes_both_ways),
		T(atomics_return_what_was_there),
		T(only_signaled_requests_complete),
		T(a_qp_may_signal_everything),
		T(windows_of_both_types_open_memory),
		T(an_invalidated_window_is_shut),
		T(a_send_may_invalidate_a_window),
		T(an_operation_that_the_transport_lacks_fails_in_the_adapter),
		T(after_an_error_everything_is_flushed_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
