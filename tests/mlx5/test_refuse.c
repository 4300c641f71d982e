/* SPDX-License-Identifier: BSD-2-Clause */
/* What posting refuses, with the errno of the real driver, and that nothing is changed by it. */
#include "pair.h"

#include <errno.h>

#define HALF (PAIR_BUF / 2)

static struct pair p;
static struct ibv_sge sges[40];

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static void make(enum ibv_qp_type type)
{
	pair_make(&p, &(struct pair_wish){ .type = type,
					   .cap = { .max_send_wr = 4, .max_inline_data = 60 } });
	for (int i = 0; i < 40; i++)
		sges[i] = pair_sge(&p, 0, 1);
}

static struct ibv_send_wr write_wr(uint64_t wr_id, int num_sge)
{
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .sg_list = sges,
				  .num_sge = num_sge,
				  .send_flags = IBV_SEND_SIGNALED };

	pair_fill_wr(&p, &wr, HALF);
	return wr;
}

/* One good request, the one in question, one more: the first is posted, the others are not. */
static void assert_refused(struct ibv_send_wr *wr, int err)
{
	struct ibv_send_wr first = write_wr(1, 1), last = write_wr(3, 1), *bad = NULL;
	struct ibv_wc wc;

	first.next = wr;
	wr->next = &last;
	assert_int_equal(ibv_post_send(p.qp[0], &first, &bad), err);
	assert_ptr_equal(bad, wr);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 1);
	assert_int_equal(ibv_poll_cq(p.cq[0], 1, &wc), 0);
}

static void opcodes_that_do_not_exist(void **state)
{
	const int opcodes[] = { 11, 12, 13, IBV_WR_FLUSH, IBV_WR_ATOMIC_WRITE, 16, 1000, -1 };

	make(IBV_QPT_RC);
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		struct ibv_send_wr wr = write_wr(2, 1);

		wr.opcode = opcodes[i];
		assert_refused(&wr, EINVAL);
	}
}

static void more_elements_than_the_queue_was_made_for(void **state)
{
	struct ibv_send_wr wr;

	make(IBV_QPT_RC);
	wr = write_wr(2, 5);
	assert_refused(&wr, ENOMEM);
	wr = write_wr(2, -1);
	assert_refused(&wr, ENOMEM);
}

static void more_inline_data_than_was_granted(void **state)
{
	struct ibv_send_wr wr;

	make(IBV_QPT_RC);
	wr = write_wr(2, 1);
	wr.send_flags |= IBV_SEND_INLINE;
	wr.sg_list = &sges[7];
	sges[7].length = 61;
	assert_refused(&wr, ENOMEM);
	wr.next = NULL;
	sges[7].length = 60;
	pair_post(&p, &wr);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 2);
}

static void an_element_longer_than_two_gigabytes(void **state)
{
	struct ibv_send_wr wr;

	make(IBV_QPT_RC);
	wr = write_wr(2, 1);
	wr.sg_list = &sges[7];
	sges[7].length = 0x80000001;
	assert_refused(&wr, EINVAL);
}

