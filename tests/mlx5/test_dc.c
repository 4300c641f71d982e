/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport: one initiator, several targets. Runs on the fabric (mlx5.dc) and
 * over the wire (mlx5.dc.wire).
 */
#include "pair.h"

#include <errno.h>
#include <stdlib.h>

#define KEY     0x1122334455667788ull
#define TARGETS 3
#define PART    (PAIR_BUF / (TARGETS + 1))
#define OPS                                                                                        \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |          \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                           \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                 \
	 IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)
#define RIGHTS                                                                                     \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |             \
	 IBV_ACCESS_FLUSH_GLOBAL)

static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq, *target_cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *buf; /* a part of the initiator's, then one of each target's */
	struct ibv_ah *ah;
	struct ibv_qp *dci, *dct[TARGETS];
	struct ibv_qp_ex *ex;
	struct mlx5dv_qp_ex *dv;
	bool hasty; /* gives up soon, because that is what is wanted */
} d;

static int gid_index(struct ibv_context *ctx)
{
	struct ibv_gid_entry e;

	/* One that the wire knows. */
	for (uint32_t i = 0; i < 255; i++)
		if (!ibv_query_gid_ex(ctx, 1, i, &e, 0) && e.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    e.gid.raw[0] != 0xfe)
			return i;
	return 1;
}

static struct ibv_ah_attr address(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };

	attr.grh.sgid_index = gid_index(d.ctx);
	assert_int_equal(ibv_query_gid(d.ctx, 1, attr.grh.sgid_index, &attr.grh.dgid), 0);
	return attr;
}

static int move(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qp_access_flags = RIGHTS,
		.path_mtu = IBV_MTU_1024,
		.min_rnr_timer = 1,
		.ah_attr = { .port_num = 1 },
		.timeout = d.hasty ? 14 : 19,
		.retry_cnt = d.hasty ? 3 : 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	return ibv_modify_qp(qp, &attr, mask);
}

#define DCI_INIT (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define DCI_RTR  (IBV_QP_STATE | IBV_QP_PATH_MTU)
#define DCI_RTS                                                                                    \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |     \
	 IBV_QP_MAX_QP_RD_ATOMIC)
#define DCT_INIT (DCI_INIT | IBV_QP_ACCESS_FLAGS)
#define DCT_RTR  (DCI_RTR | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER)

static struct ibv_qp *make_dct(uint64_t key)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = d.target_cq,
		.recv_cq = d.target_cq,
		.srq = d.srq,
		.pd = d.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = key },
	};
	struct ibv_qp *qp = mlx5dv_create_qp(d.ctx, &attr, &extra);

	assert_non_null(qp);
	return qp;
}

static void make_dci(const struct mlx5dv_dci_streams *streams)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = d.cq,
		.recv_cq = d.cq,
		.pd = d.pd,
		.cap = { .max_send_wr = 64, .max_send_sge = 2, .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = OPS,
	};
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCI },
	};

	if (streams) {
		extra.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
		extra.dc_init_attr.dci_streams = *streams;
	}
	d.dci = mlx5dv_create_qp(d.ctx, &attr, &extra);
	assert_non_null(d.dci);
	d.ex = ibv_qp_to_qp_ex(d.dci);
	assert_non_null(d.ex);
	d.dv = mlx5dv_qp_ex_from_ibv_qp_ex(d.ex);
	assert_non_null(d.dv);
}

static void start_dci(void)
{
	assert_int_equal(move(d.dci, IBV_QPS_INIT, DCI_INIT), 0);
	assert_int_equal(move(d.dci, IBV_QPS_RTR, DCI_RTR), 0);
	assert_int_equal(move(d.dci, IBV_QPS_RTS, DCI_RTS), 0);
}

static void start_dct(struct ibv_qp *dct)
{
	assert_int_equal(move(dct, IBV_QPS_INIT, DCT_INIT), 0);
	assert_int_equal(move(dct, IBV_QPS_RTR, DCT_RTR), 0);
}

