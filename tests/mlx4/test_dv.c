/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct verbs: what mlx4dv_init_obj() says is true, and rings that the program writes and reads
 * itself work.
 */
#include "rig.h"

#include <endian.h>
#include <infiniband/mlx4dv.h>

static struct mlx4dv_qp raw_qp(struct ibv_qp *qp)
{
	struct mlx4dv_qp out = { 0 };
	struct mlx4dv_obj obj = { .qp = { qp, &out } };

	check_ok(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP));
	return out;
}

static struct mlx4dv_cq raw_cq(struct ibv_cq *cq)
{
	struct mlx4dv_cq out = { 0 };
	struct mlx4dv_obj obj = { .cq = { cq, &out } };

	check_ok(mlx4dv_init_obj(&obj, MLX4DV_OBJ_CQ));
	return out;
}

static void a_queue_pair_is_told_as_it_lies_in_memory(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct mlx4dv_qp q;
	struct end *e;

	o.send_wr = 31;
	o.recv_wr = 100;
	o.recv_sge = 2;
	o.send_sge = 1;
	o.inline_bytes = 0;
	e = end_open(&o);
	q = raw_qp(e->qp);
	check_equal(q.sq.wqe_cnt, 64);
	check_equal(q.sq.wqe_shift, 6);
	check_equal(q.sq.offset, 0);
	check_equal(q.rq.wqe_cnt, 128);
	check_equal(q.rq.wqe_shift, 5);
	check_equal(q.rq.offset, 4096);
	check_equal(q.buf.length, 8192);
	check(q.buf.buf && ((uintptr_t)q.buf.buf & 4095) == 0);
	check_equal(be32toh(q.doorbell_qpn), e->qp->qp_num << 8);
	check_equal((uintptr_t)q.sdb & 4095, MLX4_SEND_DOORBELL);
	check_equal(*q.rdb, 0);
	check_equal(q.comp_mask, 0);
	end_close(e);
}

static void masks_ask_for_more_and_say_what_was_given(void)
{
	struct options o = options_of(IBV_QPT_UD);
	struct end *e = end_open(&o);
	struct mlx4dv_qp q = { .comp_mask = MLX4DV_QP_MASK_UAR_MMAP_OFFSET, .uar_mmap_offset = -1 };
	struct mlx4dv_cq c = { .comp_mask = MLX4DV_CQ_MASK_UAR };
	struct mlx4dv_obj obj = { .qp = { e->qp, &q }, .cq = { e->scq, &c } };

	check_ok(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ));
	check_equal(q.comp_mask, MLX4DV_QP_MASK_UAR_MMAP_OFFSET);
	check_equal(q.uar_mmap_offset, 0);
	check_equal(c.comp_mask, MLX4DV_CQ_MASK_UAR);
	check((char *)c.cq_uar + MLX4_SEND_DOORBELL == (char *)q.sdb);
	end_close(e);
}

static void several_objects_come_with_one_call(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct mlx4dv_qp q = { 0 };
	struct mlx4dv_cq c = { 0 };
	struct mlx4dv_srq s;
	struct mlx4dv_obj obj;
	struct end *e;

	o.srq = true;
	o.cqe = 100;
	e = end_open(&o);
	memset(&s, 0xff, sizeof(s)); /* its mask is not looked at */
	obj = (struct mlx4dv_obj){ .qp = { e->qp, &q },
				   .cq = { e->scq, &c },
				   .srq = { e->srq, &s } };
	check_ok(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ | MLX4DV_OBJ_SRQ));
	check_equal(q.rq.wqe_cnt, 0);
	check_equal(c.cqe_cnt, 128);
	check_equal(c.cqe_size, 64);
	check_equal(c.buf.length, 128 * 64);
	check_equal(c.arm_sn, 1);
	check(c.arm_db == c.set_ci_db + 1);
	check_equal(s.comp_mask, 0);
	check_equal(s.head, 0);
	check_equal((s.tail + 1) & s.tail, 0);
	check_equal(s.buf.length, ((size_t)(s.tail + 1) << s.wqe_shift) > 4096
					  ? (size_t)(s.tail + 1) << s.wqe_shift
					  : 4096);
	check_equal(*s.db, 0);
	end_close(e);
}

static void unknown_objects_change_nothing(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);
	struct mlx4dv_qp q = { .doorbell_qpn = 0x5a5a5a5a };
	struct mlx4dv_cq c = { .cqn = 0x5a5a5a5a };
	struct mlx4dv_obj obj = { .qp = { e->qp, &q }, .cq = { e->scq, &c } };

	/* one of two is wrong: neither is given */
	check_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP | 1 << 4), EINVAL);
	check_equal(mlx4dv_init_obj(&obj, 1ull << 63), EINVAL);
	check_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_SRQ), EINVAL);
	check_equal(q.doorbell_qpn, 0x5a5a5a5a);
	check_equal(c.cqn, 0x5a5a5a5a);
	end_close(e);
}

