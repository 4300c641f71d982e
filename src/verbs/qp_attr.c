/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attributes of queue pairs, in the public form and the adapter's. The adapter decides what is
 * allowed when (hca/transport/qp_state.c).
 */
#include "verbs/qp_attr.h"

#include <string.h>

#include "hca/transport/qp_modify.h"
#include "util/explain.h"
#include "verbs/av.h"
#include "verbs/driver.h"
#include "verbs/object_check.h"
#include "verbs/observer.h"
#include "verbs/removal.h"
#include "verbs/result.h"

_Static_assert((int)HCA_QPM_STATE == (int)IBV_QP_STATE && (int)HCA_QPM_AV == (int)IBV_QP_AV &&
		       (int)HCA_QPM_ALT_PATH == (int)IBV_QP_ALT_PATH &&
		       (int)HCA_QPM_DEST_QPN == (int)IBV_QP_DEST_QPN &&
		       (int)HCA_QPM_RATE_LIMIT == (int)IBV_QP_RATE_LIMIT,
	       "attribute bits are the public ones");
_Static_assert((int)HCA_QPS_ERR == (int)IBV_QPS_ERR && (int)HCA_QP_RC == (int)IBV_QPT_RC &&
		       (int)HCA_QP_XRC_RECV == (int)IBV_QPT_XRC_RECV,
	       "states and types are the public ones");

#define MASK_KNOWN ((int)(2 * IBV_QP_DEST_QPN - 1) | IBV_QP_RATE_LIMIT)

static void to_hca(const struct hca_adapter *a, const struct ibv_qp_attr *from, int mask,
		   struct hca_qp_attr *to)
{
	*to = (struct hca_qp_attr){
		.state = (enum hca_qp_state)from->qp_state,
		.cur_state = (enum hca_qp_state)from->cur_qp_state,
		.path_mtu = from->path_mtu,
		.path_mig_state = from->path_mig_state,
		.qkey = from->qkey,
		.rq_psn = from->rq_psn,
		.sq_psn = from->sq_psn,
		.dest_qpn = from->dest_qp_num,
		/* Programs also pass access flags that only regions have; they are ignored. */
		.access = from->qp_access_flags & ~(IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |
						    IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE),
		.pkey_index = from->pkey_index,
		.alt_pkey_index = from->alt_pkey_index,
		.en_sqd_notify = from->en_sqd_async_notify,
		.max_rd_atomic = from->max_rd_atomic,
		.max_dest_rd_atomic = from->max_dest_rd_atomic,
		.min_rnr_timer = from->min_rnr_timer,
		.port = from->port_num,
		.timeout = from->timeout,
		.retry_cnt = from->retry_cnt,
		.rnr_retry = from->rnr_retry,
		.alt_port = from->alt_port_num,
		.alt_timeout = from->alt_timeout,
		.rate_limit = from->rate_limit,
	};
	/* A value too large for the adapter's narrower field must not become a valid one. */
	if ((mask & IBV_QP_PATH_MTU) && (unsigned int)from->path_mtu > IBV_MTU_4096)
		to->path_mtu = UINT8_MAX;
	if ((mask & IBV_QP_PATH_MIG_STATE) && (unsigned int)from->path_mig_state > IBV_MIG_ARMED)
		to->path_mig_state = UINT8_MAX;
	if (mask & IBV_QP_AV)
		vb_av_fill(a, &from->ah_attr, &to->av);
	if (mask & IBV_QP_ALT_PATH)
		vb_av_fill(a, &from->alt_ah_attr, &to->alt_av);
}

