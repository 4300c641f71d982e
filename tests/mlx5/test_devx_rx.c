/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames into receive queues that device commands made: two queues on the program's own rings, a
 * table of them, a TIR that hashes over it, and a direct rule that leads there and counts.
 */
#include "devx_rig.h"

#include <endian.h>
#include <string.h>
#include <time.h>

#include "ether/flow_packets.h"

enum { FRAMES = 64, LOG_ENTRIES = 6, SIZE = 256, UDP_DPORT = 30, PORT = 777 };

static struct rig rig;

struct rq {
	struct rig_umem umem; /* entries, then the record */
	struct mlx5dv_devx_obj *obj;
	uint32_t number;
	struct rig_cq cq;
};

static struct mlx5dv_devx_obj *create(const void *in, size_t len, uint32_t *number)
{
	uint8_t out[0x10] = { 0 };
	struct mlx5dv_devx_obj *obj = mlx5dv_devx_obj_create(rig.ctx, in, len, out, sizeof(out));

	assert_non_null(obj);
	*number = ifc_get(out, obj_out, number);
	return obj;
}

/* With all of its entries posted, each a part of the rig's memory from `off` on. */
static void make_rq(struct rq *q, uint32_t off)
{
	RIG_IN(in, ifc_len(create_rq_in), CREATE_RQ);
	RIG_IN(change, ifc_len(modify_rq_in), MODIFY_RQ);
	uint8_t *ctx = ifc_ptr(in, create_rq_in, ctx), *wq = ifc_ptr(ctx, rqc, wq), out[0x10];

	q->umem = rig_umem(&rig, 8192);
	rig_cq(&rig, LOG_ENTRIES + 1, rig.eqn, &q->cq);
	ifc_set(ctx, rqc, vsd, 1);
	ifc_set(ctx, rqc, cqn, q->cq.cqn);
	ifc_set(wq, wq, wq_type, IFC_WQ_CYCLIC);
	ifc_set(wq, wq, pd, rig.pdn);
	ifc_set(wq, wq, log_wq_stride, 4);
	ifc_set(wq, wq, log_wq_sz, LOG_ENTRIES);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, q->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, q->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, 4096);
	q->obj = create(in, sizeof(in), &q->number);
	ifc_set(change, modify_rq_in, rqn, q->number);
	ifc_set(change, modify_rq_in, rq_state, IFC_WQ_RST);
	ifc_set(ifc_ptr(change, modify_rq_in, ctx), rqc, state, IFC_WQ_RDY);
	assert_int_equal(mlx5dv_devx_obj_modify(q->obj, change, sizeof(change), out, sizeof(out)),
			 0);
	for (uint32_t i = 0; i < 1u << LOG_ENTRIES; i++)
		mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)(q->umem.addr + 16 * i), SIZE,
				    rig.mr->lkey, (uintptr_t)(rig.memory + off + i * SIZE));
	__atomic_store_n((uint32_t *)(q->umem.addr + 4096), htobe32(1u << LOG_ENTRIES),
			 __ATOMIC_RELEASE);
}

static void drop_rq(struct rq *q)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(q->obj), 0);
	rig_cq_drop(&q->cq);
	rig_umem_drop(&q->umem);
}

static struct mlx5dv_devx_obj *make_table(const struct rq *queues, uint32_t *number)
{
	uint8_t in[ifc_len(create_rqt_in) + 8] = { 0 };
	uint8_t *ctx = ifc_ptr(in, create_rqt_in, rqt_context);

	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_RQT);
	ifc_set(ctx, rqtc, rqt_max_size, 2);
	ifc_set(ctx, rqtc, rqt_actual_size, 2);
	ifc_set_at(ctx, rqtc, rq_num, 0, queues[0].number);
	ifc_set_at(ctx, rqtc, rq_num, 1, queues[1].number);
	return create(in, sizeof(in), number);
}

static struct mlx5dv_devx_obj *make_tir(uint32_t table, uint32_t *number)
{
	RIG_IN(in, ifc_len(create_tir_in), CREATE_TIR);
	uint8_t *ctx = ifc_ptr(in, create_tir_in, ctx);
	uint8_t *select = ifc_ptr(ctx, tirc, rx_hash_field_selector_outer);

	ifc_set(ctx, tirc, disp_type, IFC_TIR_INDIRECT);
	ifc_set(ctx, tirc, indirect_table, table);
	ifc_set(ctx, tirc, rx_hash_fn, IFC_RX_HASH_TOEPLITZ);
	memset(ifc_ptr(ctx, tirc, rx_hash_toeplitz_key), 0x6d, 40);
	ifc_set(select, rx_hash_field_select, l4_prot_type, IFC_L4_UDP);
	ifc_set(select, rx_hash_field_select, selected_fields, IFC_HASH_L4_SPORT);
	return create(in, sizeof(in), number);
}

