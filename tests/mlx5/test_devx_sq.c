/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send queues made by command, with frames put into their rings by hand; counters of another context
 * show that they left. Rates, and the elements that queues would be scheduled by.
 */
#include "devx_frames.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "ether/flow_packets.h"

enum { LOG_SQ = 4, PORT = 777 };

static struct rig rig, far;

/* ---- the receiving end: a flow that counts and drops ---- */

static struct {
	struct mlx5dv_devx_obj *counter, *tir;
	uint32_t number, tirn;
	struct frames_rq rq;
	struct mlx5dv_flow_matcher *matcher;
	struct ibv_flow *flow;
} sink;

static void open_sink(void)
{
	RIG_IN(in, 0x10, ALLOC_FLOW_COUNTER);
	RIG_IN(tir, ifc_len(create_tir_in), CREATE_TIR);
	uint8_t *ctx = ifc_ptr(tir, create_tir_in, ctx);
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + 64];
	} mask = { .p.match_sz = 64 }, value = { .p.match_sz = 64 };
	struct mlx5dv_flow_matcher_attr attr = { .match_criteria_enable = 1,
						 .match_mask = &mask.p };
	struct mlx5dv_flow_action_attr actions[2] = {
		{ .type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX },
		{ .type = MLX5DV_FLOW_ACTION_DEST_DEVX },
	};

	frames_rq(&far, &sink.rq, 0);
	sink.counter = frames_create(&far, in, sizeof(in), &sink.number);
	ifc_set(ctx, tirc, disp_type, IFC_TIR_DIRECT);
	ifc_set(ctx, tirc, inline_rqn, sink.rq.number);
	sink.tir = frames_create(&far, tir, sizeof(tir), &sink.tirn);
	actions[0].obj = sink.counter;
	actions[1].obj = sink.tir;
	memset((uint8_t *)mask.p.match_buf + FRAMES_UDP_DPORT, 0xff, 2);
	((uint8_t *)value.p.match_buf)[FRAMES_UDP_DPORT] = PORT >> 8;
	((uint8_t *)value.p.match_buf)[FRAMES_UDP_DPORT + 1] = PORT & 0xff;
	sink.matcher = mlx5dv_create_flow_matcher(far.ctx, &attr);
	sink.flow = mlx5dv_create_flow(sink.matcher, &value.p, 2, actions);
	assert_non_null(sink.flow);
}

static void close_sink(void)
{
	assert_int_equal(ibv_destroy_flow(sink.flow), 0);
	assert_int_equal(mlx5dv_destroy_flow_matcher(sink.matcher), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(sink.tir), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(sink.counter), 0);
	frames_rq_drop(&sink.rq);
}

static void wait_for(uint64_t frames)
{
	time_t end = time(NULL) + 20;

	while (frames_counted(sink.counter, sink.number) < frames) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
	assert_int_equal(frames_counted(sink.counter, sink.number), frames);
}

/* ---- the queue ---- */

struct sq {
	struct rig_cq cq;
	struct rig_qp qp; /* as far as ringing goes */
};

static uint8_t *sq_in(uint8_t *in, const struct sq *q)
{
	uint8_t *ctx = ifc_ptr(in, create_sq_in, ctx), *wq = ifc_ptr(ctx, sqc, wq);

	memset(in, 0, ifc_len(create_sq_in));
	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_SQ);
	ifc_set(ctx, sqc, cqn, q->cq.cqn);
	ifc_set(wq, wq, wq_type, IFC_WQ_CYCLIC);
	ifc_set(wq, wq, pd, rig.pdn);
	ifc_set(wq, wq, uar_page, rig.uar->page_id);
	ifc_set(wq, wq, log_wq_stride, 6);
	ifc_set(wq, wq, log_wq_sz, LOG_SQ);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, q->qp.umem.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, q->qp.umem.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, 64 << LOG_SQ);
	return ctx;
}

