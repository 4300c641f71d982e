/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames out of a send queue that device commands made, on the program's own ring. They come back
 * to the sender's own port, over a TIR that lets them.
 */
#include "devx_frames.h"

#include <endian.h>
#include <string.h>

#include "ether/flow_packets.h"

enum { LOG_SQ = 4, FRAMES = 40, PORT = 778, SEND_OFF = RIG_MEMORY / 2 };

static struct rig rig;

struct sender {
	struct rig_umem umem; /* ring, then the record */
	struct mlx5dv_devx_obj *obj;
	struct rig_cq cq;
	uint32_t number, post;
};

static int move(struct sender *s, unsigned int from, unsigned int to)
{
	RIG_IN(in, ifc_len(modify_sq_in), MODIFY_SQ);
	uint8_t out[0x10];

	ifc_set(in, modify_sq_in, sqn, s->number);
	ifc_set(in, modify_sq_in, sq_state, from);
	ifc_set(ifc_ptr(in, modify_sq_in, ctx), sqc, state, to);
	return mlx5dv_devx_obj_modify(s->obj, in, sizeof(in), out, sizeof(out));
}

static void make_sender(struct sender *s)
{
	RIG_IN(in, ifc_len(create_sq_in), CREATE_SQ);
	uint8_t *ctx = ifc_ptr(in, create_sq_in, ctx), *wq = ifc_ptr(ctx, sqc, wq);

	*s = (struct sender){ .umem = rig_umem(&rig, 8192) };
	rig_cq(&rig, LOG_SQ, rig.eqn, &s->cq);
	ifc_set(ctx, sqc, cqn, s->cq.cqn);
	ifc_set(ctx, sqc, user_index, 0x4321);
	ifc_set(wq, wq, wq_type, IFC_WQ_CYCLIC);
	ifc_set(wq, wq, pd, rig.pdn);
	ifc_set(wq, wq, uar_page, rig.uar->page_id);
	ifc_set(wq, wq, log_wq_stride, 6);
	ifc_set(wq, wq, log_wq_sz, LOG_SQ);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, s->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, s->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, 4096);
	s->obj = frames_create(&rig, in, sizeof(in), &s->number);
	assert_int_equal(move(s, IFC_WQ_RDY, IFC_WQ_RST), EREMOTEIO);
	assert_int_equal(move(s, IFC_WQ_RST, IFC_WQ_RDY), 0);
}

static void drop_sender(struct sender *s)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(s->obj), 0);
	rig_cq_drop(&s->cq);
	rig_umem_drop(&s->umem);
}

/* Control, Ethernet with 18 bytes of the frame, and the rest of it as one element. */
static void send_frame(struct sender *s, const struct pkt *p)
{
	uint8_t *at = s->umem.addr + 64 * (size_t)(s->post & ((1u << LOG_SQ) - 1));
	struct mlx5_wqe_eth_seg *eth = (void *)(at + 16);
	const uint32_t inlined = 18;

	memcpy(rig.memory + SEND_OFF, p->b, p->len);
	memset(eth, 0, 32);
	eth->inline_hdr_sz = htobe16(inlined);
	memcpy(eth->inline_hdr_start, p->b, inlined);
	mlx5dv_set_data_seg((void *)(at + 48), p->len - inlined, rig.mr->lkey,
			    (uintptr_t)rig.memory + SEND_OFF + inlined);
	mlx5dv_set_ctrl_seg((void *)at, s->post & 0xffff, MLX5_OPCODE_SEND, 0, s->number,
			    MLX5_WQE_CTRL_CQ_UPDATE, 4, 0, 0);
	s->post++;
	__atomic_store_n((uint32_t *)(s->umem.addr + 4096) + MLX5_SND_DBR,
			 htobe32(s->post & 0xffff), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)rig.uar->reg_addr, *(uint64_t *)at, __ATOMIC_RELEASE);
	assert_int_equal(be16toh(rig_cq_wait(&s->cq)->wqe_counter), (s->post - 1) & 0xffff);
	assert_int_equal(be32toh(rig_cq_wait(&s->cq)->sop_drop_qpn) & 0xffffff, s->number);
	rig_cq_take(&s->cq);
}