static void make_objects(const struct mlx5dv_dci_streams *streams)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 100, .max_sge = 1 } };
	struct ibv_ah_attr ah;

	memset(&d, 0, sizeof(d));
	d.ctx = pair_open("mlx5_0");
	d.pd = ibv_alloc_pd(d.ctx);
	d.cq = ibv_create_cq(d.ctx, 256, NULL, NULL, 0);
	d.target_cq = ibv_create_cq(d.ctx, 256, NULL, NULL, 0);
	d.srq = ibv_create_srq(d.pd, &srq);
	d.buf = aligned_alloc(4096, PAIR_BUF);
	assert_non_null(d.buf);
	memset(d.buf, 0, PAIR_BUF);
	d.mr = ibv_reg_mr(d.pd, d.buf, PAIR_BUF, RIGHTS | IBV_ACCESS_LOCAL_WRITE);
	assert_true(d.pd && d.cq && d.target_cq && d.srq && d.mr);
	ah = address();
	d.ah = ibv_create_ah(d.pd, &ah);
	assert_non_null(d.ah);
	make_dci(streams);
	for (int i = 0; i < TARGETS; i++)
		d.dct[i] = make_dct(KEY + i);
}

static int make(void **state)
{
	make_objects(NULL);
	start_dci();
	for (int i = 0; i < TARGETS; i++)
		start_dct(d.dct[i]);
	return 0;
}

static int make_hasty(void **state)
{
	make_objects(NULL);
	d.hasty = true;
	start_dci();
	for (int i = 0; i < TARGETS; i++)
		start_dct(d.dct[i]);
	return 0;
}

static int make_idle(void **state)
{
	make_objects(NULL);
	return 0;
}

static int make_streams(void **state)
{
	make_objects(&(struct mlx5dv_dci_streams){ 3, 1 });
	start_dci();
	start_dct(d.dct[0]);
	return 0;
}

static int drop(void **state)
{
	assert_int_equal(ibv_destroy_qp(d.dci), 0);
	for (int i = 0; i < TARGETS; i++)
		if (d.dct[i])
			assert_int_equal(ibv_destroy_qp(d.dct[i]), 0);
	assert_int_equal(ibv_destroy_srq(d.srq), 0);
	assert_int_equal(ibv_destroy_cq(d.cq), 0);
	assert_int_equal(ibv_destroy_cq(d.target_cq), 0);
	assert_int_equal(ibv_destroy_ah(d.ah), 0);
	assert_int_equal(ibv_dereg_mr(d.mr), 0);
	assert_int_equal(ibv_dealloc_pd(d.pd), 0);
	assert_int_equal(ibv_close_device(d.ctx), 0);
	free(d.buf);
	return 0;
}

static uint8_t *part(int target)
{
	return d.buf + (size_t)(target + 1) * PART;
}

static void begin(uint64_t wr_id)
{
	ibv_wr_start(d.ex);
	d.ex->wr_id = wr_id;
	d.ex->wr_flags = IBV_SEND_SIGNALED;
}

static void finish(int target, uint32_t length)
{
	ibv_wr_set_sge(d.ex, d.mr->lkey, (uintptr_t)d.buf, length);
	mlx5dv_wr_set_dc_addr(d.dv, d.ah, d.dct[target]->qp_num, KEY + target);
	assert_int_equal(ibv_wr_complete(d.ex), 0);
}

static void post_recv(uint64_t wr_id, void *to, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)to, length, d.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_srq_recv(d.srq, &wr, &bad), 0);
}

static void expect_recv(uint64_t wr_id, int target, uint32_t length, uint32_t imm)
{
	struct ibv_wc wc = pair_wait(d.target_cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.qp_num, d.dct[target]->qp_num);
	assert_int_equal(wc.byte_len, length);
	assert_int_equal(wc.src_qp, d.dci->qp_num);
	if (imm)
		assert_int_equal(be32toh(wc.imm_data), imm);
}

