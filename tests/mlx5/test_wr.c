/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains built call by call: ibv_wr_start() to ibv_wr_complete(). */
#include "pair.h"

#include <errno.h>

#define HALF    (PAIR_BUF / 2)
#define OPS_ALL 0x3ff /* every flag that a reliable QP has */
#define OPS_UC                                                                                     \
	(OPS_ALL & ~(IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                \
		     IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD))
#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

static struct pair p;
static struct ibv_qp_ex *ex;

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static void make(enum ibv_qp_type type, uint64_t ops, uint32_t max_inline)
{
	pair_make(&p, &(struct pair_wish){
			      .type = type, .ops = ops, .cap = { .max_inline_data = max_inline } });
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	assert_non_null(ex);
}

static void begin(uint64_t wr_id)
{
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
}

static void address(void)
{
	uint32_t srqn;

	if (p.qp[0]->qp_type == IBV_QPT_UD) {
		ibv_wr_set_ud_addr(ex, p.ah, p.qp[1]->qp_num, PAIR_QKEY);
	} else if (p.qp[0]->qp_type == IBV_QPT_XRC_SEND) {
		assert_int_equal(ibv_get_srq_num(p.srq, &srqn), 0);
		ibv_wr_set_xrc_srqn(ex, srqn);
	}
}

static uint64_t remote(void)
{
	return (uintptr_t)p.buf + HALF;
}

static void every_transport_sends_over_many_laps(void **state)
{
	const struct {
		enum ibv_qp_type type;
		uint64_t ops;
	} kinds[] = { { IBV_QPT_RC, OPS_ALL },
		      { IBV_QPT_UC, OPS_UC },
		      { IBV_QPT_XRC_SEND, OPS_ALL },
		      { IBV_QPT_UD, OPS_UD } };

	for (int t = 0; t < 4; t++) {
		make(kinds[t].type, kinds[t].ops, 200);
		for (int i = 0; i < 500; i++) {
			uint32_t skip = kinds[t].type == IBV_QPT_UD ? 40 : 0, length = 1 + i % 200;

			pair_pattern(p.buf, length, i);
			memset(p.buf + HALF, 0, 300);
			pair_post_recv(&p, 1, i, HALF, 300);
			begin(i);
			ibv_wr_send_imm(ex, htobe32(i));
			/* The setters may come in either order. */
			if (i & 1)
				address();
			if (i & 2)
				ibv_wr_set_inline_data(ex, p.buf, length);
			else
				ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf, length);
			if (!(i & 1))
				address();
			assert_int_equal(ibv_wr_complete(ex), 0);
			pair_expect(p.cq[0], IBV_WC_SEND, i);
			assert_int_equal(pair_expect(p.cq[1], IBV_WC_RECV, i).imm_data, htobe32(i));
			assert_true(pair_is_pattern(p.buf + HALF + skip, length, i));
		}
		if (t < 3)
			pair_drop(&p);
	}
}

static void a_chain_holds_many_operations(void **state)
{
	uint64_t *word;

	make(IBV_QPT_RC, OPS_ALL, 64);
	word = (uint64_t *)(p.buf + HALF);
	for (int round = 0; round < 60; round++) {
		*word = 5;
		begin(1);
		ibv_wr_rdma_write(ex, p.mr->rkey, remote() + 64);
		ibv_wr_set_inline_data(ex, "hello", 6);
		ex->wr_id = 2;
		ibv_wr_atomic_fetch_add(ex, p.mr->rkey, remote(), 3);
		ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf, 8);
		ex->wr_id = 3;
		ibv_wr_atomic_cmp_swp(ex, p.mr->rkey, remote(), 8, 9);
		ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf + 8, 8);
		ex->wr_id = 4;
		ibv_wr_rdma_read(ex, p.mr->rkey, remote());
		ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf + 16, 8);
		assert_int_equal(ibv_wr_complete(ex), 0);
		pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 1);
		pair_expect(p.cq[0], IBV_WC_FETCH_ADD, 2);
		pair_expect(p.cq[0], IBV_WC_COMP_SWAP, 3);
		pair_expect(p.cq[0], IBV_WC_RDMA_READ, 4);
		assert_string_equal((char *)p.buf + HALF + 64, "hello");
		assert_int_equal(((uint64_t *)p.buf)[0], 5);
		assert_int_equal(((uint64_t *)p.buf)[1], 8);
		assert_int_equal(((uint64_t *)p.buf)[2], 9);
	}
}