static void a_datagram_to_nowhere(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;

	make(IBV_QPT_UD);
	assert_int_equal(ibv_post_send(p.qp[0], &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
}

static void a_window_on_nothing(void **state)
{
	struct ibv_mw *mw;
	struct ibv_mw_bind bind = { .bind_info = { .length = 8 } };
	uint32_t rkey;

	make(IBV_QPT_RC);
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_1);
	assert_non_null(mw);
	rkey = mw->rkey;
	assert_int_not_equal(ibv_bind_mw(p.qp[0], mw, &bind), 0);
	bind.bind_info = (struct ibv_mw_bind_info){
		.mr = p.mr,
		.addr = (uintptr_t)p.buf,
		.length = 8,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED,
	};
	assert_int_equal(ibv_bind_mw(p.qp[0], mw, &bind), EINVAL);
	assert_int_equal(mw->rkey, rkey);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void a_full_send_queue(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_send_wr wr, *bad = NULL;
	uint32_t room;

	make(IBV_QPT_RC);
	wr = write_wr(2, 1);
	assert_int_equal(ibv_query_qp(p.qp[0], &attr, IBV_QP_CAP, &init), 0);
	room = init.cap.max_send_wr;
	assert_true(room >= 4);
	for (int lap = 0; lap < 40; lap++) {
		for (uint32_t i = 0; i < room; i++) {
			wr.wr_id = i;
			pair_post(&p, &wr);
		}
		assert_int_equal(ibv_post_send(p.qp[0], &wr, &bad), ENOMEM);
		assert_ptr_equal(bad, &wr);
		for (uint32_t i = 0; i < room; i++)
			pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, i);
	}
}

static void a_full_receive_queue(void **state)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;

	make(IBV_QPT_RC);
	for (int i = 0; i < 64; i++)
		assert_int_equal(ibv_post_recv(p.qp[0], &wr, &bad), 0);
	assert_int_equal(ibv_post_recv(p.qp[0], &wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr);
	wr.num_sge = 3;
	wr.sg_list = sges;
	bad = NULL;
	assert_int_equal(ibv_post_recv(p.qp[1], &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
}

static void queues_that_are_not_ready(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_recv_wr recv = { 0 }, *bad_recv = NULL;

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .unconnected = true });
	assert_int_equal(ibv_post_send(p.qp[0], &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(ibv_post_recv(p.qp[0], &recv, &bad_recv), EINVAL);
	assert_ptr_equal(bad_recv, &recv);
}

static void queues_that_are_not_there(void **state)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_recv_wr recv = { 0 }, *bad_recv = NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp;

	make(IBV_QPT_RC);
	init.send_cq = init.recv_cq = p.cq[0];
	qp = ibv_create_qp(p.pd, &init);
	assert_non_null(qp);
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	assert_int_equal(ibv_post_recv(qp, &recv, &bad_recv), ENOMEM);
	pair_to_error(qp);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), ENOMEM);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void capacities_beyond_the_adapter(void **state)
{
	const struct {
		enum ibv_qp_type type;
		struct ibv_qp_cap cap;
	} wrong[] = {
		{ IBV_QPT_RC, { 8193, 1, 1, 1, 0 } },
		{ IBV_QPT_RC, { 1, 32769, 1, 1, 0 } },
		{ IBV_QPT_RC, { 1, 1, 1, 1, 829 } },
		{ IBV_QPT_UD, { 1, 1, 1, 1, 957 } },
		{ IBV_QPT_RC, { 1, 1, 1000, 1, 0 } },
		{ IBV_QPT_RC, { 1, 1, 1, 1000, 0 } },
		{ IBV_QPT_RC, { UINT32_MAX, 1, 1, 1, 0 } },
		{ IBV_QPT_RC, { 1, 1, 1, 1, UINT32_MAX } },
	};

	make(IBV_QPT_RC);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct ibv_qp_init_attr init = { .qp_type = wrong[i].type,
						 .send_cq = p.cq[0],
						 .recv_cq = p.cq[0],
						 .cap = wrong[i].cap };

		errno = 0;
		assert_null(ibv_create_qp(p.pd, &init));
		assert_int_equal(errno, EINVAL);
	}
}

static void granted_capacities_are_told(void **state)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 100, 100, 2, 3, 100 } };
	struct ibv_qp *qp;

	make(IBV_QPT_RC);
	init.send_cq = init.recv_cq = p.cq[0];
	qp = ibv_create_qp(p.pd, &init);
	assert_non_null(qp);
	assert_int_equal(init.cap.max_send_wr, 102);
	assert_int_equal(init.cap.max_recv_wr, 128);
	assert_int_equal(init.cap.max_send_sge, 2);
	assert_int_equal(init.cap.max_recv_sge, 4);
	assert_int_equal(init.cap.max_inline_data, 124);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

#define T(name) cmocka_unit_test_teardown(name, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(opcodes_that_do_not_exist),
		T(more_elements_than_the_queue_was_made_for),
		T(more_inline_data_than_was_granted),
		T(an_element_longer_than_two_gigabytes),
		T(a_datagram_to_nowhere),
		T(a_window_on_nothing),
		T(a_full_send_queue),
		T(a_full_receive_queue),
		T(queues_that_are_not_ready),
		T(queues_that_are_not_there),
		T(capacities_beyond_the_adapter),
		T(granted_capacities_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
