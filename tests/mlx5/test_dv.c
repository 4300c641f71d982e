/* SPDX-License-Identifier: BSD-2-Clause */
/* Direct verbs: the rings behind objects are the ones that work goes through. */
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HALF (PAIR_BUF / 2)

static struct pair p;

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static void make(void)
{
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC });
}

static struct ibv_send_wr write_wr(struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .wr_id = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .sg_list = sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };

	*sge = pair_sge(&p, 16, 24);
	pair_fill_wr(&p, &wr, HALF);
	return wr;
}

static void the_send_ring_holds_what_was_posted(void **state)
{
	struct mlx5dv_qp out = { .comp_mask = UINT64_MAX };
	struct mlx5dv_obj obj = { .qp = { .out = &out } };
	struct mlx5_wqe_ctrl_seg *ctrl;
	struct mlx5_wqe_raddr_seg *raddr;
	struct mlx5_wqe_data_seg *data;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	make();
	obj.qp.in = p.qp[0];
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	assert_int_equal(out.sq.stride, 64);
	assert_int_equal(out.sq.wqe_cnt, 64 * 4);
	assert_int_equal(out.rq.wqe_cnt, 64);
	assert_int_equal(out.rq.stride, 32);
	assert_ptr_equal(out.sq.buf, (uint8_t *)out.rq.buf + 64 * 32);
	assert_int_equal(out.bf.size, 0); /* a doorbell is one store; entries are not copied */
	assert_int_equal(out.comp_mask & ~(uint64_t)MLX5DV_QP_MASK_UAR_MMAP_OFFSET, 0);
	/* Both halves of the register are writable memory. */
	((volatile uint64_t *)out.bf.reg)[0] = 0;
	((volatile uint64_t *)((uintptr_t)out.bf.reg ^ 0x100))[31] = 0;

	wr = write_wr(&sge);
	pair_post(&p, &wr);
	ctrl = out.sq.buf;
	raddr = (void *)(ctrl + 1);
	data = (void *)(raddr + 1);
	assert_int_equal(be32toh(ctrl->opmod_idx_opcode), MLX5_OPCODE_RDMA_WRITE);
	assert_int_equal(be32toh(ctrl->qpn_ds), p.qp[0]->qp_num << 8 | 3);
	assert_int_equal(ctrl->fm_ce_se, MLX5_WQE_CTRL_CQ_UPDATE);
	assert_int_equal(be64toh(raddr->raddr), (uintptr_t)p.buf + HALF);
	assert_int_equal(be32toh(raddr->rkey), p.mr->rkey);
	assert_int_equal(be32toh(data->byte_count), 24);
	assert_int_equal(be32toh(data->lkey), p.mr->lkey);
	assert_int_equal(be64toh(data->addr), (uintptr_t)p.buf + 16);
	assert_int_equal(be32toh(out.dbrec[MLX5_SND_DBR]), 1);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 1);
}

static void a_raw_cq_belongs_to_the_program(void **state)
{
	struct mlx5dv_cq out = { 0 };
	struct mlx5dv_obj obj = { .cq = { .out = &out } };
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	uint32_t ci = 0;

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .cqe = 7 });
	obj.cq.in = p.cq[0];
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	assert_int_equal(out.cqe_cnt, 8);
	assert_int_equal(out.cqe_size, 64);
	assert_int_not_equal(out.cqn, 0);
	assert_non_null(out.cq_uar);
	wr = write_wr(&sge);
	/* As many as the send queue takes, whose tail only the driver's own polling moves. */
	for (; ci < 60; ci++) {
		struct mlx5_cqe64 *cqe = (struct mlx5_cqe64 *)out.buf + ci % 8;

		pair_post(&p, &wr);
		/* Polling the other CQ makes progress, this one is left alone. */
		while (__atomic_load_n(&cqe->op_own, __ATOMIC_ACQUIRE) !=
		       (MLX5_CQE_REQ << 4 | ((ci / 8) & 1)))
			assert_int_equal(ibv_poll_cq(p.cq[1], 1, &wc), 0);
		assert_int_equal(be32toh(cqe->sop_drop_qpn) & 0xffffff, p.qp[0]->qp_num);
		assert_int_equal(be16toh(cqe->wqe_counter), ci);
		assert_int_not_equal(cqe->timestamp, 0);
		out.dbrec[0] = htobe32((ci + 1) & 0xffffff);
	}
}

