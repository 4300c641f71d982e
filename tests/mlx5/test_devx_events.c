/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that wait behind a descriptor of DEVX until they are read: how many, and how often. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "devx_frames.h"

static struct rig rig;

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

static void answers_wait_up_to_a_mebibyte(void **state)
{
	const size_t outlen = 4096, answers = (1u << 20) / (8 + outlen);
	struct mlx5dv_devx_cmd_comp *comp = mlx5dv_devx_create_cmd_comp(rig.ctx);
	struct mlx5dv_devx_async_cmd_hdr *answer = malloc(8 + outlen);
	RIG_IN(in, ifc_len(query_cq_in), QUERY_CQ);
	struct rig_cq cq;

	assert_non_null(comp);
	assert_non_null(answer);
	rig_cq(&rig, 4, rig.eqn, &cq);
	ifc_set(in, query_cq_in, cqn, cq.cqn);
	for (size_t i = 0; i < answers; i++)
		assert_int_equal(
			mlx5dv_devx_obj_query_async(cq.obj, in, sizeof(in), outlen, i, comp), 0);
	assert_int_equal(mlx5dv_devx_obj_query_async(cq.obj, in, sizeof(in), outlen, 0, comp),
			 EAGAIN);
	/* They outlive what they tell of, */
	rig_cq_drop(&cq);
	for (size_t i = 0; i < answers / 2; i++) {
		assert_int_equal(mlx5dv_devx_get_async_cmd_comp(comp, answer, 8 + outlen), 0);
		assert_int_equal(answer->wr_id, i);
	}
	/* and need not be read. */
	mlx5dv_devx_destroy_cmd_comp(comp);
	free(answer);
}

struct subscribed {
	struct mlx5dv_devx_event_channel *with_data, *without;
	struct rig_cq cq;
	struct rig_qp qp;
};

/* The last to subscribe is told first. */
static void subscribe(struct subscribed *s, bool data_first)
{
	const int omit = MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA;
	uint16_t comp = IFC_EVENT_COMP;

	rig_cq(&rig, 4, rig.eqn, &s->cq);
	rig_qp(&rig, 4, 4, 0, &s->cq, &s->qp);
	rig_connect(&s->qp, &s->qp);
	s->with_data = mlx5dv_devx_create_event_channel(rig.ctx, 0);
	s->without = mlx5dv_devx_create_event_channel(rig.ctx, omit);
	assert_non_null(s->with_data);
	assert_non_null(s->without);
	assert_int_equal(fcntl(s->with_data->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(s->without->fd, F_SETFL, O_NONBLOCK), 0);
	for (uint64_t cookie = 0; cookie < 4; cookie++) {
		bool data = cookie == (data_first ? 3 : 0);

		if (data || cookie == 1 || cookie == 2)
			assert_int_equal(
				mlx5dv_devx_subscribe_devx_event(data ? s->with_data : s->without,
								 s->cq.obj, 2, &comp, cookie),
				0);
	}
}

static void drop(struct subscribed *s)
{
	mlx5dv_devx_destroy_event_channel(s->with_data);
	mlx5dv_devx_destroy_event_channel(s->without);
	rig_qp_drop(&s->qp);
	rig_cq_drop(&s->cq);
}

static int take_all(struct mlx5dv_devx_event_channel *ch, ssize_t len)
{
	uint8_t buf[8 + 64];
	ssize_t n;
	int count = 0;

	while ((n = mlx5dv_devx_get_event(ch, (void *)buf, sizeof(buf))) == len)
		count++;
	assert_int_equal(n, -1);
	assert_int_equal(errno, EAGAIN);
	return count;
}

static void events_with_data_are_all_kept(void **state)
{
	const int events = 600;
	struct subscribed s;

	subscribe(&s, true);
	for (int i = 0; i < events; i++) {
		rig_cq_arm(&s.cq);
		rig_send(&s.qp, MLX5_OPCODE_RDMA_WRITE, 0, 8, 4096);
		rig_wait_readable(s.without->fd);
		take_all(s.without, 8);
		rig_cq_wait(&s.cq);
		rig_cq_take(&s.cq);
	}
	assert_int_equal(take_all(s.with_data, 72), events);
	drop(&s);
}

static void without_data_a_subscription_tells_once_until_it_is_read(void **state)
{
	struct subscribed s;

	subscribe(&s, false);
	for (int lap = 0; lap < 3; lap++) {
		for (int i = 0; i < 4; i++) {
			rig_cq_arm(&s.cq);
			rig_send(&s.qp, MLX5_OPCODE_RDMA_WRITE, 0, 8, 4096);
			rig_wait_readable(s.with_data->fd);
			assert_int_equal(take_all(s.with_data, 72), 1);
			rig_cq_wait(&s.cq);
			rig_cq_take(&s.cq);
		}
		assert_int_equal(take_all(s.without, 8), 2);
	}
	drop(&s);
}

static void a_channel_hears_of_its_own_context_only(void **state)
{
	struct ibv_context *other = pair_open("mlx5_0");
	struct mlx5dv_devx_event_channel *ch = mlx5dv_devx_create_event_channel(other, 0);
	uint16_t comp = IFC_EVENT_COMP;
	struct rig_cq cq;

	assert_non_null(ch);
	rig_cq(&rig, 4, rig.eqn, &cq);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, cq.obj, 2, &comp, 1), EINVAL);
	mlx5dv_devx_destroy_event_channel(ch);
	rig_cq_drop(&cq);
	assert_int_equal(ibv_close_device(other), 0);
}

