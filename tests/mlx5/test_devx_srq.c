/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues that device commands made, on the program's own rings: SRQ, XRC SRQ and RMP,
 * with queue pairs and receive queues of frames that take from them, and the limit's event.
 */
#include "devx_frames.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum { SLOTS = 8, STRIDE = 32, RECORD = SLOTS * STRIDE, PIECE = 256, BASE = 4096, PORT = 778 };

static struct rig rig;

struct shared {
	struct rig_umem umem;
	struct mlx5dv_devx_obj *obj;
	uint32_t number, posted, slot;
};

/* The chain of a list need not be the order of the ring. */
static void link_up(struct shared *s)
{
	for (unsigned int i = 0; i < SLOTS; i++) {
		struct mlx5_wqe_srq_next_seg *link = (void *)(s->umem.addr + STRIDE * i);

		link->next_wqe_index = htobe16((i + 3) & (SLOTS - 1));
	}
}

/* SRQ, or XRC SRQ: their contexts have the same fields. */
static void make_list(struct shared *s, uint16_t op, uint32_t xrcd, uint32_t cqn)
{
	uint8_t in[ifc_len(create_xrc_srq_in)] = { 0 };
	uint8_t *ctx = ifc_ptr(in, create_xrc_srq_in, xrc_srq_context_entry);

	*s = (struct shared){ .umem = rig_umem(&rig, RECORD + 64) };
	ifc_set(in, cmd_in, opcode, op);
	ifc_set(ctx, xrc_srqc, log_xrc_srq_size, 3);
	ifc_set(ctx, xrc_srqc, log_rq_stride, 1);
	ifc_set(ctx, xrc_srqc, pd, rig.pdn);
	ifc_set(ctx, xrc_srqc, xrcd, xrcd);
	ifc_set(ctx, xrc_srqc, cqn, cqn);
	ifc_set(ctx, xrc_srqc, user_index, 0x77);
	ifc_set(ctx, xrc_srqc, dbr_umem_valid, 1);
	ifc_set(ctx, xrc_srqc, dbr_addr, RECORD);
	ifc_set(in, create_xrc_srq_in, xrc_srq_umem_valid, 1);
	ifc_set(in, create_xrc_srq_in, xrc_srq_umem_id, s->umem.umem->umem_id);
	s->obj = frames_create(&rig, in, sizeof(in), &s->number);
	link_up(s);
}

static void make_pool(struct shared *s)
{
	RIG_IN(in, ifc_len(create_rmp_in), CREATE_RMP);
	uint8_t *ctx = ifc_ptr(in, create_rmp_in, ctx), *wq = ifc_ptr(ctx, rmpc, wq);

	*s = (struct shared){ .umem = rig_umem(&rig, RECORD + 64) };
	ifc_set(ctx, rmpc, state, IFC_WQ_RDY);
	ifc_set(wq, wq, wq_type, IFC_WQ_LINKED_LIST);
	ifc_set(wq, wq, log_wq_stride, 5);
	ifc_set(wq, wq, log_wq_sz, 3);
	ifc_set(wq, wq, pd, rig.pdn);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, s->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, s->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, RECORD);
	s->obj = frames_create(&rig, in, sizeof(in), &s->number);
	link_up(s);
}

static void drop_shared(struct shared *s)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(s->obj), 0);
	rig_umem_drop(&s->umem);
}

/* The slot that is posted; its data goes to a piece of memory of its own. */
static uint32_t post(struct shared *s)
{
	uint32_t slot = s->slot;

	mlx5dv_set_data_seg((void *)(s->umem.addr + STRIDE * (size_t)slot + 16), PIECE,
			    rig.mr->lkey, (uintptr_t)rig.memory + BASE + PIECE * (size_t)slot);
	s->slot = (slot + 3) & (SLOTS - 1);
	s->posted++;
	__atomic_store_n((uint32_t *)(s->umem.addr + RECORD), htobe32(s->posted & 0xffff),
			 __ATOMIC_RELEASE);
	return slot;
}

static void expect(struct rig_cq *cq, uint8_t opcode, uint16_t counter)
{
	const struct mlx5_cqe64 *cqe = rig_cq_wait(cq);

	assert_int_equal(mlx5dv_get_cqe_opcode((void *)cqe), opcode);
	assert_int_equal(be16toh(cqe->wqe_counter), counter);
	rig_cq_take(cq);
}

