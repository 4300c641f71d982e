/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw packet queue pairs, their rules, work queues and RSS. */
#include "scenario.h"

#include <string.h>
#include <infiniband/mlx5dv.h>

#define PORT_UDP 30 /* offset of the UDP destination port in the device's layout */

static struct ibv_qp *raw_qp(uint64_t ops)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.send_cq = a.cq,
		.recv_cq = a.cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | (ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
								    IBV_QP_INIT_ATTR_MAX_TSO_HEADER
							: 0),
		.pd = a.pd,
		.send_ops_flags = ops,
		.max_tso_header = 64,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp_ex(a.ctx, &init);

	if (!MAKE(qp) || !DO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT)))
		return qp;
	attr.qp_state = IBV_QPS_RTR;
	if (!DO(ibv_modify_qp(qp, &attr, IBV_QP_STATE)))
		return qp;
	attr.qp_state = IBV_QPS_RTS;
	DO(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	return qp;
}

/* A rule that counts what it drops. */
static void counted_rule(struct ibv_qp *qp)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_counter_action count;
	} __attribute__((packed, aligned(8))) rule = {
		.attr = { .size = sizeof(rule), .num_of_specs = 2, .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH,
			 .size = sizeof(rule.eth),
			 .val.dst_mac = { 2, 0, 0, 0, 0, 1 },
			 .mask.dst_mac = { 255, 255, 255, 255, 255, 255 } },
		.count = { .type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(rule.count) },
	};
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr attach = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_counters *counters = ibv_create_counters(a.ctx, &init);
	struct ibv_flow *flow;
	uint64_t value;

	if (!MAKE(counters))
		return;
	rule.count.counters = counters;
	if (DO(ibv_attach_counters_point_flow(counters, &attach, NULL))) {
		flow = ibv_create_flow(qp, (void *)&rule);
		if (MAKE(flow)) {
			DO(ibv_read_counters(counters, &value, 1, 0));
			END(ibv_destroy_flow(flow));
		}
	}
	END(ibv_destroy_counters(counters));
}

static void raw_frames(void)
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 1000000 };
	struct ibv_qp *qp = raw_qp(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO);
	struct ibv_qp_ex *ex;

	if (!qp)
		return;
	if (qp->state == IBV_QPS_RTS) {
		DO(ibv_modify_qp_rate_limit(qp, &limit));
		counted_rule(qp);
		post_recv(qp, NULL, 4096);
		ex = ibv_qp_to_qp_ex(qp);
		ibv_wr_start(ex);
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 64);
		ibv_wr_send_tso(ex, a.buf, 54, 500);
		ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 1200);
		if (DO(ibv_wr_complete(ex)))
			a.sends += 2;
		reap("frames", false, true);
	}
	end_qps(qp, NULL);
}

static void work_queue(void)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = a.pd, .cq = a.cq
	};
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_sge sge = { (uintptr_t)a.buf + HALF, 4096, a.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = OF_SRQ, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wq *wq = ibv_create_wq(a.ctx, &init);
	struct ibv_rwq_ind_table_init_attr table_init = { .ind_tbl = &wq };
	uint8_t key[40] = { 1 };
	struct ibv_qp_init_attr_ex rss = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = a.pd,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = 40,
				  .rx_hash_key = key,
				  .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 },
	};
	struct ibv_qp *qp;

	if (!MAKE(wq))
		return;
	if (DO(ibv_modify_wq(wq, &ready)))
		DO(ibv_post_wq_recv(wq, &wr, &bad));
	rss.rwq_ind_tbl = ibv_create_rwq_ind_table(a.ctx, &table_init);
	if (MAKE(rss.rwq_ind_tbl)) {
		qp = ibv_create_qp_ex(a.ctx, &rss);
		if (MAKE(qp))
			END(ibv_destroy_qp(qp));
		END(ibv_destroy_rwq_ind_table(rss.rwq_ind_tbl));
	}
	END(ibv_destroy_wq(wq));
}

/* No adapter here has IPsec: these calls refuse. */
static void esp(void)
{
	struct ibv_flow_action_esp_attr attr = { 0 };
	struct mlx5dv_flow_action_esp dv_attr = { 0 };
	struct ibv_flow_action *action = ibv_create_flow_action_esp(a.ctx, &attr);
	struct ibv_flow_action none = { .context = a.ctx };

	if (action)
		problem("ibv_create_flow_action_esp", "does not refuse");
	if (mlx5dv_create_flow_action_esp(a.ctx, &attr, &dv_attr))
		problem("mlx5dv_create_flow_action_esp", "does not refuse");
	if (!ibv_modify_flow_action_esp(&none, &attr))
		problem("ibv_modify_flow_action_esp", "does not refuse");
}

void part_frames(void)
{
	raw_frames();
	work_queue();
	esp();
}

/* ---- matchers of direct verbs ---- */

struct match {
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t bytes[sizeof(struct mlx5dv_flow_match_parameters) + 192];
	};
};

static struct match match_of(uint16_t value)
{
	struct match m = { .p.match_sz = 192 };

	m.bytes[sizeof(m.p) + PORT_UDP] = value >> 8;
	m.bytes[sizeof(m.p) + PORT_UDP + 1] = value;
	return m;
}

void part_matchers(void)
{
	struct match mask = match_of(0xffff), value = match_of(2);
	struct mlx5dv_flow_matcher_attr attr = { .type = IBV_FLOW_ATTR_NORMAL,
						 .match_criteria_enable = 1,
						 .match_mask = &mask.p,
						 .comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE,
						 .ft_type = MLX5DV_FLOW_TABLE_TYPE_NIC_RX };
	struct mlx5dv_steering_anchor_attr anchor_attr = { .ft_type =
								   MLX5DV_FLOW_TABLE_TYPE_NIC_RX };
	struct mlx5dv_flow_action_attr actions[2] = {
		{ .type = MLX5DV_FLOW_ACTION_TAG, .tag_value = 5 },
		{ .type = MLX5DV_FLOW_ACTION_DEST_IBV_QP },
	};
	uint64_t set = 0x8888000010200210; /* the source MAC, big endian */
	struct ibv_flow_action *reformat = mlx5dv_create_flow_action_packet_reformat(
		a.ctx, 0, NULL, MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2,
		MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
	struct ibv_flow_action *modify = mlx5dv_create_flow_action_modify_header(
		a.ctx, sizeof(set), &set, MLX5DV_FLOW_TABLE_TYPE_NIC_TX);
	struct mlx5dv_flow_matcher *matcher = mlx5dv_create_flow_matcher(a.ctx, &attr);
	struct mlx5dv_steering_anchor *anchor = mlx5dv_create_steering_anchor(a.ctx, &anchor_attr);
	struct ibv_qp *qp = raw_qp(0);
	struct ibv_flow *flow;

	did(reformat && modify && anchor, "an object of steering");
	if (MAKE(matcher)) {
		actions[1].qp = qp;
		flow = qp ? mlx5dv_create_flow(matcher, &value.p, 2, actions) : NULL;
		if (MAKE(flow))
			END(ibv_destroy_flow(flow));
		END(mlx5dv_destroy_flow_matcher(matcher));
	}
	if (anchor)
		END(mlx5dv_destroy_steering_anchor(anchor));
	if (modify)
		END(ibv_destroy_flow_action(modify));
	if (reformat)
		END(ibv_destroy_flow_action(reformat));
	end_qps(qp, NULL);
}