static void one_initiator_sends_to_each_target_in_turn(void **state)
{
	for (int i = 0; i < 60; i++) {
		int target = i % TARGETS;
		uint32_t length = 1 + i * 997 % PART;

		pair_pattern(d.buf, length, i);
		memset(part(target), 0, length);
		post_recv(i, part(target), PART);
		begin(i);
		ibv_wr_send_imm(d.ex, htobe32(i + 1));
		finish(target, length);
		pair_expect(d.cq, IBV_WC_SEND, i);
		expect_recv(i, target, length, i + 1);
		assert_true(pair_is_pattern(part(target), length, i));
	}
}

/* None waits for the one before it, as far as the program is concerned. */
static void a_row_of_requests_to_alternating_targets_keeps_its_order(void **state)
{
	for (int i = 0; i < 30; i++)
		post_recv(i, part(i % TARGETS), 64);
	for (int i = 0; i < 30; i++) {
		begin(i);
		ibv_wr_send_imm(d.ex, htobe32(i + 1));
		finish(i % TARGETS, 32);
	}
	for (int i = 0; i < 30; i++)
		pair_expect(d.cq, IBV_WC_SEND, i);
	for (int i = 0; i < 30; i++)
		expect_recv(i, i % TARGETS, 32, i + 1);
}

static void one_sided_operations_reach_every_target(void **state)
{
	uint64_t *counter, *result = (uint64_t *)d.buf;

	for (int i = 0; i < 12; i++) {
		int target = i % TARGETS;

		pair_pattern(d.buf, 20000, i);
		begin(1);
		ibv_wr_rdma_write(d.ex, d.mr->rkey, (uintptr_t)part(target));
		finish(target, 20000);
		pair_expect(d.cq, IBV_WC_RDMA_WRITE, 1);
		assert_true(pair_is_pattern(part(target), 20000, i));

		memset(d.buf, 0, 20000);
		begin(2);
		ibv_wr_rdma_read(d.ex, d.mr->rkey, (uintptr_t)part(target));
		finish(target, 20000);
		pair_expect(d.cq, IBV_WC_RDMA_READ, 2);
		assert_true(pair_is_pattern(d.buf, 20000, i));

		counter = (uint64_t *)part(target);
		*counter = 100 + i;
		begin(3);
		ibv_wr_atomic_fetch_add(d.ex, d.mr->rkey, (uintptr_t)counter, 5);
		finish(target, 8);
		pair_expect(d.cq, IBV_WC_FETCH_ADD, 3);
		assert_int_equal(*result, 100 + i);
		assert_int_equal(*counter, 105 + i);
		begin(4);
		ibv_wr_atomic_cmp_swp(d.ex, d.mr->rkey, (uintptr_t)counter, 105 + i, 7);
		finish(target, 8);
		pair_expect(d.cq, IBV_WC_COMP_SWAP, 4);
		assert_int_equal(*counter, 7);

		post_recv(5, part(target), 64);
		begin(5);
		ibv_wr_rdma_write_imm(d.ex, d.mr->rkey, (uintptr_t)part(target), htobe32(77));
		finish(target, 5000);
		pair_expect(d.cq, IBV_WC_RDMA_WRITE, 5);
		expect_recv(5, target, 5000, 77);
	}
}

static void atomic_writes_and_flushes_reach_every_target(void **state)
{
	for (uint64_t i = 1; i <= 12; i++) {
		int target = (int)(i % TARGETS);

		begin(1);
		ibv_wr_atomic_write(d.ex, d.mr->rkey, (uintptr_t)part(target), &i);
		finish(target, 0);
		pair_expect(d.cq, IBV_WC_ATOMIC_WRITE, 1);
		assert_memory_equal(part(target), &i, 8);
		begin(2);
		ibv_wr_flush(d.ex, d.mr->rkey, (uintptr_t)part(target), 8, IBV_FLUSH_GLOBAL,
			     IBV_FLUSH_RANGE);
		finish(target, 0);
		pair_expect(d.cq, IBV_WC_FLUSH, 2);
	}
}