static uint32_t ask_limit(struct shared *s, uint16_t op)
{
	uint8_t in[16] = { 0 }, out[ifc_len(query_xrc_srq_out)] = { 0 };

	ifc_set(in, cmd_in, opcode, op);
	ifc_set(in, obj_in, number, s->number);
	assert_int_equal(mlx5dv_devx_obj_query(s->obj, in, sizeof(in), out, sizeof(out)), 0);
	return ifc_get(ifc_ptr(out, query_xrc_srq_out, xrc_srq_context_entry), xrc_srqc, lwm);
}

static int arm(struct shared *s, uint16_t op, uint16_t op_mod, uint32_t limit, uint8_t *out)
{
	uint8_t in[16] = { 0 };

	ifc_set(in, cmd_in, opcode, op);
	ifc_set(in, cmd_in, op_mod, op_mod);
	ifc_set(in, arm_rq_in, srq_number, s->number);
	ifc_set(in, arm_rq_in, lwm, limit);
	return mlx5dv_devx_obj_modify(s->obj, in, sizeof(in), out, 16);
}

/* Armed at 3 of 4: the event comes with the second message, once. */
static void check_limit(struct shared *s, uint16_t arm_op, uint16_t query_op,
			void (*send)(void *with, uint32_t index), void *with)
{
	struct mlx5dv_devx_event_channel *ch = mlx5dv_devx_create_event_channel(rig.ctx, 0);
	uint16_t type = IFC_EVENT_SRQ_LIMIT;
	uint8_t buf[8 + 64], out[16], *data = ifc_ptr(buf + 8, eqe, data);

	assert_non_null(ch);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, s->obj, 2, &type, 0x1234), 0);
	for (int i = 0; i < 4; i++)
		post(s);
	assert_int_equal(arm(s, arm_op, 7, 3, out), EREMOTEIO);
	assert_int_equal(out[0], IFC_STATUS_BAD_PARAM);
	assert_int_equal(arm(s, arm_op, IFC_ARM_SRQ, 3, out), 0);
	assert_int_equal(ask_limit(s, query_op), 3);
	send(with, 0);
	assert_false(rig_is_readable(ch->fd));
	send(with, 1);
	rig_wait_readable(ch->fd);
	assert_int_equal(mlx5dv_devx_get_event(ch, (void *)buf, sizeof(buf)), sizeof(buf));
	assert_int_equal(ifc_get(buf + 8, eqe, type), IFC_EVENT_SRQ_LIMIT);
	assert_int_equal(be32toh(*(uint32_t *)(data + 24)) & 0xffffff, s->number);
	assert_int_equal(ask_limit(s, query_op), 0);
	send(with, 2);
	send(with, 3);
	assert_false(rig_is_readable(ch->fd));
	mlx5dv_devx_destroy_event_channel(ch);
}

/* ---- SRQ ---- */

struct one {
	struct rig_cq cq;
	struct rig_qp qp;
};

static void send_plain(void *with, uint32_t index)
{
	struct one *o = with;

	(void)index;
	rig_send(&o->qp, MLX5_OPCODE_SEND, 0, 64, 0);
	/* In one queue: what was received, then what was sent. */
	for (int i = 0; i < 2; i++) {
		rig_cq_wait(&o->cq);
		rig_cq_take(&o->cq);
	}
}

static void a_shared_queue_of_the_older_kind_serves_queue_pairs(void **state)
{
	struct shared s;
	struct one o;

	make_list(&s, IFC_OP_CREATE_SRQ, 0, 0);
	rig_cq(&rig, 6, rig.eqn, &o.cq);
	rig_qp(&rig, 4, 3, s.number, &o.cq, &o.qp);
	rig_connect(&o.qp, &o.qp);
	for (uint32_t i = 0; i < 50; i++) {
		uint32_t slot = post(&s);

		pair_pattern(rig.memory, 64, (uint8_t)i);
		rig_send(&o.qp, MLX5_OPCODE_SEND, 0, 64, 0);
		expect(&o.cq, MLX5_CQE_RESP_SEND, (uint16_t)slot);
		expect(&o.cq, MLX5_CQE_REQ, (uint16_t)i);
		assert_true(pair_is_pattern(rig.memory + BASE + PIECE * slot, 64, (uint8_t)i));
	}
	check_limit(&s, IFC_OP_ARM_RQ, IFC_OP_QUERY_SRQ, send_plain, &o);
	assert_int_equal(mlx5dv_devx_obj_destroy(s.obj), EBUSY);
	rig_qp_drop(&o.qp);
	rig_cq_drop(&o.cq);
	drop_shared(&s);
}

