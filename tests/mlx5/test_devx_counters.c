/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of counters, and what queues count into them. */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "devx_frames.h"

static struct rig rig;

struct set {
	struct mlx5dv_devx_obj *obj;
	uint32_t number;
};

static struct set make_set(void)
{
	RIG_IN(in, 0x10, ALLOC_Q_COUNTER);
	uint8_t out[0x10] = { 0 };
	struct set s = { .obj = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out)) };

	assert_non_null(s.obj);
	s.number = ifc_get(out, alloc_q_counter_out, counter_set_id);
	assert_int_not_equal(s.number, 0);
	return s;
}

static void ask(const struct set *s, bool clear, uint8_t *out)
{
	RIG_IN(in, ifc_len(query_q_counter_in), QUERY_Q_COUNTER);

	ifc_set(in, query_q_counter_in, counter_set_id, s->number);
	ifc_set(in, query_q_counter_in, clear, clear);
	assert_int_equal(
		mlx5dv_devx_obj_query(s->obj, in, sizeof(in), out, ifc_len(query_q_counter_out)),
		0);
}

#define COUNTED(set, field)                                                                        \
	({                                                                                         \
		uint8_t out_[IFC_LEN_query_q_counter_out] = { 0 };                                 \
                                                                                                   \
		ask(set, false, out_);                                                             \
		(uint32_t) ifc_get(out_, query_q_counter_out, field);                              \
	})

/* Two queue pairs, the first counting into one set, the other into the other. */
struct two {
	struct rig_cq cq[2];
	struct rig_qp qp[2];
	struct set set[2];
};

static int set_counters(struct rig_qp *qp, uint32_t id, uint8_t *out)
{
	RIG_IN(in, ifc_len(modify_qp_in), RTS2RTS_QP);

	ifc_set(in, modify_qp_in, qpn, qp->qpn);
	ifc_set(in, modify_qp_in, opt_param_mask, IFC_QP_OPT_COUNTER_SET);
	ifc_set(ifc_ptr(in, modify_qp_in, qpc), qpc, counter_set_id, id);
	return mlx5dv_devx_obj_modify(qp->obj, in, sizeof(in), out, 0x10);
}

