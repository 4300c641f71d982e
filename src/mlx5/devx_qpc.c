/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QP contexts: from a state-change command to the adapter's attributes, and from a QP to the
 * context that a query returns; for QPs of DEVX and of verbs. A command is one edge of the state
 * diagram. Required attributes always come from the context, optional ones if opt_param_mask has
 * their bit.
 */
#include "mlx5/devx_qpc.h"

#include <errno.h>
#include <string.h>

#include "hca/device/access.h"
#include "hca/device/port.h"
#include "hca/transport/qp_lag.h"
#include "hca/transport/qp_modify.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_lag.h"
#include "mlx5/devx_counter.h"

#define ANY_STATE 0xff

static const struct step {
	uint16_t op;
	uint8_t from, to; /* enum hca_qp_state; from 0xff: any */
} steps[] = {
	{ IFC_OP_RST2INIT_QP, HCA_QPS_RESET, HCA_QPS_INIT },
	{ IFC_OP_INIT2INIT_QP, HCA_QPS_INIT, HCA_QPS_INIT },
	{ IFC_OP_INIT2RTR_QP, HCA_QPS_INIT, HCA_QPS_RTR },
	{ IFC_OP_RTR2RTS_QP, HCA_QPS_RTR, HCA_QPS_RTS },
	{ IFC_OP_RTS2RTS_QP, HCA_QPS_RTS, HCA_QPS_RTS },
	{ IFC_OP_SQERR2RTS_QP, HCA_QPS_SQE, HCA_QPS_RTS },
	{ IFC_OP_RTS2SQD_QP, HCA_QPS_RTS, HCA_QPS_SQD },
	{ IFC_OP_SQD2RTS_QP, HCA_QPS_SQD, HCA_QPS_RTS },
	{ IFC_OP_2ERR_QP, ANY_STATE, HCA_QPS_ERR },
	{ IFC_OP_2RST_QP, ANY_STATE, HCA_QPS_RESET },
};

static const uint8_t state_codes[] = {
	[HCA_QPS_RESET] = IFC_QP_RST, [HCA_QPS_INIT] = IFC_QP_INIT, [HCA_QPS_RTR] = IFC_QP_RTR,
	[HCA_QPS_RTS] = IFC_QP_RTS,   [HCA_QPS_SQD] = IFC_QP_SQD,   [HCA_QPS_SQE] = IFC_QP_SQER,
	[HCA_QPS_ERR] = IFC_QP_ERR,
};

static bool reliable(enum hca_qp_type type)
{
	return type == HCA_QP_RC || type == HCA_QP_XRC_SEND || type == HCA_QP_XRC_RECV ||
	       type == HCA_QP_DCI;
}

static uint32_t required(enum hca_qp_type type, uint16_t op)
{
	switch (op) {
	case IFC_OP_RST2INIT_QP:
		if (type == HCA_QP_DCI)
			return HCA_QPM_PKEY_INDEX | HCA_QPM_PORT;
		return HCA_QPM_PKEY_INDEX | HCA_QPM_PORT |
		       (type == HCA_QP_UD ? HCA_QPM_QKEY : HCA_QPM_ACCESS);
	case IFC_OP_INIT2RTR_QP:
		if (type == HCA_QP_UD)
			return 0;
		if (type == HCA_QP_DCI)
			return HCA_QPM_PATH_MTU;
		return HCA_QPM_AV | HCA_QPM_PATH_MTU | HCA_QPM_DEST_QPN | HCA_QPM_RQ_PSN |
		       (type == HCA_QP_RC || type == HCA_QP_XRC_RECV
				? HCA_QPM_MAX_DEST_RD_ATOMIC | HCA_QPM_MIN_RNR_TIMER
				: 0);
	case IFC_OP_RTR2RTS_QP:
		if (!reliable(type))
			return HCA_QPM_SQ_PSN;
		return HCA_QPM_SQ_PSN | HCA_QPM_TIMEOUT |
		       (type == HCA_QP_XRC_RECV
				? 0
				: HCA_QPM_RETRY_CNT | HCA_QPM_RNR_RETRY | HCA_QPM_MAX_RD_ATOMIC);
	default:
		return 0;
	}
}