/* ---- XRC ---- */

struct xrc {
	struct mlx5dv_devx_obj *domain;
	uint32_t xrcd;
	struct rig_cq send_cq, recv_cq;
	struct rig_qp from, to;
	struct shared srq;
};

static void make_xrc_qp(struct xrc *x, struct rig_qp *qp, bool receives)
{
	RIG_IN(in, ifc_len(create_qp_in), CREATE_QP);
	uint8_t *qpc = ifc_ptr(in, create_qp_in, qpc);

	*qp = (struct rig_qp){ .rig = &rig, .sq_size = 16 };
	qp->umem = rig_umem(&rig, 2048);
	qp->sq = qp->umem.addr;
	qp->db = (void *)(qp->umem.addr + 1024);
	ifc_set(qpc, qpc, st, IFC_QP_ST_XRC);
	ifc_set(qpc, qpc, pm_state, IFC_PM_MIGRATED);
	ifc_set(qpc, qpc, pd, rig.pdn);
	ifc_set(qpc, qpc, uar_page, rig.uar->page_id);
	ifc_set(qpc, qpc, xrcd, x->xrcd);
	ifc_set(qpc, qpc, no_sq, receives);
	ifc_set(qpc, qpc, rq_type, IFC_RQ_NONE);
	ifc_set(qpc, qpc, cqn_snd, x->send_cq.cqn);
	ifc_set(qpc, qpc, log_sq_size, 4);
	ifc_set(qpc, qpc, dbr_umem_valid, 1);
	ifc_set(qpc, qpc, dbr_umem_id, qp->umem.umem->umem_id);
	ifc_set(qpc, qpc, dbr_addr, 1024);
	ifc_set(in, create_qp_in, wq_umem_valid, 1);
	ifc_set(in, create_qp_in, wq_umem_id, qp->umem.umem->umem_id);
	qp->obj = frames_create(&rig, in, sizeof(in), &qp->qpn);
}