static struct mlx5dv_devx_obj *make_tir(uint32_t rqn, unsigned int self_lb)
{
	RIG_IN(in, ifc_len(create_tir_in), CREATE_TIR);
	uint8_t *ctx = ifc_ptr(in, create_tir_in, ctx);
	uint32_t number;

	ifc_set(ctx, tirc, disp_type, IFC_TIR_DIRECT);
	ifc_set(ctx, tirc, inline_rqn, rqn);
	ifc_set(ctx, tirc, self_lb_block, self_lb);
	return frames_create(&rig, in, sizeof(in), &number);
}

/* A rule that leads frames of PORT to a TIR. */
struct way {
	struct mlx5dv_dr_domain *domain;
	struct mlx5dv_dr_table *root;
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_action *action;
	struct mlx5dv_dr_rule *rule;
};

static void make_way(struct way *w, struct mlx5dv_devx_obj *tir)
{
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + 64];
	} mask = { .p.match_sz = 64 }, value = { .p.match_sz = 64 };
	uint8_t *wanted = (uint8_t *)value.p.match_buf;

	memset((uint8_t *)mask.p.match_buf + FRAMES_UDP_DPORT, 0xff, 2);
	wanted[FRAMES_UDP_DPORT] = PORT >> 8;
	wanted[FRAMES_UDP_DPORT + 1] = PORT & 0xff;
	w->domain = mlx5dv_dr_domain_create(rig.ctx, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	w->root = mlx5dv_dr_table_create(w->domain, 0);
	w->matcher = mlx5dv_dr_matcher_create(w->root, 0, 1, &mask.p);
	w->action = mlx5dv_dr_action_create_dest_devx_tir(tir);
	w->rule = mlx5dv_dr_rule_create(w->matcher, &value.p, 1, &w->action);
	assert_non_null(w->rule);
}

static void drop_way(struct way *w)
{
	assert_int_equal(mlx5dv_dr_rule_destroy(w->rule), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(w->action), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(w->matcher), 0);
	assert_int_equal(mlx5dv_dr_table_destroy(w->root), 0);
	assert_int_equal(mlx5dv_dr_domain_destroy(w->domain), 0);
}

static void frames_leave_a_send_queue_made_by_commands(void **state)
{
	struct mlx5dv_devx_obj *tir;
	struct frames_rq queue;
	struct sender sender;
	struct way way;

	frames_rq(&rig, &queue, 0);
	make_sender(&sender);
	tir = make_tir(queue.number, IFC_SELF_LB_UC);
	make_way(&way, tir);
	for (uint16_t i = 0; i < FRAMES; i++) {
		struct pkt p = pkt_plain(i, PORT);

		send_frame(&sender, &p);
		assert_int_equal(be32toh(rig_cq_wait(&queue.cq)->byte_cnt), p.len);
		assert_memory_equal(rig.memory + i * FRAMES_SIZE, p.b, p.len);
		rig_cq_take(&queue.cq);
	}
	drop_way(&way);
	assert_int_equal(mlx5dv_devx_obj_destroy(tir), 0);
	drop_sender(&sender);
	frames_rq_drop(&queue);
}

static void a_tir_hears_its_own_port_only_when_its_bits_say_so(void **state)
{
	struct pkt p = pkt_plain(1, PORT);
	struct mlx5dv_devx_obj *tir;
	struct frames_rq queue;
	struct sender sender;
	struct way way;

	frames_rq(&rig, &queue, 0);
	make_sender(&sender);
	tir = make_tir(queue.number, IFC_SELF_LB_MC);
	make_way(&way, tir);
	send_frame(&sender, &p);
	p.b[0] |= 1; /* the same to a group: the first that arrives */
	send_frame(&sender, &p);
	rig_cq_wait(&queue.cq);
	assert_int_equal(rig.memory[0], p.b[0]);
	rig_cq_take(&queue.cq);
	assert_false(rig_cq_ready(&queue.cq));
	drop_way(&way);
	assert_int_equal(mlx5dv_devx_obj_destroy(tir), 0);
	drop_sender(&sender);
	frames_rq_drop(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_leave_a_send_queue_made_by_commands),
		cmocka_unit_test(a_tir_hears_its_own_port_only_when_its_bits_say_so),
	};
	int failed;

	rig_open(&rig);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