static void lists_of_elements_and_of_inline_data_are_joined(void **state)
{
	const struct ibv_data_buf bufs[] = { { "abc", 3 }, { NULL, 0 }, { "defg", 5 } };
	struct ibv_sge sges[3];

	make(IBV_QPT_RC, OPS_ALL, 64);
	memcpy(p.buf, "vwxyz", 6);
	sges[0] = pair_sge(&p, 0, 2);
	sges[1] = pair_sge(&p, 9, 0);
	sges[2] = pair_sge(&p, 2, 4);
	begin(1);
	ibv_wr_rdma_write(ex, p.mr->rkey, remote());
	ibv_wr_set_inline_data_list(ex, 3, bufs);
	ibv_wr_rdma_write(ex, p.mr->rkey, remote() + 100);
	ibv_wr_set_sge_list(ex, 3, sges);
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 1);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 1);
	assert_string_equal((char *)p.buf + HALF, "abcdefg");
	assert_string_equal((char *)p.buf + HALF + 100, "vwxyz");
}

static void windows_are_bound_and_invalidated(void **state)
{
	struct ibv_mw_bind_info info;
	struct ibv_qp_ex *owner;
	struct ibv_mw *mw;
	uint32_t rkey;

	make(IBV_QPT_RC, OPS_ALL, 0);
	owner = ibv_qp_to_qp_ex(p.qp[1]);
	info = (struct ibv_mw_bind_info){ .mr = p.mr,
					  .addr = remote(),
					  .length = 64,
					  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_2);
	assert_non_null(mw);
	rkey = ibv_inc_rkey(mw->rkey);
	ibv_wr_start(owner);
	owner->wr_id = 8;
	owner->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(owner, mw, rkey, &info);
	assert_int_equal(ibv_wr_complete(owner), 0);
	pair_expect(p.cq[1], IBV_WC_BIND_MW, 8);
	begin(1);
	ibv_wr_rdma_write(ex, rkey, remote());
	ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf, 64);
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 1);
	ibv_wr_start(owner);
	owner->wr_id = 9;
	ibv_wr_local_inv(owner, rkey);
	assert_int_equal(ibv_wr_complete(owner), 0);
	pair_expect(p.cq[1], IBV_WC_LOCAL_INV, 9);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* A write whose only trace is its completion and one byte. */
static void poke(uint64_t wr_id, uint8_t value)
{
	begin(wr_id);
	p.buf[0] = value;
	ibv_wr_rdma_write(ex, p.mr->rkey, remote());
	ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf, 1);
}

static void an_aborted_chain_leaves_no_trace(void **state)
{
	struct ibv_wc wc;

	make(IBV_QPT_RC, OPS_ALL, 0);
	for (int i = 0; i < 300; i++) {
		poke(1, 200);
		ibv_wr_abort(ex);
	}
	assert_int_equal(ibv_poll_cq(p.cq[0], 1, &wc), 0);
	assert_int_equal(p.buf[HALF], 0);
	poke(2, 7);
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 2);
	assert_int_equal(p.buf[HALF], 7);
}

static void an_error_takes_back_the_whole_chain(void **state)
{
	struct ibv_sge sges[5] = { 0 };
	struct ibv_wc wc;

	make(IBV_QPT_RC, OPS_ALL, 60);
	poke(1, 200);
	ibv_wr_rdma_write(ex, p.mr->rkey, remote());
	ibv_wr_set_inline_data(ex, p.buf, 61);
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	poke(1, 200);
	ibv_wr_rdma_write(ex, p.mr->rkey, remote());
	ibv_wr_set_sge_list(ex, 5, sges);
	/* What follows the error counts no more. */
	ibv_wr_rdma_write(ex, p.mr->rkey, remote());
	ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf, 1);
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	assert_int_equal(ibv_poll_cq(p.cq[0], 1, &wc), 0);
	assert_int_equal(p.buf[HALF], 0);
	poke(2, 7);
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 2);
}