static void make(struct two *t)
{
	uint8_t out[0x10];

	for (int i = 0; i < 2; i++) {
		rig_cq(&rig, 5, rig.eqn, &t->cq[i]);
		rig_qp(&rig, 4, 3, 0, &t->cq[i], &t->qp[i]);
		t->set[i] = make_set();
	}
	rig_connect(&t->qp[0], &t->qp[1]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(set_counters(&t->qp[i], t->set[i].number, out), 0);
}

static void drop(struct two *t)
{
	for (int i = 0; i < 2; i++) {
		rig_qp_drop(&t->qp[i]);
		rig_cq_drop(&t->cq[i]);
		assert_int_equal(mlx5dv_devx_obj_destroy(t->set[i].obj), 0);
	}
}

static int setup(void **state)
{
	rig_open(&rig);
	return 0;
}

static int teardown(void **state)
{
	rig_close(&rig);
	return 0;
}

static uint64_t deadline(void)
{
	return time(NULL) + 20;
}

static void a_send_without_a_receive_is_counted_at_both_ends(void **state)
{
	uint64_t end = deadline();
	struct two t;

	make(&t);
	rig_send(&t.qp[0], MLX5_OPCODE_SEND, 0, 64, 0);
	while (!COUNTED(&t.set[0], rnr_nak_retry_err)) {
		assert_true(time(NULL) < (time_t)end);
		sched_yield();
	}
	assert_true(COUNTED(&t.set[1], out_of_buffer) >= 1);
	assert_int_equal(COUNTED(&t.set[0], out_of_buffer), 0);
	rig_recv(&t.qp[1], 8192, 4096);
	assert_int_equal(rig_cq_wait(&t.cq[0])->op_own >> 4, MLX5_CQE_REQ);
	assert_int_equal(COUNTED(&t.set[0], req_cqe_error), 0);
	drop(&t);
}

static void errors_are_counted_by_kind_and_together(void **state)
{
	uint8_t out[IFC_LEN_query_q_counter_out];
	struct mlx5_wqe_raddr_seg *raddr;
	uint64_t end = deadline();
	struct two t;

	make(&t);
	/* a key that does not exist */
	raddr = (void *)(t.qp[0].sq + 16);
	mlx5dv_set_data_seg((void *)(t.qp[0].sq + 32), 64, rig.mr->lkey, (uintptr_t)rig.memory);
	mlx5dv_set_ctrl_seg((void *)t.qp[0].sq, 0, MLX5_OPCODE_RDMA_WRITE, 0, t.qp[0].qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	raddr->raddr = htobe64((uintptr_t)rig.memory);
	raddr->rkey = htobe32(0xabcdef00);
	raddr->reserved = 0;
	t.qp[0].post++;
	rig_ring(&t.qp[0]);
	assert_int_equal(rig_cq_wait(&t.cq[0])->op_own >> 4, MLX5_CQE_REQ_ERR);
	rig_cq_take(&t.cq[0]);
	assert_int_equal(COUNTED(&t.set[0], req_remote_access_errors), 1);
	assert_int_equal(COUNTED(&t.set[0], req_cqe_error), 1);
	rig_send(&t.qp[0], MLX5_OPCODE_SEND, 0, 64, 0);
	rig_cq_wait(&t.cq[0]);
	while (COUNTED(&t.set[0], req_cqe_flush_error) != 1)
		assert_true(time(NULL) < (time_t)end);
	/* clearing gives what there was, and leaves nothing */
	ask(&t.set[0], true, out);
	assert_int_equal(ifc_get(out, query_q_counter_out, req_cqe_error), 2);
	assert_int_equal(COUNTED(&t.set[0], req_cqe_error), 0);
	drop(&t);
}

static void a_set_that_does_not_exist_is_refused(void **state)
{
	RIG_IN(in, ifc_len(query_q_counter_in), QUERY_Q_COUNTER);
	uint8_t out[IFC_LEN_query_q_counter_out];
	struct two t;

	make(&t);
	assert_int_equal(set_counters(&t.qp[0], 0xee, out), EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_RES);
	/* none at all is fine; then nothing is counted */
	assert_int_equal(set_counters(&t.qp[0], 0, out), 0);
	rig_send(&t.qp[0], 0x3b, 0, 64, 0);
	rig_cq_wait(&t.cq[0]);
	assert_int_equal(COUNTED(&t.set[0], req_cqe_error), 0);
	/* the query names its set, and has room for the answer */
	ifc_set(in, query_q_counter_in, counter_set_id, t.set[1].number);
	assert_int_equal(mlx5dv_devx_obj_query(t.set[0].obj, in, sizeof(in), out, sizeof(out)),
			 EINVAL);
	assert_int_equal(mlx5dv_devx_obj_query(t.set[1].obj, in, sizeof(in), out, sizeof(out) - 1),
			 EINVAL);
	drop(&t);
}

static void frames_without_a_receive_are_counted(void **state)
{
	RIG_IN(tir_in, ifc_len(create_tir_in), CREATE_TIR);
	RIG_IN(change, ifc_len(modify_rq_in), MODIFY_RQ);
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + 64];
	} mask = { .p.match_sz = 64 }, value = { .p.match_sz = 64 };
	struct mlx5dv_flow_matcher_attr attr = { .match_criteria_enable = 1,
						 .match_mask = &mask.p };
	struct mlx5dv_flow_action_attr action = { .type = MLX5DV_FLOW_ACTION_DEST_DEVX };
	uint8_t *ctx = ifc_ptr(tir_in, create_tir_in, ctx), out[0x10];
	struct set set = make_set();
	struct mlx5dv_flow_matcher *matcher;
	struct ibv_flow *flow;
	uint64_t end = deadline();
	struct frames_rq rq;
	uint32_t tirn;

	frames_rq(&rig, &rq, 0);
	ifc_set(change, modify_rq_in, rqn, rq.number);
	ifc_set(change, modify_rq_in, rq_state, IFC_WQ_RDY);
	ifc_set(change, modify_rq_in, modify_bitmask, IFC_MODIFY_RQ_COUNTER_SET);
	ifc_set(ifc_ptr(change, modify_rq_in, ctx), rqc, state, IFC_WQ_RDY);
	ifc_set(ifc_ptr(change, modify_rq_in, ctx), rqc, counter_set_id, set.number);
	assert_int_equal(mlx5dv_devx_obj_modify(rq.obj, change, sizeof(change), out, sizeof(out)),
			 0);
	ifc_set(ctx, tirc, disp_type, IFC_TIR_DIRECT);
	ifc_set(ctx, tirc, inline_rqn, rq.number);
	action.obj = frames_create(&rig, tir_in, sizeof(tir_in), &tirn);
	((uint8_t *)mask.p.match_buf)[FRAMES_UDP_DPORT] = 0xff;
	((uint8_t *)value.p.match_buf)[FRAMES_UDP_DPORT] = 3;
	matcher = mlx5dv_create_flow_matcher(rig.ctx, &attr);
	flow = mlx5dv_create_flow(matcher, &value.p, 1, &action);
	assert_non_null(flow);
	frames_send(&rig, (1 << FRAMES_LOG) + 6, 777);
	while (COUNTED(&set, out_of_buffer) < 6) {
		assert_true(time(NULL) < (time_t)end);
		sched_yield();
	}
	assert_int_equal(COUNTED(&set, out_of_buffer), 6);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(mlx5dv_destroy_flow_matcher(matcher), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(action.obj), 0);
	/* the set may go before who counts */
	assert_int_equal(mlx5dv_devx_obj_destroy(set.obj), 0);
	frames_rq_drop(&rq);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_send_without_a_receive_is_counted_at_both_ends),
		TEST(errors_are_counted_by_kind_and_together),
		TEST(a_set_that_does_not_exist_is_refused),
		TEST(frames_without_a_receive_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