/* ---- queues that fail ---- */

enum { PORT = 4242, BAD_KEY = 0x42424200 };

/* Frames to a port go where the action says. */
struct way {
	struct mlx5dv_flow_matcher *matcher;
	struct ibv_flow *flow;
};

static void lead(struct way *w, struct mlx5dv_flow_action_attr *to)
{
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + 64];
	} mask = { .p.match_sz = 64 }, value = { .p.match_sz = 64 };
	struct mlx5dv_flow_matcher_attr attr = { .match_criteria_enable = 1,
						 .match_mask = &mask.p };
	uint8_t *masked = (uint8_t *)mask.p.match_buf, *wanted = (uint8_t *)value.p.match_buf;

	memset(masked + FRAMES_UDP_DPORT, 0xff, 2);
	wanted[FRAMES_UDP_DPORT] = PORT >> 8;
	wanted[FRAMES_UDP_DPORT + 1] = PORT & 0xff;
	w->matcher = mlx5dv_create_flow_matcher(rig.ctx, &attr);
	assert_non_null(w->matcher);
	w->flow = mlx5dv_create_flow(w->matcher, &value.p, 1, to);
	assert_non_null(w->flow);
}

static void lead_nowhere(struct way *w)
{
	assert_int_equal(ibv_destroy_flow(w->flow), 0);
	assert_int_equal(mlx5dv_destroy_flow_matcher(w->matcher), 0);
}

static unsigned int ask_rq(struct frames_rq *q, uint32_t *taken)
{
	uint8_t out[IFC_LEN_query_rq_out + 0x100] = { 0 };
	uint8_t *ctx = ifc_ptr(out, query_rq_out, rq_context);
	RIG_IN(in, ifc_len(query_rq_in), QUERY_RQ);

	ifc_set(in, query_rq_in, rqn, q->number);
	assert_int_equal(mlx5dv_devx_obj_query(q->obj, in, sizeof(in), out, sizeof(out)), 0);
	*taken = ifc_get(ifc_ptr(ctx, rqc, wq), wq, hw_counter);
	return ifc_get(ctx, rqc, state);
}

static int change_rq(struct frames_rq *q, unsigned int from, unsigned int to)
{
	RIG_IN(in, ifc_len(modify_rq_in), MODIFY_RQ);
	uint8_t out[0x10];

	ifc_set(in, modify_rq_in, rqn, q->number);
	ifc_set(in, modify_rq_in, rq_state, from);
	ifc_set(ifc_ptr(in, modify_rq_in, ctx), rqc, state, to);
	return mlx5dv_devx_obj_modify(q->obj, in, sizeof(in), out, sizeof(out));
}

/* By the name of the state that it was left in, or that it is in. */
static void reset_and_receive(struct frames_rq *q, unsigned int by)
{
	uint32_t taken;

	assert_int_equal(ask_rq(q, &taken), IFC_WQ_ERR);
	assert_int_equal(change_rq(q, IFC_WQ_ERR, IFC_WQ_RDY), EREMOTEIO);
	assert_int_equal(change_rq(q, by, IFC_WQ_RST), 0);
	assert_int_equal(ask_rq(q, &taken), IFC_WQ_RST);
	((struct mlx5_wqe_data_seg *)q->umem.addr)->lkey = htobe32(rig.mr->lkey);
	assert_int_equal(change_rq(q, IFC_WQ_RST, IFC_WQ_RDY), 0);
	while (mlx5dv_get_cqe_opcode((void *)rig_cq_wait(&q->cq)) == MLX5_CQE_RESP_ERR) {
		rig_cq_take(&q->cq);
		if (!rig_cq_ready(&q->cq))
			break;
	}
	frames_send(&rig, 1, PORT);
	assert_int_equal(mlx5dv_get_cqe_opcode((void *)rig_cq_wait(&q->cq)), MLX5_CQE_RESP_SEND);
	rig_cq_take(&q->cq);
	assert_int_equal(ask_rq(q, &taken), IFC_WQ_RDY);
	assert_int_equal(taken, 1);
}