static int change_sq(struct sq *q, unsigned int from, unsigned int to, uint32_t rate, uint8_t *out)
{
	RIG_IN(in, ifc_len(modify_sq_in), MODIFY_SQ);
	uint8_t *ctx = ifc_ptr(in, modify_sq_in, ctx);

	ifc_set(in, modify_sq_in, sqn, q->qp.qpn);
	ifc_set(in, modify_sq_in, sq_state, from);
	ifc_set(ctx, sqc, state, to);
	if (rate) {
		ifc_set(in, modify_sq_in, modify_bitmask, IFC_MODIFY_SQ_RATE_LIMIT);
		ifc_set(ctx, sqc, packet_pacing_rate_limit_index, rate);
	}
	return mlx5dv_devx_obj_modify(q->qp.obj, in, sizeof(in), out, 0x10);
}

static void make(struct sq *q)
{
	uint8_t in[IFC_LEN_create_sq_in], out[0x10];

	memset(q, 0, sizeof(*q));
	rig_cq(&rig, LOG_SQ + 1, rig.eqn, &q->cq);
	q->qp.rig = &rig;
	q->qp.umem = rig_umem(&rig, (64 << LOG_SQ) + 64);
	q->qp.sq = q->qp.umem.addr;
	q->qp.sq_size = 1 << LOG_SQ;
	q->qp.db = (void *)(q->qp.umem.addr + (64 << LOG_SQ));
	sq_in(in, q);
	q->qp.obj = frames_create(&rig, in, sizeof(in), &q->qp.qpn);
	assert_int_equal(change_sq(q, IFC_WQ_RST, IFC_WQ_RDY, 0, out), 0);
}

static void drop(struct sq *q)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(q->qp.obj), 0);
	rig_umem_drop(&q->qp.umem);
	rig_cq_drop(&q->cq);
}