static int check(const struct hca_adapter *a, const struct ibv_qp_attr *attr, int mask,
		 bool connected)
{
	int err = 0;

	if (mask & ~MASK_KNOWN)
		return explain(EOPNOTSUPP, "ibv_modify_qp: attr_mask 0x%x has unknown bits 0x%x",
			       mask, mask & ~MASK_KNOWN);
	if ((mask & IBV_QP_STATE) && (unsigned int)attr->qp_state > IBV_QPS_ERR)
		return explain(EINVAL, "ibv_modify_qp: state %d is unknown", (int)attr->qp_state);
	if ((mask & IBV_QP_CUR_STATE) && (unsigned int)attr->cur_qp_state > IBV_QPS_ERR)
		return explain(EINVAL, "ibv_modify_qp: current state %d is unknown",
			       (int)attr->cur_qp_state);
	/* Requests of driver QPs (DCI) have the address themselves. */
	if ((mask & IBV_QP_AV) && connected)
		err = vb_av_check(a, &attr->ah_attr);
	if (!err && (mask & IBV_QP_ALT_PATH))
		err = vb_av_check(a, &attr->alt_ah_attr);
	return err;
}

/* An RSS queue pair has no queues and no states, but on a ConnectX-3 those up to RTR. */
static int check_rss(const struct hca_adapter *a, const struct ibv_qp_attr *attr, int mask)
{
	if (a->model->driver != HCA_DRIVER_MLX4)
		return explain(EOPNOTSUPP,
			       "ibv_modify_qp: an RSS queue pair has no states and no attributes");
	if ((mask & ~(IBV_QP_STATE | IBV_QP_PORT)) || (unsigned int)attr->qp_state > IBV_QPS_RTR)
		return explain(EOPNOTSUPP,
			       "ibv_modify_qp: attr_mask 0x%x and state %d; an RSS queue pair "
			       "takes a port, and states up to RTR",
			       mask, (int)attr->qp_state);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *public, struct ibv_qp_attr *attr, int mask)
{
	struct vb_context *ctx = to_context(public->context);
	struct vb_qp *qp = to_qp(public);
	struct hca_qp_attr to;
	int err = vb_check_present(public->context);

	if (!err)
		err = vb_check_qp(public, EINVAL, "ibv_modify_qp");
	if (!err && qp->hca->rss)
		err = check_rss(ctx->adapter, attr, mask);
	if (!err)
		err = check(ctx->adapter, attr, mask, public->qp_type != IBV_QPT_DRIVER);
	if (err)
		return vb_result(err);
	to_hca(ctx->adapter, attr, mask, &to);
	err = hca_qp_modify(qp->hca, &to, mask);
	vb_observe(qp_modified, qp, attr, mask, err);
	if (err)
		return vb_result(err);
	if (qp->ece_set) {
		qp->ece_set = 0;
		qp->ece_got = 0; /* the adapter has no options to agree on */
	}
	if (mask & IBV_QP_STATE) {
		if (attr->qp_state == IBV_QPS_RESET)
			ctx->driver->reset_qp(qp);
		public->state = attr->qp_state;
	}
	return 0;
}

int ibv_query_qp(struct ibv_qp *public, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct vb_qp *qp = to_qp(public);
	struct hca_qp_attr from;
	int err = vb_check_present(public->context);

	if (!err)
		err = vb_check_qp(public, EINVAL, "ibv_query_qp");
	if (err)
		return vb_result(err);
	if (qp->hca->rss)
		return vb_result(
			explain(EOPNOTSUPP, "ibv_query_qp: an RSS queue pair has no attributes"));
	hca_qp_query(qp->hca, &from);
	*init = (struct ibv_qp_init_attr){
		.qp_context = public->qp_context,
		.send_cq = public->send_cq,
		.recv_cq = public->recv_cq,
		.srq = public->srq,
		.cap = qp->cap,
		.qp_type = public->qp_type,
		.sq_sig_all = qp->sig_all,
	};
	*attr = (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)from.state,
		.cur_qp_state = (enum ibv_qp_state)from.cur_state,
		.path_mtu = from.path_mtu,
		.path_mig_state = from.path_mig_state,
		.qkey = from.qkey,
		.rq_psn = from.rq_psn,
		.sq_psn = from.sq_psn,
		.dest_qp_num = from.dest_qpn,
		.qp_access_flags = from.access,
		.cap = qp->cap,
		.pkey_index = from.pkey_index,
		.alt_pkey_index = from.alt_pkey_index,
		.en_sqd_async_notify = from.en_sqd_notify,
		.sq_draining = from.sq_draining,
		.max_rd_atomic = from.max_rd_atomic,
		.max_dest_rd_atomic = from.max_dest_rd_atomic,
		.min_rnr_timer = from.min_rnr_timer,
		.port_num = from.port,
		.timeout = from.timeout,
		.retry_cnt = from.retry_cnt,
		.rnr_retry = from.rnr_retry,
		.alt_port_num = from.alt_port,
		.alt_timeout = from.alt_timeout,
		.rate_limit = from.rate_limit,
	};
	vb_av_show(&from.av, &attr->ah_attr);
	vb_av_show(&from.alt_av, &attr->alt_ah_attr);
	if (mask & IBV_QP_STATE)
	public->state = attr->qp_state;
	return 0;
}