/* An entry of a masked addition of 4 bytes, which no verb has. */
struct masked_add {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_av av;
	struct mlx5_wqe_raddr_seg remote;
	__be32 add, boundaries, reserved[2];
	struct mlx5_wqe_data_seg data;
};

static void masked_atomics_reach_every_target(void **state)
{
	struct mlx5dv_qp ring = { .comp_mask = 0 };
	struct mlx5dv_ah ah = { .comp_mask = 0 };
	struct mlx5dv_obj obj = { .qp = { .in = d.dci, .out = &ring },
				  .ah = { .in = d.ah, .out = &ah } };

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_AH), 0);
	for (uint16_t i = 0; i < 12; i++) {
		uint32_t *counter = (uint32_t *)(void *)part(i % TARGETS) + 1;
		struct masked_add *e =
			(void *)((char *)ring.sq.buf + (size_t)2 * i * ring.sq.stride);

		mlx5dv_set_ctrl_seg(&e->ctrl, 2 * i, MLX5_OPCODE_ATOMIC_MASKED_FA, 8, d.dci->qp_num,
				    MLX5_WQE_CTRL_CQ_UPDATE, sizeof(*e) / 16, 0, 0);
		e->av = *ah.av;
		e->av.key.dc_key = htobe64(KEY + i % TARGETS);
		e->av.dqp_dct = htobe32(d.dct[i % TARGETS]->qp_num | MLX5_EXTENDED_UD_AV);
		e->remote.raddr = htobe64((uintptr_t)counter);
		e->remote.rkey = htobe32(d.mr->rkey);
		e->add = htobe32(0x00010001);
		e->boundaries = htobe32(0x8000);
		mlx5dv_set_data_seg(&e->data, 4, d.mr->lkey, (uintptr_t)d.buf);
		*counter = 0x0001ffff + i;
		__atomic_store_n(&ring.dbrec[MLX5_SND_DBR], htobe32(2u * i + 2), __ATOMIC_RELEASE);
		__atomic_store_n((uint64_t *)ring.bf.reg, *(uint64_t *)(void *)e, __ATOMIC_RELEASE);
		assert_int_equal(pair_wait(d.cq).status, IBV_WC_SUCCESS);
		/* No carry comes out of the lower half. */
		assert_int_equal(*counter, (i ? 0x00030000 : 0x00020000) + i);
		assert_int_equal(be32toh(*(uint32_t *)(void *)d.buf), 0x0001ffff + i);
	}
}

static enum ibv_wc_status status_of(uint64_t wr_id)
{
	struct ibv_wc wc = pair_wait(d.cq);

	assert_int_equal(wc.wr_id, wr_id);
	return wc.status;
}

static void an_initiator_with_the_wrong_key_is_not_heard(void **state)
{
	begin(1);
	ibv_wr_rdma_write(d.ex, d.mr->rkey, (uintptr_t)part(0));
	ibv_wr_set_sge(d.ex, d.mr->lkey, (uintptr_t)d.buf, 8);
	mlx5dv_wr_set_dc_addr(d.dv, d.ah, d.dct[0]->qp_num, KEY + 1);
	assert_int_equal(ibv_wr_complete(d.ex), 0);
	assert_int_equal(status_of(1), IBV_WC_RETRY_EXC_ERR);
}