static void a_raw_cq_that_was_resized_is_handed_out_anew(void **state)
{
	struct mlx5dv_cq first = { 0 }, again = { 0 }, out = { 0 };
	struct mlx5dv_obj obj = { .cq = { .out = &first } };
	struct mlx5_cqe64 *cqe;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .cqe = 7 });
	obj.cq.in = p.cq[0];
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	obj.cq.out = &again;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	assert_ptr_equal(first.buf, again.buf);
	assert_int_equal(ibv_resize_cq(p.cq[0], 1000), 0);
	obj.cq.out = &out;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	assert_int_equal(out.cqe_cnt, 1024);
	wr = write_wr(&sge);
	pair_post(&p, &wr);
	cqe = out.buf;
	while (__atomic_load_n(&cqe->op_own, __ATOMIC_ACQUIRE) != MLX5_CQE_REQ << 4)
		assert_int_equal(ibv_poll_cq(p.cq[1], 1, &wc), 0);
	assert_int_equal(be32toh(cqe->sop_drop_qpn) & 0xffffff, p.qp[0]->qp_num);
}

static void wide_completions_can_be_had(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 3, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct mlx5dv_cq_init_attr extra = { .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
					     .cqe_size = 128 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { 1, 4, 1, 1, 0 } };
	struct ibv_qp_attr qp_attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	struct mlx5dv_cq out = { 0 };
	struct mlx5dv_obj obj = { .cq = { .out = &out } };
	struct ibv_recv_wr wr = { .wr_id = 7 }, *bad;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;

	make();
	cq = mlx5dv_create_cq(p.ctx, &attr, &extra);
	assert_non_null(cq);
	init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
	qp = ibv_create_qp(p.pd, &init);
	assert_non_null(qp);
	for (int lap = 0; lap < 20; lap++) {
		qp_attr.qp_state = IBV_QPS_INIT;
		assert_int_equal(
			ibv_modify_qp(qp, &qp_attr,
				      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
			0);
		assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
		pair_to_error(qp);
		assert_int_equal(pair_wait(ibv_cq_ex_to_cq(cq)).wr_id, 7);
		pair_to_reset(qp);
	}
	obj.cq.in = ibv_cq_ex_to_cq(cq);
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	assert_int_equal(out.cqe_size, 128);
	assert_int_equal(out.cqe_cnt, 4);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static bool have_huge_pages(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "re");
	int free_pages = 0;

	if (!f)
		return false;
	if (fscanf(f, "%d", &free_pages) != 1)
		free_pages = 0;
	fclose(f);
	return free_pages > 0;
}

static void the_environment_may_ask_for_huge_pages(void **state)
{
	struct ibv_cq *cq;

	make();
	setenv("MLX_CQ_ALLOC_TYPE", "PREFER_HUGE", 1);
	cq = ibv_create_cq(p.ctx, 3, NULL, NULL, 0);
	assert_non_null(cq);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	setenv("MLX_CQ_ALLOC_TYPE", "HUGE", 1);
	errno = 0;
	cq = ibv_create_cq(p.ctx, 3, NULL, NULL, 0);
	unsetenv("MLX_CQ_ALLOC_TYPE");
	assert_int_equal(!!cq, have_huge_pages());
	if (cq)
		assert_int_equal(ibv_destroy_cq(cq), 0);
	else
		assert_int_equal(errno, ENOMEM);
}

static void the_environment_may_ask_for_wide_completions(void **state)
{
	struct mlx5dv_cq out = { 0 };
	struct mlx5dv_obj obj = { .cq = { .out = &out } };
	struct ibv_cq *cq;

	make();
	setenv("MLX5_CQE_SIZE", "128", 1);
	cq = ibv_create_cq(p.ctx, 3, NULL, NULL, 0);
	setenv("MLX5_CQE_SIZE", "100", 1);
	errno = 0;
	assert_null(ibv_create_cq(p.ctx, 3, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	unsetenv("MLX5_CQE_SIZE");
	assert_non_null(cq);
	obj.cq.in = cq;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	assert_int_equal(out.cqe_size, 128);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void impossible_cq_attributes_are_refused(void **state)
{
	const struct mlx5dv_cq_init_attr wrong[] = {
		{ .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE, .cqe_size = 32 },
		{ .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE,
		  .cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_HASH | MLX5DV_CQE_RES_FORMAT_CSUM },
		{ .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_FLAGS,
		  .flags = MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD },
		{ .comp_mask = 1 << 10 },
	};
	struct ibv_cq_init_attr_ex attr = { .cqe = 3 };

	make();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct mlx5dv_cq_init_attr extra = wrong[i];

		errno = 0;
		assert_null(mlx5dv_create_cq(p.ctx, &attr, &extra));
		assert_int_equal(errno, EINVAL);
	}
}

static void a_cq_may_have_compressed_entries(void **state)
{
	struct mlx5dv_cq_init_attr extra = { .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE };
	struct ibv_cq_init_attr_ex attr = { .cqe = 3 };
	struct ibv_cq_ex *cq;

	make();
	extra.comp_mask |= MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE;
	for (extra.cqe_size = 64; extra.cqe_size <= 128; extra.cqe_size *= 2)
		for (int format = 1; format <= MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX; format <<= 1) {
			extra.cqe_comp_res_format = (uint8_t)format;
			cq = mlx5dv_create_cq(p.ctx, &attr, &extra);
			assert_non_null(cq);
			assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
		}
}

static void a_shared_ring_starts_as_one_chain(void **state)
{
	struct mlx5dv_srq out = { .comp_mask = MLX5DV_SRQ_MASK_SRQN };
	struct mlx5dv_obj obj = { .srq = { .out = &out } };
	uint32_t srqn;

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .srq = true });
	obj.srq.in = p.srq;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ), 0);
	assert_int_equal(out.head, 0);
	assert_int_equal(out.tail, 127);
	assert_int_equal(out.stride, 64);
	for (uint32_t i = 0; i < out.tail; i++) {
		struct mlx5_wqe_srq_next_seg *link = (void *)((uint8_t *)out.buf + i * out.stride);

		assert_int_equal(be16toh(link->next_wqe_index), i + 1);
	}
	assert_int_equal(ibv_get_srq_num(p.srq, &srqn), 0);
	assert_int_equal(out.srqn, srqn);
	assert_int_equal(out.comp_mask, MLX5DV_SRQ_MASK_SRQN);
}