/* DPDK's mask of a CQ is whatever lay on its stack. */
static void a_mask_says_afterwards_what_was_given(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);
	struct mlx4dv_qp q = { .comp_mask = ~0ull };
	struct mlx4dv_cq c = { .comp_mask = 0x55f0a00000ull };
	struct mlx4dv_obj obj = { .qp = { e->qp, &q }, .cq = { e->scq, &c } };

	check_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ), 0);
	check_equal(q.comp_mask, MLX4DV_QP_MASK_UAR_MMAP_OFFSET);
	check_equal(c.comp_mask, 0);
	check(c.cqe_cnt > 0);
	end_close(e);
}

static struct ibv_context *open_mlx5(void)
{
	struct ibv_device **list = must(ibv_get_device_list(NULL));
	struct ibv_context *ctx = NULL;

	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "mlx5_0"))
			ctx = must(ibv_open_device(list[i]));
	ibv_free_device_list(list);
	check(ctx);
	return ctx;
}

static void objects_of_another_driver_are_refused(void)
{
	struct ibv_context *ctx = open_mlx5();
	struct ibv_cq *cq = must(ibv_create_cq(ctx, 4, NULL, NULL, 0));
	struct mlx4dv_cq c = { 0 };
	struct mlx4dv_obj obj = { .cq = { cq, &c } };
	struct mlx4dv_context attrs;
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC };
	uint8_t log = 0;

	check_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_CQ), EINVAL);
	check_equal(mlx4dv_query_device(ctx, &attrs), EINVAL);
	check_equal(mlx4dv_set_context_attr(ctx, MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ, &log),
		    EINVAL);
	check_refused(mlx4dv_create_qp(ctx, &attr, NULL), EINVAL);
	check_ok(ibv_destroy_cq(cq));
	check_ok(ibv_close_device(ctx));
}

static void the_device_tells_its_inline_receive_size(void)
{
	struct mlx4dv_context attrs = { .version = 7, .comp_mask = 1 };

	check_ok(mlx4dv_query_device(rig_context(), &attrs));
	check_equal(attrs.version, 0);
	check_equal(attrs.max_inl_recv_sz, 512);
	check_equal(attrs.comp_mask, 0);
}

/* ---- rings by hand ---- */

/* The word that is written last, whole, with the owner in its last byte. */
static bool is_mine(const struct mlx4_cqe *cqe, const struct mlx4dv_cq *cq, uint32_t ci)
{
	const uint64_t *last = (const uint64_t *)cqe + 3;
	uint8_t own = be64toh(__atomic_load_n(last, __ATOMIC_ACQUIRE));

	return !!(own & MLX4_CQE_OWNER_MASK) == !!(ci & cq->cqe_cnt);
}

/* The next entry of a raw CQ, waited for; counts it as consumed. */
static struct mlx4_cqe *take_raw(struct ibv_cq *kick, const struct mlx4dv_cq *cq, uint32_t *ci)
{
	struct mlx4_cqe *cqe =
		(void *)((char *)cq->buf.buf + (*ci & (cq->cqe_cnt - 1)) * cq->cqe_size +
			 cq->cqe_size - 32);
	struct ibv_wc wc;

	/* another CQ is polled so that this process makes progress */
	wait_for(ibv_poll_cq(kick, 1, &wc) == 0 && is_mine(cqe, cq, *ci));
	++*ci;
	__atomic_store_n(cq->set_ci_db, htobe32(*ci & 0xffffff), __ATOMIC_RELEASE);
	return cqe;
}