int vb_modify_qp_rate_limit(struct ibv_qp *public, struct ibv_qp_rate_limit_attr *attr)
{
	const struct hca_adapter *a = to_context(public->context)->adapter;
	struct hca_qp_attr to = { .rate_limit = attr->rate_limit, .burst = attr->max_burst_sz };
	int err;

	if (a->model->driver == HCA_DRIVER_MLX4)
		return vb_result(explain(
			EOPNOTSUPP, "ibv_modify_qp_rate_limit: %s does not pace packets", a->name));
	if (attr->comp_mask)
		return vb_result(explain(EINVAL,
					 "ibv_modify_qp_rate_limit: comp_mask 0x%x; no bit is "
					 "known",
					 attr->comp_mask));
	if ((attr->max_burst_sz || attr->typical_pkt_sz) && !attr->rate_limit)
		return vb_result(explain(EINVAL,
					 "ibv_modify_qp_rate_limit: max_burst_sz %u and "
					 "typical_pkt_sz %u need a rate_limit",
					 attr->max_burst_sz, attr->typical_pkt_sz));
	err = vb_check_qp(public, EINVAL, "ibv_modify_qp_rate_limit");
	if (!err)
		err = hca_qp_modify(to_qp(public)->hca, &to, HCA_QPM_RATE_LIMIT);
	return vb_result(err);
}

/*
 * Never: the last byte of a message is written last, but the bytes before it may be copied in any order
 * (by the kernel, or with non-temporal stores).
 */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0;
}

int ibv_set_ece(struct ibv_qp *public, struct ibv_ece *ece)
{
	const struct hca_adapter *a = to_context(public->context)->adapter;

	if (!ece->vendor_id || a->model->driver == HCA_DRIVER_MLX4)
		return vb_result(explain(EOPNOTSUPP, "ibv_set_ece: %s",
					 ece->vendor_id ? "the adapter has no such options"
							: "vendor 0 means that there are none"));
	if (ece->comp_mask)
		return vb_result(explain(EINVAL, "ibv_set_ece: comp_mask 0x%x; no bit is known",
					 ece->comp_mask));
	if (ece->vendor_id != HCA_PCI_VENDOR_ID)
		return vb_result(explain(EINVAL, "ibv_set_ece: vendor 0x%x; the adapter's is 0x%x",
					 ece->vendor_id, HCA_PCI_VENDOR_ID));
	to_qp(public)->ece_set = ece->options;
	to_qp(public)->ece_got = 0;
	return 0;
}

int ibv_query_ece(struct ibv_qp *public, struct ibv_ece *ece)
{
	const struct hca_adapter *a = to_context(public->context)->adapter;

	if (a->model->driver == HCA_DRIVER_MLX4)
		return vb_result(
			explain(EOPNOTSUPP, "ibv_query_ece: %s has no ECE options", a->name));
	*ece = (struct ibv_ece){ .vendor_id = HCA_PCI_VENDOR_ID,
				 .options = to_qp(public)->ece_got };
	return 0;
}