static void several_objects_are_told_at_once(void **state)
{
	struct mlx5dv_qp qp = { 0 };
	struct mlx5dv_cq cq = { 0 };
	struct mlx5dv_ah ah = { 0 };
	struct mlx5dv_pd pd = { 0 };
	struct mlx5dv_obj obj = { .qp = { .out = &qp },
				  .cq = { .out = &cq },
				  .ah = { .out = &ah },
				  .pd = { .out = &pd } };

	make();
	obj.qp.in = p.qp[1];
	obj.cq.in = p.cq[1];
	obj.ah.in = p.ah;
	obj.pd.in = p.pd;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_AH |
						       MLX5DV_OBJ_PD),
			 0);
	assert_non_null(qp.sq.buf);
	assert_non_null(cq.buf);
	assert_int_equal(ah.av->hop_limit, 64);
	assert_int_not_equal(pd.pdn, 0);
}

static void unknown_types_change_nothing(void **state)
{
	struct mlx5dv_qp out = { .comp_mask = 77 };
	struct mlx5dv_obj obj = { .qp = { .out = &out } };

	make();
	obj.qp.in = p.qp[0];
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | 1ull << 40), EINVAL);
	assert_int_equal(mlx5dv_init_obj(&obj, 0), EINVAL);
	assert_int_equal(out.comp_mask, 77);
	assert_null(out.sq.buf);
}

static void a_missing_half_is_refused_and_the_other_object_stays_untold(void **state)
{
	struct mlx5dv_qp out = { .comp_mask = 77 };
	struct mlx5dv_cq cq = { .comp_mask = 78 };
	struct mlx5dv_obj obj = { .qp = { .out = &out }, .cq = { .out = &cq } };

	make();
	obj.cq.in = p.cq[0];
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), EINVAL);
	obj.qp.in = p.qp[0];
	obj.cq.out = NULL;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), EINVAL);
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), EINVAL);
	assert_int_equal(out.comp_mask, 77);
	assert_int_equal(cq.comp_mask, 78);
}

static void devices_are_told_apart(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mlx5dv_context_attr devx = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX }, plain = { 0 };
	struct mlx5dv_context out = { 0 };
	struct mlx5dv_clock_info clock;
	struct ibv_context *ctx;

	make();
	for (int i = 0; list[i]; i++) {
		bool mlx5 = !strncmp(ibv_get_device_name(list[i]), "mlx5", 4);

		assert_int_equal(mlx5dv_is_supported(list[i]), mlx5);
		errno = 0;
		ctx = mlx5dv_open_device(list[i], &devx);
		assert_int_equal(!!ctx, mlx5);
		if (ctx)
			assert_int_equal(ibv_close_device(ctx), 0);
		else
			assert_int_equal(errno, EOPNOTSUPP);
		ctx = mlx5dv_open_device(list[i], &plain);
		assert_int_equal(!!ctx, mlx5);
		if (!ctx)
			ctx = ibv_open_device(list[i]);
		assert_int_equal(mlx5dv_query_device(ctx, &out), mlx5 ? 0 : EOPNOTSUPP);
		assert_int_equal(mlx5dv_get_clock_info(ctx, &clock), mlx5 ? 0 : EOPNOTSUPP);
		assert_int_equal(ibv_close_device(ctx), 0);
	}
	ibv_free_device_list(list);
}