static void completions_may_be_read_by_hand_over_many_laps(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_cq *kick = must(ibv_create_cq(rig_context(), 1, NULL, NULL, 0));
	uint32_t send_ci = 0, recv_ci = 0;
	struct mlx4dv_cq scq, rcq;
	struct pair p;

	o.cqe = 7;
	o.send_wr = o.recv_wr = 31;
	p = pair_open(&o);
	scq = raw_cq(p.a->scq);
	rcq = raw_cq(p.b->rcq);
	check_equal(scq.cqe_cnt, 8);
	/* the driver counts requests by what it polls: so many fit, and it is never told of any */
	for (int i = 0; i < 31; i++) {
		const struct mlx4_cqe *cqe;

		post_recv(p.b, i, 0, 64);
		post(p.a, &(struct work){ .op = IBV_WR_SEND_WITH_IMM,
					  .len = i + 1,
					  .imm = 100 + i,
					  .flags = IBV_SEND_SIGNALED });
		cqe = take_raw(kick, &scq, &send_ci);
		check_equal(be32toh(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK, p.a->qp->qp_num);
		check_equal(cqe->owner_sr_opcode & 0x5f,
			    MLX4_CQE_IS_SEND_MASK | MLX4_OPCODE_SEND_IMM);
		check_equal(be16toh(cqe->wqe_index), i);
		cqe = take_raw(kick, &rcq, &recv_ci);
		check_equal(be32toh(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK, p.b->qp->qp_num);
		check_equal(cqe->owner_sr_opcode & 0x5f, MLX4_RECV_OPCODE_SEND_IMM);
		check_equal(be32toh(cqe->byte_cnt), i + 1);
		check_equal(be32toh(cqe->immed_rss_invalid), 100 + i);
	}
	pair_close(&p);
	check_ok(ibv_destroy_cq(kick));
}

/* Receives by hand need no library call: the adapter looks at ring and record when data comes. */
static void receives_may_be_posted_by_hand_over_many_laps(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_cq *kick = must(ibv_create_cq(rig_context(), 1, NULL, NULL, 0));
	uint32_t head = 0, ci = 0;
	struct mlx4dv_qp q;
	struct mlx4dv_cq c;
	struct pair p;

	o.recv_wr = 4;
	o.recv_sge = 2;
	p = pair_open(&o);
	q = raw_qp(p.b->qp);
	c = raw_cq(p.b->rcq);
	check_equal(q.rq.wqe_cnt, 4);
	for (int i = 0; i < 50; i++) {
		struct mlx4_wqe_data_seg *seg =
			(void *)((char *)q.buf.buf + q.rq.offset + ((head & 3) << q.rq.wqe_shift));

		mlx4dv_set_data_seg(&seg[0], 3, p.b->mr->lkey, (uintptr_t)p.b->buf + 100);
		mlx4dv_set_data_seg(&seg[1], 200, p.b->mr->lkey, (uintptr_t)p.b->buf + 200);
		__atomic_store_n(q.rdb, htobe32(++head & 0xffff), __ATOMIC_RELEASE);
		fill(p.a->buf, 64, i);
		post(p.a,
		     &(struct work){
			     .id = i, .op = IBV_WR_SEND, .len = 64, .flags = IBV_SEND_SIGNALED });
		check_equal(be32toh(take_raw(kick, &c, &ci)->byte_cnt), 64);
		expect_ok(p.a->scq, i);
		check(!memcmp(p.b->buf + 100, p.a->buf, 3));
		check(!memcmp(p.b->buf + 200, p.a->buf + 3, 61));
	}
	pair_close(&p);
	check_ok(ibv_destroy_cq(kick));
}

static void a_shared_queue_may_be_filled_by_hand(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_cq *kick = must(ibv_create_cq(rig_context(), 1, NULL, NULL, 0));
	struct mlx4dv_srq s;
	struct mlx4dv_obj obj;
	uint16_t posted = 0;
	uint32_t ci = 0;
	struct mlx4dv_cq c;
	struct pair p;
	int head, tail;

	o.srq = true;
	o.recv_wr = 3;
	p = pair_open(&o);
	obj = (struct mlx4dv_obj){ .srq = { p.b->srq, &s } };
	check_ok(mlx4dv_init_obj(&obj, MLX4DV_OBJ_SRQ));
	c = raw_cq(p.b->rcq);
	head = s.head;
	tail = s.tail;
	for (int i = 0; i < 40; i++) {
		struct mlx4_wqe_srq_next_seg *entry =
			(void *)((char *)s.buf.buf + (head << s.wqe_shift));
		struct mlx4_wqe_data_seg *seg = (void *)(entry + 1);
		const struct mlx4_cqe *cqe;

		check(head != tail);
		mlx4dv_set_data_seg(&seg[0], 100, p.b->mr->lkey, (uintptr_t)p.b->buf);
		if (s.wqe_shift > 5)
			mlx4dv_set_data_seg(&seg[1], 0, MLX4_INVALID_LKEY, 0);
		head = be16toh(entry->next_wqe_index);
		__atomic_store_n(s.db, htobe32(++posted), __ATOMIC_RELEASE);
		post(p.a,
		     &(struct work){
			     .id = i, .op = IBV_WR_SEND, .len = 10, .flags = IBV_SEND_SIGNALED });
		cqe = take_raw(kick, &c, &ci);
		check_equal((char *)s.buf.buf + (be16toh(cqe->wqe_index) << s.wqe_shift) -
				    (char *)entry,
			    0);
		/* the entry goes back behind the last free one */
		entry = (void *)((char *)s.buf.buf + (tail << s.wqe_shift));
		entry->next_wqe_index = cqe->wqe_index;
		tail = be16toh(cqe->wqe_index);
		expect_ok(p.a->scq, i);
	}
	pair_close(&p);
	check_ok(ibv_destroy_cq(kick));
}

static void the_arm_number_moves_with_every_event(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_cq *cq;
	struct pair p;
	void *context;

	o.events = true;
	p = pair_open(&o);
	for (int i = 0; i < 6; i++) {
		struct mlx4dv_cq c;

		check_ok(ibv_req_notify_cq(p.a->scq, 0));
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_RDMA_WRITE,
					  .len = 8,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey,
					  .flags = IBV_SEND_SIGNALED });
		check_ok(ibv_get_cq_event(p.a->channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
		check(cq == p.a->scq);
		expect_ok(p.a->scq, i);
		c = raw_cq(p.a->scq);
		check_equal(c.arm_sn, 2 + i);
		/* what the last request left behind: sequence, kind, consumer */
		check_equal(be32toh(*c.arm_db),
			    (uint32_t)((1 + i) & 3) << 28 | MLX4_CQ_DB_REQ_NOT | i);
		check_equal(be32toh(*c.set_ci_db), i + 1);
	}
	pair_close(&p);
}

/* ---- allocators and inline receive ---- */

static struct {
	int count, freed;
	void *data;
} allocations;

static void *count_alloc(size_t size, void *data)
{
	allocations.count++;
	allocations.data = data;
	return aligned_alloc(4096, (size + 4095) & ~4095ul);
}

static void count_free(void *ptr, void *data)
{
	check(data == allocations.data);
	allocations.freed++;
	free(ptr);
}

static void rings_come_from_the_programs_allocators(void)
{
	struct mlx4dv_ctx_allocators mine = { count_alloc, count_free, &allocations };
	struct options o = options_of(IBV_QPT_RC);
	struct mlx4dv_ctx_allocators none = { 0 };
	struct pair p;
	int used;

	check_ok(mlx4dv_set_context_attr(rig_context(), MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS, &mine));
	p = pair_open(&o);
	used = allocations.count;
	check(used >= 6);
	check(allocations.data == &allocations);
	/* what was taken goes back where it came from, whatever is set by then */
	check_ok(mlx4dv_set_context_attr(rig_context(), MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS, &none));
	post_recv(p.b, 1, 0, 64);
	post(p.a, &(struct work){ .op = IBV_WR_SEND, .len = 64, .flags = IBV_SEND_SIGNALED });
	expect_ok(p.b->rcq, 1);
	expect_ok(p.a->scq, 0);
	pair_close(&p);
	check_equal(allocations.count, used);
	check_equal(allocations.freed, used);
}

static void context_attributes_are_checked(void)
{
	uint8_t log = 2;

	check_ok(
		mlx4dv_set_context_attr(rig_context(), MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ, &log));
	check_equal(mlx4dv_set_context_attr(rig_context(), 9, &log), EOPNOTSUPP);
}

static struct ibv_qp *create_raw(struct end *e, struct mlx4dv_qp_init_attr *extra)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .send_cq = e->scq,
					    .recv_cq = e->rcq,
					    .cap = { 1, 1, 1, 1, 0 },
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = e->pd };

	return mlx4dv_create_qp(e->ctx, &attr, extra);
}