/* A frame of `len` bytes, to a MAC address that the sink's flow asks for. */
static void put(struct sq *q, uint32_t len)
{
	uint8_t *at = q->qp.sq + 64 * (size_t)(q->qp.post & (q->qp.sq_size - 1));
	struct mlx5_wqe_eth_seg *eth = (void *)(at + 16);
	struct pkt p = pkt_plain(q->qp.post & 0xff, PORT);

	memcpy(rig.memory, p.b, p.len);
	memset(eth, 0, 16);
	mlx5dv_set_data_seg((void *)(at + 32), len > p.len ? len : p.len, rig.mr->lkey,
			    (uintptr_t)rig.memory);
	mlx5dv_set_ctrl_seg((void *)at, q->qp.post & 0xffff, MLX5_OPCODE_SEND, 0, q->qp.qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	q->qp.post++;
	rig_ring(&q->qp);
}

static void sent(struct sq *q, uint16_t counter)
{
	const struct mlx5_cqe64 *cqe = rig_cq_wait(&q->cq);

	assert_int_equal(cqe->op_own >> 4, MLX5_CQE_REQ);
	assert_int_equal(be32toh(cqe->sop_drop_qpn) & 0xffffff, q->qp.qpn);
	assert_int_equal(be16toh(cqe->wqe_counter), counter);
	rig_cq_take(&q->cq);
}

static int setup(void **state)
{
	rig_open(&rig);
	rig_open(&far);
	open_sink();
	return 0;
}

static int teardown(void **state)
{
	close_sink();
	rig_close(&far);
	rig_close(&rig);
	return 0;
}

/* ---- tests ---- */

static void frames_leave_a_ring_that_wraps_many_times(void **state)
{
	struct sq q;

	make(&q);
	for (uint16_t i = 0; i < 100; i++) {
		put(&q, 0);
		sent(&q, i);
	}
	wait_for(100);
	drop(&q);
}

/* The state; and how far the program and the adapter have come. */
static unsigned int ask(struct sq *q, uint32_t *posted, uint32_t *taken)
{
	uint8_t out[IFC_LEN_query_sq_out + 0x100] = { 0 };
	uint8_t *ctx = ifc_ptr(out, query_sq_out, sq_context), *wq = ifc_ptr(ctx, sqc, wq);
	RIG_IN(in, ifc_len(query_sq_in), QUERY_SQ);

	ifc_set(in, query_sq_in, sqn, q->qp.qpn);
	assert_int_equal(mlx5dv_devx_obj_query(q->qp.obj, in, sizeof(in), out, sizeof(out)), 0);
	*posted = ifc_get(wq, wq, sw_counter);
	*taken = ifc_get(wq, wq, hw_counter);
	return ifc_get(ctx, sqc, state);
}

static void a_queue_sends_only_when_it_is_ready(void **state)
{
	uint32_t posted, taken;
	uint8_t out[0x10];
	struct sq q;

	make(&q);
	put(&q, 0);
	sent(&q, 0);
	wait_for(1);
	assert_int_equal(ask(&q, &posted, &taken), IFC_WQ_RDY);
	assert_int_equal(posted, 1);
	assert_int_equal(taken, 1);
	/* a malformed entry is the end of it; a reset begins anew */
	mlx5dv_set_ctrl_seg((void *)(q.qp.sq + 64), 1, 0x3b, 0, q.qp.qpn, MLX5_WQE_CTRL_CQ_UPDATE,
			    3, 0, 0);
	q.qp.post++;
	rig_ring(&q.qp);
	assert_int_equal(rig_cq_wait(&q.cq)->op_own >> 4, MLX5_CQE_REQ_ERR);
	rig_cq_take(&q.cq);
	assert_int_equal(ask(&q, &posted, &taken), IFC_WQ_ERR);
	assert_int_equal(posted, 2);
	assert_int_equal(change_sq(&q, IFC_WQ_ERR, IFC_WQ_RDY, 0, out), EREMOTEIO);
	assert_int_equal(change_sq(&q, IFC_WQ_ERR, IFC_WQ_RST, 0, out), 0);
	assert_int_equal(ask(&q, &posted, &taken), IFC_WQ_RST);
	q.qp.post = 0;
	q.qp.db[MLX5_SND_DBR] = 0;
	assert_int_equal(change_sq(&q, IFC_WQ_RST, IFC_WQ_RDY, 0, out), 0);
	put(&q, 0);
	sent(&q, 0);
	wait_for(2);
	/* from where it is not */
	assert_int_equal(change_sq(&q, IFC_WQ_RST, IFC_WQ_RDY, 0, out), EREMOTEIO);
	drop(&q);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void a_rate_of_the_pacing_table_slows_a_queue_down(void **state)
{
	uint8_t rate[IFC_LEN_set_pp_rate_limit_context] = { 0 }, out[0x10];
	struct mlx5dv_pp *pp;
	uint64_t start;
	struct sq q;

	make(&q);
	assert_int_equal(change_sq(&q, IFC_WQ_RDY, IFC_WQ_RDY, 77, out), EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_RES);
	ifc_set(rate, set_pp_rate_limit_context, rate_limit, 2000); /* kbit/s */
	pp = mlx5dv_pp_alloc(rig.ctx, sizeof(rate), rate, 0);
	assert_non_null(pp);
	assert_int_equal(change_sq(&q, IFC_WQ_RDY, IFC_WQ_RDY, pp->index, out), 0);
	start = now_ns();
	for (uint16_t i = 0; i < 11; i++)
		put(&q, 1000);
	for (uint16_t i = 0; i < 11; i++)
		sent(&q, i);
	/* 10 frames of 4 ms each had to go before the last one */
	assert_true(now_ns() - start >= 30000000);
	wait_for(11);
	mlx5dv_pp_free(pp);
	drop(&q);
}

static void queues_that_cannot_be_are_refused(void **state)
{
	uint8_t in[IFC_LEN_create_sq_in], out[0x10], *ctx, *wq;
	struct sq q;

	make(&q);
	for (int i = 0; i < 7; i++) {
		uint8_t status = i == 1 || i == 2 || i == 3 || i == 4 ? IFC_STATUS_BAD_RES
								      : IFC_STATUS_BAD_PARAM;

		ctx = sq_in(in, &q);
		wq = ifc_ptr(ctx, sqc, wq);
		switch (i) {
		case 0:
			ifc_set(ctx, sqc, hairpin, 1);
			break;
		case 1:
			ifc_set(ctx, sqc, cqn, 0xabcdef);
			break;
		case 2:
			ifc_set(wq, wq, pd, 0xabcdef);
			break;
		case 3:
			ifc_set(ctx, sqc, tis_lst_sz, 1);
			ifc_set(ctx, sqc, tis_num_0, 0xabcdef);
			break;
		case 4:
			ifc_set(wq, wq, wq_umem_id, 0xabcdef);
			break;
		case 5:
			ifc_set(wq, wq, log_wq_stride, 7);
			break;
		default:
			ifc_set(wq, wq, log_wq_sz, 20);
			break;
		}
		assert_null(mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out)));
		assert_int_equal(errno, EREMOTEIO);
		assert_int_equal(ifc_get(out, cmd_out, status), status);
	}
	drop(&q);
}