static void send_xrc(void *with, uint32_t index)
{
	struct xrc *x = with;
	struct rig_qp *qp = &x->from;
	uint8_t *at = qp->sq + 64 * (size_t)(qp->post & (qp->sq_size - 1));

	(void)index;
	memset(at, 0, 64);
	*(uint32_t *)(at + 16) = htobe32(x->srq.number);
	mlx5dv_set_data_seg((void *)(at + 32), 64, rig.mr->lkey, (uintptr_t)rig.memory);
	mlx5dv_set_ctrl_seg((void *)at, qp->post & 0xffff, MLX5_OPCODE_SEND, 0, qp->qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	qp->post++;
	rig_ring(qp);
	expect(&x->send_cq, MLX5_CQE_REQ, (uint16_t)(qp->post - 1));
	rig_cq_wait(&x->recv_cq);
}

static void make_xrc(struct xrc *x)
{
	RIG_IN(in, 16, ALLOC_XRCD);
	uint8_t out[16];

	x->domain = frames_create(&rig, in, sizeof(in), &x->xrcd);
	rig_cq(&rig, 6, rig.eqn, &x->send_cq);
	rig_cq(&rig, 6, rig.eqn, &x->recv_cq);
	make_list(&x->srq, IFC_OP_CREATE_XRC_SRQ, x->xrcd, x->recv_cq.cqn);
	make_xrc_qp(x, &x->from, false);
	make_xrc_qp(x, &x->to, true);
	assert_int_equal(rig_modify(&x->to, IFC_OP_RST2INIT_QP, 0, out), 0);
	assert_int_equal(rig_modify(&x->to, IFC_OP_INIT2RTR_QP, x->from.qpn, out), 0);
	assert_int_equal(rig_modify(&x->from, IFC_OP_RST2INIT_QP, 0, out), 0);
	assert_int_equal(rig_modify(&x->from, IFC_OP_INIT2RTR_QP, x->to.qpn, out), 0);
	assert_int_equal(rig_modify(&x->from, IFC_OP_RTR2RTS_QP, 0, out), 0);
}

static void take_xrc(void *with, uint32_t index)
{
	struct xrc *x = with;

	send_xrc(x, index);
	rig_cq_take(&x->recv_cq);
}

static void an_xrc_queue_completes_where_its_context_says(void **state)
{
	struct xrc x;

	make_xrc(&x);
	for (uint32_t i = 0; i < 30; i++) {
		uint32_t slot = post(&x.srq);
		const struct mlx5_cqe64 *cqe;

		pair_pattern(rig.memory, 64, (uint8_t)i);
		send_xrc(&x, i);
		cqe = rig_cq_wait(&x.recv_cq);
		assert_int_equal(be32toh(cqe->srqn_uidx) & 0xffffff, 0x77);
		expect(&x.recv_cq, MLX5_CQE_RESP_SEND, (uint16_t)slot);
		assert_true(pair_is_pattern(rig.memory + BASE + PIECE * slot, 64, (uint8_t)i));
	}
	check_limit(&x.srq, IFC_OP_ARM_XRC_SRQ, IFC_OP_QUERY_XRC_SRQ, take_xrc, &x);
	assert_int_equal(mlx5dv_devx_obj_destroy(x.recv_cq.obj), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(x.domain), EBUSY);
	rig_qp_drop(&x.from);
	rig_qp_drop(&x.to);
	drop_shared(&x.srq);
	rig_cq_drop(&x.send_cq);
	rig_cq_drop(&x.recv_cq);
	assert_int_equal(mlx5dv_devx_obj_destroy(x.domain), 0);
}

/* ---- frames ---- */

static struct mlx5dv_devx_obj *make_rq(uint32_t pool, uint32_t cqn, uint32_t *number)
{
	RIG_IN(in, ifc_len(create_rq_in), CREATE_RQ);
	RIG_IN(change, ifc_len(modify_rq_in), MODIFY_RQ);
	uint8_t *ctx = ifc_ptr(in, create_rq_in, ctx), out[0x10];
	struct mlx5dv_devx_obj *obj;

	ifc_set(ctx, rqc, vsd, 1);
	ifc_set(ctx, rqc, cqn, cqn);
	ifc_set(ctx, rqc, mem_rq_type, IFC_MEM_RQ_RMP);
	ifc_set(ctx, rqc, rmpn, pool);
	obj = frames_create(&rig, in, sizeof(in), number);
	ifc_set(change, modify_rq_in, rqn, *number);
	ifc_set(change, modify_rq_in, rq_state, IFC_WQ_RST);
	ifc_set(ifc_ptr(change, modify_rq_in, ctx), rqc, state, IFC_WQ_RDY);
	assert_int_equal(mlx5dv_devx_obj_modify(obj, change, sizeof(change), out, sizeof(out)), 0);
	return obj;
}

struct rule {
	struct mlx5dv_devx_obj *tir;
	struct mlx5dv_dr_domain *domain;
	struct mlx5dv_dr_table *table;
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_action *action;
	struct mlx5dv_dr_rule *rule;
};

/* Frames to a UDP port go to one queue. */
static void lead_to(uint32_t rqn, struct rule *r)
{
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + 64];
	} mask = { .p.match_sz = 64 }, value = { .p.match_sz = 64 };
	RIG_IN(in, ifc_len(create_tir_in), CREATE_TIR);
	uint8_t *wanted = (uint8_t *)value.p.match_buf;
	uint32_t number;

	ifc_set(ifc_ptr(in, create_tir_in, ctx), tirc, disp_type, IFC_TIR_DIRECT);
	ifc_set(ifc_ptr(in, create_tir_in, ctx), tirc, inline_rqn, rqn);
	r->tir = frames_create(&rig, in, sizeof(in), &number);
	r->domain = mlx5dv_dr_domain_create(rig.ctx, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	r->table = mlx5dv_dr_table_create(r->domain, 0);
	memset((uint8_t *)mask.p.match_buf + FRAMES_UDP_DPORT, 0xff, 2);
	wanted[FRAMES_UDP_DPORT] = PORT >> 8;
	wanted[FRAMES_UDP_DPORT + 1] = PORT & 0xff;
	r->matcher = mlx5dv_dr_matcher_create(r->table, 0, 1, &mask.p);
	r->action = mlx5dv_dr_action_create_dest_devx_tir(r->tir);
	r->rule = mlx5dv_dr_rule_create(r->matcher, &value.p, 1, &r->action);
	assert_non_null(r->rule);
}