static uint32_t optional(enum hca_qp_type type, uint32_t opt)
{
	static const struct {
		uint32_t bit, mask;
	} map[] = {
		{ IFC_QP_OPT_RRE | IFC_QP_OPT_RAE | IFC_QP_OPT_RWE, HCA_QPM_ACCESS },
		{ IFC_QP_OPT_PKEY_INDEX, HCA_QPM_PKEY_INDEX },
		{ IFC_QP_OPT_Q_KEY, HCA_QPM_QKEY },
		{ IFC_QP_OPT_RNR_TIMEOUT, HCA_QPM_MIN_RNR_TIMER },
		{ IFC_QP_OPT_PM_STATE, HCA_QPM_PATH_MIG_STATE },
		{ IFC_QP_OPT_ALT_PATH, HCA_QPM_ALT_PATH },
	};
	uint32_t mask = 0;

	for (size_t i = 0; i < array_size(map); i++)
		if (opt & map[i].bit)
			mask |= map[i].mask;
	/* UD QPs have none of these, connected ones no Q_Key; the device ignores such fields. */
	if (type == HCA_QP_UD)
		mask &= HCA_QPM_PKEY_INDEX | HCA_QPM_QKEY;
	else if (type == HCA_QP_DCI)
		mask = 0;
	else
		mask &= ~(uint32_t)HCA_QPM_QKEY;
	return type == HCA_QP_UC || type == HCA_QP_XRC_SEND
		       ? mask & ~(uint32_t)HCA_QPM_MIN_RNR_TIMER
		       : mask;
}

/* Forced loopback: the path leads to the port that it starts from, and names no other. */
static void aim_at_self(const struct hca_adapter *a, struct hca_av *av)
{
	struct hca_gid_entry own;
	struct hca_port_attr port;

	if (!hca_port_gid(a, av->port, av->sgid_index, &own))
		av->dgid = own.gid;
	if (!hca_port_query(a, av->port, &port))
		av->dlid = port.lid;
}

static void read_path(const struct devx_cmd *c, const void *ads, struct hca_av *av)
{
	bool ethernet = c->devx->ctx->ethernet;

	*av = (struct hca_av){
		.has_grh = ethernet || ifc_get(ads, ads, grh),
		.sgid_index = ifc_get(ads, ads, src_addr_index),
		.hop_limit = ifc_get(ads, ads, hop_limit),
		.traffic_class = ethernet ? ifc_get(ads, ads, dscp) << 2 | ifc_get(ads, ads, ecn)
					  : ifc_get(ads, ads, tclass),
		.flow_label = ifc_get(ads, ads, flow_label),
		.dlid = ifc_get(ads, ads, rlid),
		.src_path_bits = ifc_get(ads, ads, mlid),
		.sl = ethernet ? ifc_get(ads, ads, eth_prio) : ifc_get(ads, ads, sl),
		.static_rate = ifc_get(ads, ads, stat_rate),
		.port = ifc_get(ads, ads, vhca_port_num) ?: 1,
		.udp_sport = ethernet ? ifc_get(ads, ads, udp_sport) : 0,
	};
	memcpy(av->dgid.raw, ifc_cptr(ads, ads, rgid_rip), sizeof(av->dgid.raw));
	memcpy(av->dmac, ifc_cptr(ads, ads, rmac), sizeof(av->dmac));
	if (ifc_get(ads, ads, fl))
		aim_at_self(c->adapter, av);
}

static void read_access(const void *qpc, struct hca_qp_attr *out)
{
	if (ifc_get(qpc, qpc, rre))
		out->access |= HCA_ACCESS_REMOTE_READ;
	if (ifc_get(qpc, qpc, rwe))
		out->access |= HCA_ACCESS_REMOTE_WRITE;
	if (ifc_get(qpc, qpc, rae))
		out->access |= HCA_ACCESS_REMOTE_ATOMIC;
}