static void a_query_answers_what_it_was_asked(void **state)
{
	struct mlx5dv_context out = { 0 };

	make();
	memset(&out.cqe_comp_caps, 0xee, sizeof(out.cqe_comp_caps));
	assert_int_equal(mlx5dv_query_device(p.ctx, &out), 0);
	assert_int_equal(out.comp_mask, 0);
	assert_true(out.flags & MLX5DV_CONTEXT_FLAGS_CQE_V1);
	assert_true(out.flags & MLX5DV_CONTEXT_FLAGS_CQE_128B_COMP);
	assert_int_equal(out.cqe_comp_caps.max_num, 0xeeeeeeee);
	out.comp_mask = MLX5DV_CONTEXT_MASK_CQE_COMPRESION | MLX5DV_CONTEXT_MASK_HCA_CORE_CLOCK |
			MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE;
	assert_int_equal(mlx5dv_query_device(p.ctx, &out), 0);
	assert_int_equal(out.comp_mask, MLX5DV_CONTEXT_MASK_CQE_COMPRESION |
						MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE);
	assert_int_equal(out.cqe_comp_caps.max_num, 64);
	assert_int_equal(out.cqe_comp_caps.supported_format,
			 MLX5DV_CQE_RES_FORMAT_HASH | MLX5DV_CQE_RES_FORMAT_CSUM |
				 MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX);
}

static struct ibv_qp *make_unordered(int side, enum ibv_qp_type type, uint32_t receives)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.send_cq = p.cq[side],
		.recv_cq = p.cq[side],
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = receives,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = p.pd,
	};
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_OOO_DP,
	};

	errno = 0;
	return mlx5dv_create_qp(p.ctx, &attr, &extra);
}

static void a_queue_pair_may_take_packets_out_of_order(void **state)
{
	struct mlx5dv_context out = { .comp_mask = MLX5DV_CONTEXT_MASK_OOO_RECV_WRS };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_sge sge;
	uint32_t most;

	make();
	sge = pair_sge(&p, 0, 5000);
	assert_int_equal(mlx5dv_query_device(p.ctx, &out), 0);
	assert_int_equal(out.comp_mask, MLX5DV_CONTEXT_MASK_OOO_RECV_WRS);
	most = out.ooo_recv_wrs_caps.max_rc;
	assert_true(most > 0 && out.ooo_recv_wrs_caps.max_xrc > 0 &&
		    out.ooo_recv_wrs_caps.max_dct > 0 && out.ooo_recv_wrs_caps.max_ud > 0);
	assert_null(make_unordered(0, IBV_QPT_RC, most + 1));
	assert_int_equal(errno, EINVAL);
	assert_null(make_unordered(0, IBV_QPT_UC, 16));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(make_unordered(0, IBV_QPT_RAW_PACKET, 16));
	assert_int_equal(errno, EOPNOTSUPP);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(ibv_destroy_qp(p.qp[side]), 0);
		p.qp[side] = make_unordered(side, IBV_QPT_RC, most);
		assert_non_null(p.qp[side]);
		assert_int_equal(ibv_query_qp(p.qp[side], &attr, IBV_QP_CAP, &init), 0);
		assert_int_equal(init.cap.max_recv_wr, most);
	}
	pair_connect(&p);
	for (uint64_t i = 0; i < 20; i++) {
		pair_pattern(p.buf, 5000, (uint8_t)i);
		pair_post_recv(&p, 1, i, PAIR_BUF / 2, 8192);
		pair_post(&p, &(struct ibv_send_wr){ .wr_id = i,
						     .opcode = IBV_WR_SEND,
						     .sg_list = &sge,
						     .num_sge = 1,
						     .send_flags = IBV_SEND_SIGNALED });
		pair_expect(p.cq[1], IBV_WC_RECV, i);
		pair_expect(p.cq[0], IBV_WC_SEND, i);
		assert_true(pair_is_pattern(p.buf + PAIR_BUF / 2, 5000, (uint8_t)i));
	}
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void the_clock_can_be_turned_into_wall_time(void **state)
{
	struct mlx5dv_clock_info clock;
	uint64_t before, after;

	make();
	before = wall_ns();
	assert_int_equal(mlx5dv_get_clock_info(p.ctx, &clock), 0);
	after = wall_ns();
	assert_in_range(mlx5dv_ts_to_ns(&clock, clock.last_cycles), before, after);
	/* One GHz: a second is as many ticks. */
	assert_int_equal(mlx5dv_ts_to_ns(&clock, clock.last_cycles + 1000000000) -
				 mlx5dv_ts_to_ns(&clock, clock.last_cycles),
			 1000000000);
}