/* The initiator is what fails; the target goes on, and the initiator can be used again. */
static void a_refused_access_leaves_the_target_working(void **state)
{
	begin(1);
	ibv_wr_rdma_write(d.ex, d.mr->rkey ^ 0x55, (uintptr_t)part(0));
	finish(0, 8);
	assert_int_equal(status_of(1), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(move(d.dci, IBV_QPS_RESET, IBV_QP_STATE), 0);
	start_dci();
	pair_pattern(d.buf, 3000, 9);
	post_recv(2, part(0), PART);
	begin(2);
	ibv_wr_send(d.ex);
	finish(0, 3000);
	pair_expect(d.cq, IBV_WC_SEND, 2);
	expect_recv(2, 0, 3000, 0);
	assert_true(pair_is_pattern(part(0), 3000, 9));
}

static void a_target_without_receives_is_waited_for(void **state)
{
	begin(1);
	ibv_wr_send(d.ex);
	finish(1, 16);
	for (int i = 0; i < 100; i++)
		assert_int_equal(ibv_poll_cq(d.cq, 1, &(struct ibv_wc){ 0 }), 0);
	post_recv(1, part(1), 64);
	pair_expect(d.cq, IBV_WC_SEND, 1);
	expect_recv(1, 1, 16, 0);
}

static void a_target_that_is_gone_is_an_error_and_the_next_one_is_not(void **state)
{
	uint32_t gone = d.dct[0]->qp_num;

	assert_int_equal(ibv_destroy_qp(d.dct[0]), 0);
	d.dct[0] = NULL;
	begin(1);
	ibv_wr_rdma_write(d.ex, d.mr->rkey, (uintptr_t)part(0));
	ibv_wr_set_sge(d.ex, d.mr->lkey, (uintptr_t)d.buf, 8);
	mlx5dv_wr_set_dc_addr(d.dv, d.ah, gone, KEY);
	assert_int_equal(ibv_wr_complete(d.ex), 0);
	assert_int_equal(status_of(1), IBV_WC_RETRY_EXC_ERR);
	d.hasty = false;
	assert_int_equal(move(d.dci, IBV_QPS_RESET, IBV_QP_STATE), 0);
	start_dci();
	begin(2);
	ibv_wr_rdma_write(d.ex, d.mr->rkey, (uintptr_t)part(1));
	finish(1, 8);
	pair_expect(d.cq, IBV_WC_RDMA_WRITE, 2);
}

static void send_on_stream(uint16_t stream, uint64_t wr_id, bool good)
{
	begin(wr_id);
	ibv_wr_rdma_write(d.ex, good ? d.mr->rkey : 0x123400, (uintptr_t)part(0));
	ibv_wr_set_sge(d.ex, d.mr->lkey, (uintptr_t)d.buf, 8);
	mlx5dv_wr_set_dc_addr_stream(d.dv, d.ah, d.dct[0]->qp_num, KEY, stream);
	assert_int_equal(ibv_wr_complete(d.ex), 0);
}

/* Made with room for one failed stream: the second one ends it. */
static void a_stream_fails_alone_until_too_many_have(void **state)
{
	send_on_stream(5, 1, false);
	send_on_stream(5, 2, true);
	send_on_stream(6, 3, true);
	assert_int_equal(status_of(1), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(status_of(2), IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(status_of(3), IBV_WC_SUCCESS);

	assert_int_equal(mlx5dv_dci_stream_id_reset(d.dci, 6), EINVAL);
	assert_int_equal(mlx5dv_dci_stream_id_reset(d.dci, 5), 0);
	assert_int_equal(mlx5dv_dci_stream_id_reset(d.dci, 5), EINVAL);
	send_on_stream(5, 4, true);
	assert_int_equal(status_of(4), IBV_WC_SUCCESS);

	send_on_stream(5, 5, false);
	assert_int_equal(status_of(5), IBV_WC_REM_ACCESS_ERR);
	send_on_stream(6, 6, false);
	assert_int_equal(status_of(6), IBV_WC_REM_ACCESS_ERR);
	send_on_stream(7, 7, true);
	assert_int_equal(status_of(7), IBV_WC_WR_FLUSH_ERR);
}

static void states_have_the_attributes_of_their_type(void **state)
{
	struct ibv_qp *dct = d.dct[0];

	assert_int_equal(move(d.dci, IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PORT), EINVAL);
	assert_int_equal(move(d.dci, IBV_QPS_INIT, DCI_INIT), 0);
	assert_int_equal(move(d.dci, IBV_QPS_RTR, DCI_RTR | IBV_QP_DEST_QPN), EINVAL);
	assert_int_equal(move(d.dci, IBV_QPS_RTR, DCI_RTR), 0);
	assert_int_equal(move(d.dci, IBV_QPS_RTS, DCI_RTS & ~IBV_QP_TIMEOUT), EINVAL);
	assert_int_equal(move(d.dci, IBV_QPS_RTS, DCI_RTS), 0);
	assert_int_equal(move(d.dci, IBV_QPS_SQD, IBV_QP_STATE), EINVAL);
	assert_int_equal(move(d.dci, IBV_QPS_ERR, IBV_QP_STATE), 0);
	assert_int_equal(move(d.dci, IBV_QPS_RESET, IBV_QP_STATE), 0);

	assert_int_equal(move(dct, IBV_QPS_INIT, DCI_INIT), EINVAL);
	assert_int_equal(move(dct, IBV_QPS_INIT, DCT_INIT), 0);
	assert_int_equal(move(dct, IBV_QPS_RTR, DCI_RTR), EINVAL);
	assert_int_equal(move(dct, IBV_QPS_RTR, DCT_RTR), 0);
	assert_int_equal(move(dct, IBV_QPS_RTS, DCI_RTS), EINVAL);
}

static void invalid_rules_are_refused(void **state)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = d.cq,
		.recv_cq = d.cq,
		.pd = d.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCT },
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	assert_null(ibv_create_qp_ex(d.ctx, &attr)); /* not by this call */
	assert_int_equal(errno, EINVAL);
	assert_null(mlx5dv_create_qp(d.ctx, &attr, &extra)); /* no SRQ */
	assert_int_equal(errno, EINVAL);
	extra.dc_init_attr.dc_type = 7;
	assert_null(mlx5dv_create_qp(d.ctx, &attr, &extra));
	extra.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
	attr.send_cq = NULL;
	assert_null(mlx5dv_create_qp(d.ctx, &attr, &extra));
	attr.send_cq = d.cq;
	attr.qp_type = IBV_QPT_RC;
	assert_null(mlx5dv_create_qp(d.ctx, &attr, &extra));
	attr.qp_type = IBV_QPT_DRIVER;
	extra.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	extra.dc_init_attr.dci_streams.log_num_concurent = 20;
	assert_null(mlx5dv_create_qp(d.ctx, &attr, &extra));
	assert_int_equal(errno, EINVAL);

	extra.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC | MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
	extra.create_flags = 1 << 20; /* means nothing */
	assert_null(mlx5dv_create_qp(d.ctx, &attr, &extra));
	assert_int_equal(errno, EINVAL);
	extra.create_flags = MLX5DV_QP_CREATE_PACKET_BASED_CREDIT_MODE; /* not here */
	assert_null(mlx5dv_create_qp(d.ctx, &attr, &extra));
	assert_int_equal(errno, EOPNOTSUPP);

	start_dci();
	assert_int_equal(ibv_post_send(d.dci, &wr, &bad), EINVAL); /* to whom? */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_initiator_sends_to_each_target_in_turn, make,
						drop),
		cmocka_unit_test_setup_teardown(
			a_row_of_requests_to_alternating_targets_keeps_its_order, make, drop),
		cmocka_unit_test_setup_teardown(one_sided_operations_reach_every_target, make,
						drop),
		cmocka_unit_test_setup_teardown(atomic_writes_and_flushes_reach_every_target, make,
						drop),
		cmocka_unit_test_setup_teardown(masked_atomics_reach_every_target, make, drop),
		cmocka_unit_test_setup_teardown(an_initiator_with_the_wrong_key_is_not_heard,
						make_hasty, drop),
		cmocka_unit_test_setup_teardown(a_refused_access_leaves_the_target_working, make,
						drop),
		cmocka_unit_test_setup_teardown(a_target_without_receives_is_waited_for, make,
						drop),
		cmocka_unit_test_setup_teardown(
			a_target_that_is_gone_is_an_error_and_the_next_one_is_not, make_hasty,
			drop),
		cmocka_unit_test_setup_teardown(a_stream_fails_alone_until_too_many_have,
						make_streams, drop),
		cmocka_unit_test_setup_teardown(states_have_the_attributes_of_their_type, make_idle,
						drop),
		cmocka_unit_test_setup_teardown(invalid_rules_are_refused, make_idle, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