static void a_receive_queue_that_fails_tells_its_subscribers(void **state)
{
	struct mlx5dv_devx_event_channel *ch = mlx5dv_devx_create_event_channel(rig.ctx, 0);
	struct mlx5dv_flow_action_attr to = { .type = MLX5DV_FLOW_ACTION_DEST_DEVX };
	uint8_t buf[8 + 64], *data = ifc_ptr(buf + 8, eqe, data);
	struct mlx5dv_devx_async_event_hdr *event = (void *)buf;
	RIG_IN(in, ifc_len(create_tir_in), CREATE_TIR);
	uint8_t *ctx = ifc_ptr(in, create_tir_in, ctx);
	uint16_t fatal = IFC_EVENT_WQ_CATAS;
	struct frames_rq queue;
	struct way way;
	uint32_t tirn;

	assert_non_null(ch);
	frames_rq(&rig, &queue, 0);
	((struct mlx5_wqe_data_seg *)queue.umem.addr)->lkey = htobe32(BAD_KEY);
	ifc_set(ctx, tirc, disp_type, IFC_TIR_DIRECT);
	ifc_set(ctx, tirc, inline_rqn, queue.number);
	to.obj = frames_create(&rig, in, sizeof(in), &tirn);
	lead(&way, &to);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, queue.obj, 2, &fatal, 7), 0);
	frames_send(&rig, 1, PORT);
	assert_int_equal(mlx5dv_devx_get_event(ch, event, sizeof(buf)), sizeof(buf));
	assert_int_equal(event->cookie, 7);
	assert_int_equal(ifc_get(buf + 8, eqe, type), IFC_EVENT_WQ_CATAS);
	assert_int_equal(ifc_get(data, eqe_qp_srq, type), IFC_EVENT_QUEUE_RQ);
	assert_int_equal(ifc_get(data, eqe_qp_srq, number), queue.number);
	/* Readers of asynchronous events of verbs objects do not get it. */
	assert_false(rig_is_readable(rig.ctx->async_fd));
	reset_and_receive(&queue, IFC_WQ_RDY);
	lead_nowhere(&way);
	assert_int_equal(mlx5dv_devx_obj_destroy(to.obj), 0);
	frames_rq_drop(&queue);
	mlx5dv_devx_destroy_event_channel(ch);
}

static struct mlx5dv_devx_eq *hear(struct mlx5dv_devx_msi_vector *vector, uint64_t events)
{
	uint8_t out[ifc_len(create_eq_out)];
	RIG_IN(in, ifc_len(create_eq_in), CREATE_EQ);
	uint8_t *eqc = ifc_ptr(in, create_eq_in, eq_context_entry);

	ifc_set(eqc, eqc, log_eq_size, 3);
	ifc_set(eqc, eqc, uar_page, rig.uar->page_id);
	ifc_set(eqc, eqc, intr, vector->vector);
	ifc_set(in, create_eq_in, event_bitmask, events);
	return mlx5dv_devx_create_eq(rig.ctx, in, sizeof(in), out, sizeof(out));
}

static void a_work_queue_of_verbs_that_fails_is_an_event(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(rig.ctx, 16, NULL, NULL, 0);
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = rig.pd, .cq = cq
	};
	struct ibv_wq *wq = ibv_create_wq(rig.ctx, &init);
	struct ibv_rwq_ind_table_init_attr one = { .ind_tbl = &wq };
	struct ibv_rwq_ind_table *table = ibv_create_rwq_ind_table(rig.ctx, &one);
	uint8_t key[40] = { 0x6d };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = rig.pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key },
	};
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_sge sge = { (uintptr_t)rig.memory, 256, BAD_KEY };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct mlx5dv_flow_action_attr to = { .type = MLX5DV_FLOW_ACTION_DEST_IBV_QP };
	struct mlx5dv_devx_msi_vector *vector = mlx5dv_devx_alloc_msi_vector(rig.ctx);
	struct mlx5dv_devx_eq *eq = hear(vector, 1ull << IFC_EVENT_WQ_CATAS);
	const uint8_t *data = ifc_cptr(eq->vaddr, eqe, data);
	struct ibv_async_event event;
	struct way way;

	to.qp = ibv_create_qp_ex(rig.ctx, &attr);
	assert_non_null(to.qp);
	assert_int_equal(ibv_modify_wq(wq, &ready), 0);
	assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), 0);
	lead(&way, &to);
	frames_send(&rig, 1, PORT);
	assert_int_equal(ibv_get_async_event(rig.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_WQ_FATAL);
	assert_ptr_equal(event.element.wq, wq);
	ibv_ack_async_event(&event);
	/* A work queue's number is told apart from a queue pair's. */
	assert_int_equal(ifc_get(eq->vaddr, eqe, type), IFC_EVENT_WQ_CATAS);
	assert_int_equal(ifc_get(data, eqe_qp_srq, type), IFC_EVENT_QUEUE_RQ);
	assert_int_equal(ifc_get(data, eqe_qp_srq, number), wq->wq_num);
	assert_int_equal(mlx5dv_devx_destroy_eq(eq), 0);
	assert_int_equal(mlx5dv_devx_free_msi_vector(vector), 0);
	lead_nowhere(&way);
	assert_int_equal(ibv_destroy_qp(to.qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_wait_up_to_a_mebibyte),
		cmocka_unit_test(events_with_data_are_all_kept),
		cmocka_unit_test(without_data_a_subscription_tells_once_until_it_is_read),
		cmocka_unit_test(a_channel_hears_of_its_own_context_only),
		cmocka_unit_test(a_receive_queue_that_fails_tells_its_subscribers),
		cmocka_unit_test(a_work_queue_of_verbs_that_fails_is_an_event),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