static void a_chain_longer_than_the_queue_is_refused(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	make(IBV_QPT_RC, OPS_ALL, 0);
	assert_int_equal(ibv_query_qp(p.qp[0], &attr, IBV_QP_CAP, &init), 0);
	begin(1);
	for (uint32_t i = 0; i < init.cap.max_send_wr + 1; i++) {
		ibv_wr_rdma_write(ex, p.mr->rkey, remote());
		ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf, 1);
	}
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	begin(2);
	for (uint32_t i = 0; i < init.cap.max_send_wr; i++) {
		ibv_wr_rdma_write(ex, p.mr->rkey, remote());
		ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf, 1);
	}
	assert_int_equal(ibv_wr_complete(ex), 0);
	for (uint32_t i = 0; i < init.cap.max_send_wr; i++)
		pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 2);
}

static void an_operation_that_the_qp_was_not_made_for_is_refused(void **state)
{
	make(IBV_QPT_RC, IBV_QP_EX_WITH_SEND, 0);
	begin(1);
	ibv_wr_rdma_write(ex, p.mr->rkey, remote());
	ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf, 1);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	begin(1);
	ibv_wr_flush(ex, p.mr->rkey, remote(), 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	assert_int_equal(ibv_wr_complete(ex), EOPNOTSUPP);
}

/* Over many laps of the ring: their WQEs wrap around its end like others. */
static void flushes_and_atomic_writes_of_every_reliable_type(void **state)
{
	const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_XRC_SEND };

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		make(types[t],
		     IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE,
		     0);
		for (uint64_t i = 1; i <= 300; i++) {
			begin(i);
			ibv_wr_atomic_write(ex, p.mr->rkey, remote(), &i);
			address();
			ibv_wr_flush(ex, p.mr->rkey, remote(), 8, IBV_FLUSH_GLOBAL,
				     IBV_FLUSH_RANGE);
			address();
			assert_int_equal(ibv_wr_complete(ex), 0);
			pair_expect(p.cq[0], IBV_WC_ATOMIC_WRITE, i);
			pair_expect(p.cq[0], IBV_WC_FLUSH, i);
			assert_memory_equal(p.buf + HALF, &i, 8);
		}
		if (!t)
			pair_drop(&p); /* the last one by the teardown */
	}
}

static void chains_wait_for_the_qp_to_be_ready(void **state)
{
	pair_make(&p,
		  &(struct pair_wish){ .type = IBV_QPT_RC, .ops = OPS_ALL, .unconnected = true });
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	poke(1, 1);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	pair_connect(&p);
	poke(2, 2);
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 2);
}

static void operations_that_a_type_lacks_cannot_be_asked_for(void **state)
{
	const struct {
		enum ibv_qp_type type;
		uint64_t ops;
	} wrong[] = {
		{ IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE },
		{ IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ },
		{ IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD },
		{ IBV_QPT_RC, IBV_QP_EX_WITH_TSO },
		{ IBV_QPT_UC, IBV_QP_EX_WITH_FLUSH },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_ATOMIC_WRITE },
	};

	make(IBV_QPT_RC, OPS_ALL, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct ibv_qp_init_attr_ex attr = {
			.qp_type = wrong[i].type,
			.send_cq = p.cq[0],
			.recv_cq = p.cq[0],
			.cap = { 1, 1, 1, 1, 0 },
			.pd = p.pd,
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.send_ops_flags = wrong[i].ops,
		};

		assert_null(ibv_create_qp_ex(p.ctx, &attr));
		assert_int_equal(errno, EOPNOTSUPP);
	}
}

#define T(name) cmocka_unit_test_teardown(name, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_transport_sends_over_many_laps),
		T(a_chain_holds_many_operations),
		T(lists_of_elements_and_of_inline_data_are_joined),
		T(windows_are_bound_and_invalidated),
		T(an_aborted_chain_leaves_no_trace),
		T(an_error_takes_back_the_whole_chain),
		T(a_chain_longer_than_the_queue_is_refused),
		T(an_operation_that_the_qp_was_not_made_for_is_refused),
		T(flushes_and_atomic_writes_of_every_reliable_type),
		T(chains_wait_for_the_qp_to_be_ready),
		T(operations_that_a_type_lacks_cannot_be_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