static void drop_rule(struct rule *r)
{
	assert_int_equal(mlx5dv_dr_rule_destroy(r->rule), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(r->action), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(r->matcher), 0);
	assert_int_equal(mlx5dv_dr_table_destroy(r->table), 0);
	assert_int_equal(mlx5dv_dr_domain_destroy(r->domain), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(r->tir), 0);
}

/* One pool for a queue pair's messages and a receive queue's frames. */
static void frames_are_received_from_a_shared_pool(void **state)
{
	struct mlx5dv_devx_obj *rq;
	struct rig_cq frames_cq;
	struct rule rule;
	struct shared s;
	struct one o;
	uint32_t rqn;

	make_pool(&s);
	rig_cq(&rig, 6, rig.eqn, &o.cq);
	rig_cq(&rig, 6, rig.eqn, &frames_cq);
	rig_qp(&rig, 4, 3, s.number, &o.cq, &o.qp);
	rig_connect(&o.qp, &o.qp);
	rq = make_rq(s.number, frames_cq.cqn, &rqn);
	lead_to(rqn, &rule);
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t slot = post(&s);

		rig_send(&o.qp, MLX5_OPCODE_SEND, 0, 64, 0);
		expect(&o.cq, MLX5_CQE_RESP_SEND, (uint16_t)slot);
		expect(&o.cq, MLX5_CQE_REQ, (uint16_t)i);
		slot = post(&s);
		memset(rig.memory + BASE + PIECE * slot, 0, PIECE);
		frames_send(&rig, 1, PORT);
		expect(&frames_cq, MLX5_CQE_RESP_SEND, (uint16_t)slot);
		assert_int_equal(rig.memory[BASE + PIECE * slot + 36], PORT >> 8);
		assert_int_equal(rig.memory[BASE + PIECE * slot + 37], PORT & 0xff);
	}
	assert_int_equal(mlx5dv_devx_obj_destroy(s.obj), EBUSY);
	rig_qp_drop(&o.qp);
	assert_int_equal(mlx5dv_devx_obj_destroy(s.obj), EBUSY);
	drop_rule(&rule);
	assert_int_equal(mlx5dv_devx_obj_destroy(rq), 0);
	rig_cq_drop(&o.cq);
	rig_cq_drop(&frames_cq);
	drop_shared(&s);
}

static void a_pool_that_does_not_exist_is_refused(void **state)
{
	RIG_IN(in, ifc_len(create_rq_in), CREATE_RQ);
	uint8_t *ctx = ifc_ptr(in, create_rq_in, ctx), out[0x10];
	struct rig_cq cq;

	rig_cq(&rig, 4, rig.eqn, &cq);
	ifc_set(ctx, rqc, cqn, cq.cqn);
	ifc_set(ctx, rqc, mem_rq_type, IFC_MEM_RQ_RMP);
	ifc_set(ctx, rqc, rmpn, 0xfffffe);
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out)));
	assert_int_equal(errno, EREMOTEIO);
	assert_int_equal(out[0], IFC_STATUS_BAD_RES);
	ifc_set(ctx, rqc, mem_rq_type, 5);
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out)));
	assert_int_equal(errno, EREMOTEIO);
	assert_int_equal(out[0], IFC_STATUS_BAD_PARAM);
	rig_cq_drop(&cq);
}

static int open_rig(void **state)
{
	rig_open(&rig);
	return 0;
}

static int close_rig(void **state)
{
	rig_close(&rig);
	return 0;
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
		T(a_shared_queue_of_the_older_kind_serves_queue_pairs),
		T(an_xrc_queue_completes_where_its_context_says),
		T(frames_are_received_from_a_shared_pool),
		T(a_pool_that_does_not_exist_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