static struct mlx5dv_devx_obj *element(unsigned int hierarchy, unsigned int type, uint32_t parent,
				       uint8_t *out)
{
	RIG_IN(in, ifc_len(create_scheduling_element_in), CREATE_SCHEDULING_ELEMENT);
	uint8_t *sc = ifc_ptr(in, create_scheduling_element_in, scheduling_context);

	ifc_set(in, create_scheduling_element_in, scheduling_hierarchy, hierarchy);
	ifc_set(sc, scheduling_context, element_type, type);
	ifc_set(sc, scheduling_context, parent_element_id, parent);
	ifc_set(sc, scheduling_context, bw_share, 7);
	return mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out,
				      ifc_len(create_scheduling_element_out));
}

static int join(struct sq *q, uint32_t group, uint8_t *out)
{
	RIG_IN(in, ifc_len(modify_sq_in), MODIFY_SQ);
	uint8_t *ctx = ifc_ptr(in, modify_sq_in, ctx);

	ifc_set(in, modify_sq_in, sqn, q->qp.qpn);
	ifc_set(in, modify_sq_in, sq_state, IFC_WQ_RDY);
	ifc_set(in, modify_sq_in, modify_bitmask, IFC_MODIFY_SQ_QOS_GROUP);
	ifc_set(ctx, sqc, state, IFC_WQ_RDY);
	ifc_set(ctx, sqc, qos_queue_group_id, group);
	return mlx5dv_devx_obj_modify(q->qp.obj, in, sizeof(in), out, 0x10);
}

static void an_elements_limit_slows_the_queues_below_down(void **state)
{
	RIG_IN(in, ifc_len(modify_scheduling_element_in), MODIFY_SCHEDULING_ELEMENT);
	uint8_t *sc = ifc_ptr(in, modify_scheduling_element_in, scheduling_context);
	uint8_t out[IFC_LEN_create_scheduling_element_out] = { 0 };
	struct mlx5dv_devx_obj *tsar = element(IFC_SCHED_NIC, IFC_SCHED_TSAR, 0, out), *group;
	uint32_t top = ifc_get(out, create_scheduling_element_out, scheduling_element_id), id;
	uint64_t start;
	struct sq q;

	make(&q);
	group = element(IFC_SCHED_NIC, IFC_SCHED_QUEUE_GROUP, top, out);
	id = ifc_get(out, create_scheduling_element_out, scheduling_element_id);
	assert_true(tsar && group);
	assert_int_equal(join(&q, top, out), EREMOTEIO); /* no place for a queue */
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_RES);
	assert_int_equal(join(&q, id, out), 0);
	ifc_set(in, modify_scheduling_element_in, scheduling_hierarchy, IFC_SCHED_NIC);
	ifc_set(in, modify_scheduling_element_in, scheduling_element_id, top);
	ifc_set(in, modify_scheduling_element_in, modify_bitmask, IFC_MODIFY_SCHED_MAX);
	ifc_set(sc, scheduling_context, max_average_bw, 2); /* Mbit/s */
	assert_int_equal(mlx5dv_devx_obj_modify(tsar, in, sizeof(in), out, 0x10), 0);
	start = now_ns();
	for (uint16_t i = 0; i < 11; i++)
		put(&q, 1000);
	for (uint16_t i = 0; i < 11; i++)
		sent(&q, i);
	/* 10 frames of 4 ms each had to go before the last one */
	assert_true(now_ns() - start >= 30000000);
	wait_for(11);
	assert_int_equal(mlx5dv_devx_obj_destroy(group), EBUSY);
	drop(&q);
	assert_int_equal(mlx5dv_devx_obj_destroy(group), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(tsar), 0);
}