static int allocated, freed;

static void *count_alloc(size_t size, void *data)
{
	assert_ptr_equal(data, &allocated);
	allocated++;
	return aligned_alloc(4096, (size + 4095) & ~4095ul);
}

static void count_free(void *ptr, void *data)
{
	freed++;
	free(ptr);
}

static void a_program_may_allocate_the_rings(void **state)
{
	struct mlx5dv_ctx_allocators own = { count_alloc, count_free, &allocated };
	struct ibv_cq *cq;

	make();
	assert_int_equal(mlx5dv_set_context_attr(p.ctx, MLX5DV_CTX_ATTR_BUF_ALLOCATORS, &own), 0);
	cq = ibv_create_cq(p.ctx, 10, NULL, NULL, 0);
	assert_non_null(cq);
	assert_int_equal(allocated, 2);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(freed, 2);
	assert_int_not_equal(mlx5dv_set_context_attr(p.ctx, 77, &own), 0);
}

/* Rings and records of one completion queue after the other. */
struct arena {
	uint8_t *memory;
	size_t used;
	int freed;
};

#define ARENA_SIZE (1u << 20)

static void *arena_alloc(struct ibv_pd *pd, void *context, size_t size, size_t align, uint64_t type)
{
	struct arena *a = context;
	void *at;

	a->used = (a->used + align - 1) & ~(align - 1);
	at = a->memory + a->used;
	a->used += size;
	return a->used <= ARENA_SIZE ? at : NULL;
}

static void arena_free(struct ibv_pd *pd, void *context, void *ptr, uint64_t type)
{
	((struct arena *)context)->freed++;
}

static bool is_in(const struct arena *a, const volatile void *at)
{
	return (size_t)((const volatile uint8_t *)at - a->memory) < a->used;
}

static void check_place(struct ibv_cq *cq, const struct arena *a)
{
	struct mlx5dv_cq out = { 0 };
	struct mlx5dv_obj obj = { .cq = { .in = cq, .out = &out } };

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	assert_true(is_in(a, out.buf));
	assert_true(is_in(a, out.dbrec));
}

static void a_completion_queue_is_in_the_memory_of_the_programs_allocator(void **state)
{
	struct arena a = { .memory = aligned_alloc(4096, ARENA_SIZE) };
	struct ibv_parent_domain_init_attr parent = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = arena_alloc,
		.free = arena_free,
		.pd_context = &a,
	};
	struct ibv_cq_init_attr_ex attr = { .cqe = 100, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_cq *cq;

	assert_non_null(a.memory);
	make();
	parent.pd = p.pd;
	attr.parent_domain = ibv_alloc_parent_domain(p.ctx, &parent);
	assert_non_null(attr.parent_domain);
	cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(p.ctx, &attr));
	assert_non_null(cq);
	check_place(cq, &a);
	assert_int_equal(ibv_resize_cq(cq, 1000), 0);
	assert_int_equal(a.freed, 1);
	check_place(cq, &a);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(a.freed, 3);
	assert_int_equal(ibv_dealloc_pd(attr.parent_domain), 0);
	free(a.memory);
}

#define T(name) cmocka_unit_test_teardown(name, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_send_ring_holds_what_was_posted),
		T(a_raw_cq_belongs_to_the_program),
		T(a_raw_cq_that_was_resized_is_handed_out_anew),
		T(wide_completions_can_be_had),
		T(the_environment_may_ask_for_huge_pages),
		T(the_environment_may_ask_for_wide_completions),
		T(impossible_cq_attributes_are_refused),
		T(a_cq_may_have_compressed_entries),
		T(a_shared_ring_starts_as_one_chain),
		T(several_objects_are_told_at_once),
		T(unknown_types_change_nothing),
		T(a_missing_half_is_refused_and_the_other_object_stays_untold),
		T(devices_are_told_apart),
		T(a_query_answers_what_it_was_asked),
		T(a_queue_pair_may_take_packets_out_of_order),
		T(the_clock_can_be_turned_into_wall_time),
		T(a_program_may_allocate_the_rings),
		T(a_completion_queue_is_in_the_memory_of_the_programs_allocator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