static void read_qpc(const struct devx_cmd *c, const void *qpc, struct hca_qp_attr *out)
{
	const void *primary = ifc_cptr(qpc, qpc, primary_address_path);
	const void *secondary = ifc_cptr(qpc, qpc, secondary_address_path);
	unsigned int pm = ifc_get(qpc, qpc, pm_state);

	out->path_mtu = ifc_get(qpc, qpc, mtu);
	out->path_mig_state = pm == IFC_PM_MIGRATED ? 0 : pm == IFC_PM_REARM ? 1 : 2;
	out->qkey = ifc_get(qpc, qpc, q_key);
	out->rq_psn = ifc_get(qpc, qpc, next_rcv_psn);
	out->sq_psn = ifc_get(qpc, qpc, next_send_psn);
	out->dest_qpn = ifc_get(qpc, qpc, remote_qpn);
	out->max_rd_atomic = 1u << ifc_get(qpc, qpc, log_sra_max);
	out->max_dest_rd_atomic = 1u << ifc_get(qpc, qpc, log_rra_max);
	out->min_rnr_timer = ifc_get(qpc, qpc, min_rnr_nak);
	out->retry_cnt = ifc_get(qpc, qpc, retry_count);
	out->rnr_retry = ifc_get(qpc, qpc, rnr_retry);
	out->pkey_index = ifc_get(primary, ads, pkey_index);
	out->port = ifc_get(primary, ads, vhca_port_num) ?: 1;
	out->timeout = ifc_get(primary, ads, ack_timeout);
	read_path(c, primary, &out->av);
	read_path(c, secondary, &out->alt_av);
	out->alt_port = out->alt_av.port;
	out->alt_timeout = ifc_get(secondary, ads, ack_timeout);
	out->alt_pkey_index = ifc_get(secondary, ads, pkey_index);
	read_access(qpc, out);
}

/*
 * Fields that are not verbs attributes: the counter set, the order of packets, the bonded link, and
 * with opt_param_mask_95_32 the path of a requester.
 */
static int modify_other(struct devx_cmd *c, struct hca_qp *qp, const void *qpc, uint32_t opt)
{
	const void *primary = ifc_cptr(qpc, qpc, primary_address_path);
	uint8_t affinity = ifc_get(qpc, qpc, lag_tx_port_affinity);
	struct hca_counters *set;
	int err;

	/* RST2INIT always sets the counter set; later commands only with its bit. */
	if (c->row->op == IFC_OP_RST2INIT_QP ? ifc_get(qpc, qpc, counter_set_id)
					     : opt & IFC_QP_OPT_COUNTER_SET) {
		err = devx_counters_find(c, ifc_get(qpc, qpc, counter_set_id), &set);
		if (err)
			return err;
		hca_qp_set_counters(qp, set);
	}
	/* 0: as IBTA demands, 1: reads and writes in any order, 2: all messages. */
	if (c->row->op == IFC_OP_INIT2RTR_QP)
		hca_qp_set_out_of_order(qp, ifc_get(qpc, qpc, dp_ordering_1));
	if (c->row->op == IFC_OP_RST2INIT_QP ||
	    (c->row->op == IFC_OP_INIT2INIT_QP && opt & IFC_QP_OPT_DRAIN_SIGERR))
		qp->stop_on_sig_error |= ifc_get(qpc, qpc, drain_sigerr);
	if (affinity && c->row->op == IFC_OP_RST2INIT_QP)
		hca_qp_lag_wish(qp, devx_lag_of(c, affinity, 0));
	if (opt & IFC_QP_OPT_LAG_TX_AFFINITY &&
	    (c->row->op == IFC_OP_INIT2INIT_QP || c->row->op == IFC_OP_RTS2RTS_QP)) {
		err = devx_refuse_errno(c, hca_qp_lag_set(qp, affinity), DEVX_WHY_FIELD);
		if (err)
			return err;
	}
	if (c->row->op != IFC_OP_RTS2RTS_QP ||
	    !(ifc_get(c->in, modify_qp_in, opt_param_mask_95_32) & IFC_QP_OPT2_UDP_SPORT))
		return 0;
	return devx_refuse_errno(c, hca_qp_set_udp_sport(qp, ifc_get(primary, ads, udp_sport)),
				 DEVX_WHY_FIELD);
}