static uint64_t counted(struct mlx5dv_devx_obj *counter, uint32_t number)
{
	RIG_IN(in, ifc_len(query_flow_counter_in), QUERY_FLOW_COUNTER);
	uint8_t out[ifc_len(query_flow_counter_out) + ifc_len(traffic_counter)] = { 0 };

	ifc_set(in, query_flow_counter_in, flow_counter_id, number);
	assert_int_equal(mlx5dv_devx_obj_query(counter, in, sizeof(in), out, sizeof(out)), 0);
	return ifc_get(out + ifc_len(query_flow_counter_out), traffic_counter, packets);
}

/* From a context of its own: an adapter does not send to itself by default. */
static void send_frames(void)
{
	struct ibv_context *context = ibv_open_device(rig.ctx->device);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { 16, 1, 1, 1, 0 },
					 .sq_sig_all = 1 };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	static struct pkt p;
	struct ibv_mr *mr = ibv_reg_mr(pd, &p, sizeof(p), 0);
	struct ibv_sge sge = { .addr = (uintptr_t)p.b, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	for (enum ibv_qp_state s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++) {
		struct ibv_qp_attr attr = { .qp_state = s, .port_num = 1 };

		assert_int_equal(
			ibv_modify_qp(qp, &attr,
				      IBV_QP_STATE | (s == IBV_QPS_INIT ? IBV_QP_PORT : 0)),
			0);
	}
	for (unsigned int i = 0; i < FRAMES; i++) {
		time_t end = time(NULL) + 20;
		struct ibv_wc wc;

		p = pkt_plain(i, PORT);
		sge.length = p.len;
		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
		while (!ibv_poll_cq(cq, 1, &wc))
			assert_true(time(NULL) < end);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	ibv_destroy_qp(qp);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
}

/* Each source port once, and both queues some. */
static void check_arrivals(struct rq *queues)
{
	unsigned int got[2] = { 0, 0 };
	bool seen[FRAMES] = { false };
	time_t end = time(NULL) + 20;

	while (got[0] + got[1] < FRAMES) {
		for (int i = 0; i < 2; i++) {
			const uint8_t *frame;

			if (!rig_cq_ready(&queues[i].cq))
				continue;
			rig_cq_take(&queues[i].cq);
			frame = rig.memory + i * (RIG_MEMORY / 2) + got[i]++ * SIZE;
			assert_int_equal(frame[34], 0);
			assert_true(frame[35] < FRAMES && !seen[frame[35]]);
			seen[frame[35]] = true;
		}
		assert_true(time(NULL) < end);
	}
	assert_true(got[0] && got[1]);
}

static void frames_spread_over_queues_made_by_commands(void **state)
{
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + 64];
	} mask = { .p.match_sz = 64 }, value = { .p.match_sz = 64 };
	uint8_t *masked = (uint8_t *)mask.p.match_buf, *wanted = (uint8_t *)value.p.match_buf;
	RIG_IN(in, 0x10, ALLOC_FLOW_COUNTER);
	struct mlx5dv_devx_obj *table, *tir, *counter;
	struct mlx5dv_dr_action *actions[2];
	struct mlx5dv_dr_domain *domain;
	struct mlx5dv_dr_table *root;
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_rule *rule;
	uint32_t table_number, tir_number, counter_number;
	struct rq queues[2];

	make_rq(&queues[0], 0);
	make_rq(&queues[1], RIG_MEMORY / 2);
	table = make_table(queues, &table_number);
	tir = make_tir(table_number, &tir_number);
	counter = create(in, sizeof(in), &counter_number);
	domain = mlx5dv_dr_domain_create(rig.ctx, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	root = mlx5dv_dr_table_create(domain, 0);
	memset(masked + UDP_DPORT, 0xff, 2);
	wanted[UDP_DPORT] = PORT >> 8;
	wanted[UDP_DPORT + 1] = PORT & 0xff;
	matcher = mlx5dv_dr_matcher_create(root, 0, 1, &mask.p);
	actions[0] = mlx5dv_dr_action_create_flow_counter(counter, 0);
	actions[1] = mlx5dv_dr_action_create_dest_devx_tir(tir);
	assert_true(matcher && actions[0] && actions[1]);
	rule = mlx5dv_dr_rule_create(matcher, &value.p, 2, actions);
	assert_non_null(rule);
	assert_int_equal(mlx5dv_devx_obj_destroy(tir), EBUSY);
	send_frames();
	check_arrivals(queues);
	assert_int_equal(counted(counter, counter_number), FRAMES);
	assert_null(mlx5dv_dr_action_create_dest_devx_tir(counter));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_dr_rule_destroy(rule), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(actions[0]), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(actions[1]), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(matcher), 0);
	assert_int_equal(mlx5dv_dr_table_destroy(root), 0);
	assert_int_equal(mlx5dv_dr_domain_destroy(domain), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(counter), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(table), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(tir), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(queues[0].obj), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(table), 0);
	drop_rq(&queues[0]);
	drop_rq(&queues[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_spread_over_queues_made_by_commands),
	};
	int failed;

	rig_open(&rig);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