static void inline_receive_is_granted_in_receive_entries(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);
	struct mlx4dv_qp_init_attr extra = { .comp_mask = MLX4DV_QP_INIT_ATTR_MASK_INL_RECV,
					     .inl_recv_sz = 100 };
	struct ibv_qp *qp = must(create_raw(e, &extra));

	check_equal(extra.inl_recv_sz, 128);
	check_equal(raw_qp(qp).rq.wqe_shift, 7);
	check_ok(ibv_destroy_qp(qp));

	/* the wish is gone with the call */
	qp = must(create_raw(e, NULL));
	check_equal(raw_qp(qp).rq.wqe_shift, 4);
	check_ok(ibv_destroy_qp(qp));

	extra.inl_recv_sz = 513;
	check_refused(create_raw(e, &extra), EINVAL);
	extra = (struct mlx4dv_qp_init_attr){ .comp_mask = MLX4DV_QP_INIT_ATTR_MASK_RESERVED };
	check_refused(create_raw(e, &extra), EINVAL);
	end_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_queue_pair_is_told_as_it_lies_in_memory),
		TEST(masks_ask_for_more_and_say_what_was_given),
		TEST(several_objects_come_with_one_call),
		TEST(unknown_objects_change_nothing),
		TEST(a_mask_says_afterwards_what_was_given),
		TEST(objects_of_another_driver_are_refused),
		TEST(the_device_tells_its_inline_receive_size),
		TEST(completions_may_be_read_by_hand_over_many_laps),
		TEST(receives_may_be_posted_by_hand_over_many_laps),
		TEST(a_shared_queue_may_be_filled_by_hand),
		TEST(the_arm_number_moves_with_every_event),
		TEST(rings_come_from_the_programs_allocators),
		TEST(context_attributes_are_checked),
		TEST(inline_receive_is_granted_in_receive_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