int devx_qpc_modify(struct devx_cmd *c, struct hca_qp *qp)
{
	const void *qpc = ifc_cptr(c->in, modify_qp_in, qpc);
	uint32_t mask = HCA_QPM_STATE, opt;
	const struct step *step = steps;
	struct hca_qp_attr attr = { 0 };
	enum hca_qp_state now;
	int err = 0;

	while (step->op != c->row->op)
		step++;
	now = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);
	if (step->from != ANY_STATE && step->from != now)
		return devx_refuse(c, IFC_STATUS_BAD_QP_STATE, DEVX_WHY_STATE,
				   "queue pair 0x%x is in state %u, and this starts from %u",
				   qp->qpn, state_codes[now], state_codes[step->from]);
	attr.state = step->to;
	/* A QP in RESET has no error state. */
	if (step->to == HCA_QPS_ERR && now == HCA_QPS_RESET)
		return devx_refuse(c, IFC_STATUS_BAD_QP_STATE, DEVX_WHY_STATE,
				   "queue pair 0x%x is in the reset state", qp->qpn);
	if (step->from != ANY_STATE) {
		opt = ifc_get(c->in, modify_qp_in, opt_param_mask);
		read_qpc(c, qpc, &attr);
		mask |= required(qp->type, c->row->op) | optional(qp->type, opt);
		if (step->to == HCA_QPS_SQD)
			mask = HCA_QPM_STATE;
		err = modify_other(c, qp, qpc, opt);
	}
	if (err)
		return err;
	return devx_refuse_errno(c, hca_qp_modify(qp, &attr, mask), DEVX_WHY_FIELD);
}

/* ---- the way back ---- */

static uint8_t service(enum hca_qp_type type)
{
	switch (type) {
	case HCA_QP_UC:
		return IFC_QP_ST_UC;
	case HCA_QP_UD:
		return IFC_QP_ST_UD;
	case HCA_QP_XRC_SEND:
	case HCA_QP_XRC_RECV:
		return IFC_QP_ST_XRC;
	case HCA_QP_DCI:
		return IFC_QP_ST_DCI;
	case HCA_QP_RAW:
		return IFC_QP_ST_RAW_DATAGRAM;
	default:
		return IFC_QP_ST_RC;
	}
}

static uint8_t log2_of(uint32_t n)
{
	return n ? __builtin_ctz(n) : 0;
}

static uint8_t log2_up(uint32_t n)
{
	return n > 1 ? 32 - __builtin_clz(n - 1) : 0;
}

static void fill_path(bool ethernet, const struct hca_av *av, void *ads)
{
	ifc_set(ads, ads, grh, av->has_grh);
	ifc_set(ads, ads, src_addr_index, av->sgid_index);
	ifc_set(ads, ads, hop_limit, av->hop_limit);
	ifc_set(ads, ads, tclass, av->traffic_class);
	ifc_set(ads, ads, flow_label, av->flow_label);
	ifc_set(ads, ads, rlid, av->dlid);
	ifc_set(ads, ads, mlid, av->src_path_bits);
	ifc_set(ads, ads, stat_rate, av->static_rate);
	ifc_set(ads, ads, vhca_port_num, av->port);
	if (ethernet) {
		ifc_set(ads, ads, dscp, av->traffic_class >> 2);
		ifc_set(ads, ads, ecn, av->traffic_class);
		ifc_set(ads, ads, eth_prio, av->sl);
		ifc_set(ads, ads, udp_sport, av->udp_sport);
		memcpy(ifc_ptr(ads, ads, rmac), av->dmac, sizeof(av->dmac));
	} else {
		ifc_set(ads, ads, sl, av->sl);
	}
	memcpy(ifc_ptr(ads, ads, rgid_rip), av->dgid.raw, sizeof(av->dgid.raw));
}

