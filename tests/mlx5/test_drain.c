/* SPDX-License-Identifier: BSD-2-Clause */
/* An XRC receiver in SQD: it has nothing to drain, says so when asked, and receives as before. */
#include "pair.h"

#include <errno.h>

static struct pair p;

static void move(struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = to, .en_sqd_async_notify = 1, .timeout = 14, .sq_psn = 1
	};

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), 0);
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

static void send_one(uint64_t id)
{
	struct ibv_sge sge = pair_sge(&p, 0, 64), to = pair_sge(&p, PAIR_BUF / 2, 64);
	struct ibv_recv_wr recv = { .wr_id = id, .sg_list = &to, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = { .wr_id = id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	assert_int_equal(ibv_post_srq_recv(p.srq, &recv, &bad), 0);
	pair_fill_wr(&p, &wr, 0);
	pair_post(&p, &wr);
	pair_expect(p.cq[0], IBV_WC_SEND, id);
	pair_expect(p.cq[1], IBV_WC_RECV, id);
}

static void an_xrc_receiver_that_is_drained_goes_on_receiving(void **state)
{
	struct ibv_async_event event;
	struct ibv_qp *target;

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_XRC_SEND });
	target = p.tgt[1];
	send_one(1);
	if (state_of(target) == IBV_QPS_RTR)
		move(target, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN);
	move(target, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY);
	assert_int_equal(state_of(target), IBV_QPS_SQD);
	assert_int_equal(ibv_get_async_event(p.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	assert_ptr_equal(event.element.qp, target);
	ibv_ack_async_event(&event);
	send_one(2);
	move(target, IBV_QPS_RTS, 0);
	send_one(3);
	pair_drop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_xrc_receiver_that_is_drained_goes_on_receiving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