static void scheduling_elements_form_a_tree(void **state)
{
	RIG_IN(in, ifc_len(modify_scheduling_element_in), MODIFY_SCHEDULING_ELEMENT);
	RIG_IN(query, ifc_len(query_scheduling_element_in), QUERY_SCHEDULING_ELEMENT);
	uint8_t out[IFC_LEN_create_scheduling_element_out] = { 0 };
	uint8_t answer[IFC_LEN_query_scheduling_element_out] = { 0 };
	uint8_t *sc = ifc_ptr(answer, query_scheduling_element_out, scheduling_context);
	struct mlx5dv_devx_obj *root = element(IFC_SCHED_NIC, IFC_SCHED_TSAR, 0, out), *leaf;
	uint32_t id = ifc_get(out, create_scheduling_element_out, scheduling_element_id);

	assert_non_null(root);
	leaf = element(IFC_SCHED_NIC, IFC_SCHED_QUEUE_GROUP, id, out);
	assert_non_null(leaf);
	assert_int_equal(mlx5dv_devx_obj_destroy(root), EBUSY);
	ifc_set(in, modify_scheduling_element_in, scheduling_element_id, id);
	ifc_set(in, modify_scheduling_element_in, modify_bitmask, IFC_MODIFY_SCHED_MAX);
	ifc_set(ifc_ptr(in, modify_scheduling_element_in, scheduling_context), scheduling_context,
		max_average_bw, 999);
	assert_int_equal(mlx5dv_devx_obj_modify(root, in, sizeof(in), out, sizeof(out)), 0);
	ifc_set(query, query_scheduling_element_in, scheduling_element_id, id);
	assert_int_equal(mlx5dv_devx_obj_query(root, query, sizeof(query), answer, sizeof(answer)),
			 0);
	assert_int_equal(ifc_get(sc, scheduling_context, max_average_bw), 999);
	assert_int_equal(ifc_get(sc, scheduling_context, bw_share), 7);
	ifc_set(in, modify_scheduling_element_in, modify_bitmask, 0x80);
	assert_int_equal(mlx5dv_devx_obj_modify(root, in, sizeof(in), out, sizeof(out)), EREMOTEIO);
	/* no parent, a leaf or a number without element as parent, and another tree */
	assert_null(element(IFC_SCHED_NIC, IFC_SCHED_QUEUE_GROUP, 0, out));
	assert_null(element(IFC_SCHED_NIC, IFC_SCHED_QUEUE_GROUP, id + 1, out));
	assert_null(element(IFC_SCHED_NIC, IFC_SCHED_TSAR, id + 77, out));
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_RES);
	assert_null(element(IFC_SCHED_ESW, IFC_SCHED_TSAR, 0, out));
	assert_null(element(IFC_SCHED_NIC, 9, id, out));
	assert_int_equal(errno, EREMOTEIO);
	assert_int_equal(mlx5dv_devx_obj_destroy(leaf), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(root), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_leave_a_ring_that_wraps_many_times),
		TEST(a_queue_sends_only_when_it_is_ready),
		TEST(a_rate_of_the_pacing_table_slows_a_queue_down),
		TEST(queues_that_cannot_be_are_refused),
		TEST(an_elements_limit_slows_the_queues_below_down),
		TEST(scheduling_elements_form_a_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