static void fill_rings(struct hca_qp *qp, void *qpc)
{
	ifc_set(qpc, qpc, st, service(qp->type));
	ifc_set(qpc, qpc, pd, qp->pd ? qp->pd->pdn : 0);
	ifc_set(qpc, qpc, no_sq, !qp->sq.size);
	ifc_set(qpc, qpc, log_sq_size, log2_of(qp->sq.size));
	ifc_set(qpc, qpc, log_rq_size, log2_of(qp->rq.size));
	ifc_set(qpc, qpc, log_rq_stride, qp->rq.size ? qp->rq.slot_shift - 4 : 0);
	ifc_set(qpc, qpc, rq_type,
		qp->srq ? IFC_RQ_SRQ : (qp->rq.size ? IFC_RQ_REGULAR : IFC_RQ_NONE));
	ifc_set(qpc, qpc, srqn_rmpn_xrqn, qp->srq ? qp->srq->srqn : 0);
	ifc_set(qpc, qpc, cqn_snd, qp->send_cq ? qp->send_cq->cqn : 0);
	ifc_set(qpc, qpc, cqn_rcv, qp->recv_cq ? qp->recv_cq->cqn : 0);
	ifc_set(qpc, qpc, user_index, qp->user_index);
}

static void fill_progress(struct hca_qp *qp, void *qpc)
{
	struct hca_qp_progress p;

	hca_qp_progress(qp, &p);
	if (qp->sq.size) {
		ifc_set(qpc, qpc, sw_sq_wqebb_counter, qp->format->sq_producer(&qp->sq));
		ifc_set(qpc, qpc, hw_sq_wqebb_counter, p.send_index);
		ifc_set(qpc, qpc, last_acked_psn, p.acked_psn);
	}
	if (qp->rq.size) {
		ifc_set(qpc, qpc, sw_rq_counter, qp->format->rq_producer(&qp->rq));
		ifc_set(qpc, qpc, hw_rq_counter, p.recv_index & UINT16_MAX);
	}
	ifc_set(qpc, qpc, rmsn, p.msn);
}

void devx_qpc_fill(const struct hca_adapter *a, struct hca_qp *qp, void *qpc)
{
	bool ethernet = a->ports[0].link == HCA_LINK_ETHERNET;
	void *primary = ifc_ptr(qpc, qpc, primary_address_path);
	struct hca_qp_attr at;

	hca_qp_query(qp, &at);
	fill_rings(qp, qpc);
	ifc_set(qpc, qpc, state, state_codes[at.state]);
	ifc_set(qpc, qpc, pm_state,
		at.path_mig_state == 1   ? IFC_PM_REARM
		: at.path_mig_state == 2 ? IFC_PM_ARMED
					 : IFC_PM_MIGRATED);
	ifc_set(qpc, qpc, dp_ordering_1, qp->out_of_order);
	ifc_set(qpc, qpc, lag_tx_port_affinity, at.lag_port);
	ifc_set(qpc, qpc, mtu, at.path_mtu);
	ifc_set(qpc, qpc, log_msg_max, 30);
	ifc_set(qpc, qpc, q_key, at.qkey);
	ifc_set(qpc, qpc, remote_qpn, at.dest_qpn);
	ifc_set(qpc, qpc, next_rcv_psn, at.rq_psn);
	ifc_set(qpc, qpc, next_send_psn, at.sq_psn);
	ifc_set(qpc, qpc, log_sra_max, log2_up(at.max_rd_atomic));
	ifc_set(qpc, qpc, log_rra_max, log2_up(at.max_dest_rd_atomic));
	ifc_set(qpc, qpc, min_rnr_nak, at.min_rnr_timer);
	ifc_set(qpc, qpc, retry_count, at.retry_cnt);
	ifc_set(qpc, qpc, rnr_retry, at.rnr_retry);
	ifc_set(qpc, qpc, rre, !!(at.access & HCA_ACCESS_REMOTE_READ));
	ifc_set(qpc, qpc, rwe, !!(at.access & HCA_ACCESS_REMOTE_WRITE));
	ifc_set(qpc, qpc, rae, !!(at.access & HCA_ACCESS_REMOTE_ATOMIC));
	if (at.state != HCA_QPS_RESET)
		fill_progress(qp, qpc);
	at.av.port = at.av.port ?: at.port;
	fill_path(ethernet, &at.av, primary);
	ifc_set(primary, ads, pkey_index, at.pkey_index);
	ifc_set(primary, ads, ack_timeout, at.timeout);
}
