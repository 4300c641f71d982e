/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/qp_state.h"

#include <errno.h>
#include <string.h>

#include "cm/conn_types.h"
#include "cm/state.h"
#include "util/explain.h"

static bool is_datagram(const struct cm_id *id)
{
	return id->pub.qp_type == IBV_QPT_UD;
}

static int init_attr(struct cm_id *id, const struct conn_params *params, struct ibv_qp_attr *attr,
		     int *mask)
{
	const struct rdma_cm_id *pub = &id->pub;
	__be16 pkey = pub->route.addr.addr.ibaddr.pkey;
	int pkey_index = ibv_get_pkey_index(pub->verbs, pub->port_num, pkey);

	if (pkey_index < 0)
		return explain(EINVAL, "port %u of the adapter has no P_Key 0x%x", pub->port_num,
			       be16toh(pkey));
	attr->pkey_index = pkey_index;
	attr->port_num = pub->port_num;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (is_datagram(id)) {
		attr->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_QKEY;
		return 0;
	}
	*mask |= IBV_QP_ACCESS_FLAGS;
	if (!params)
		return 0;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (params->responder_resources)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return 0;
}

static bool is_reliable(const struct cm_id *id)
{
	return id->pub.qp_type != IBV_QPT_UC;
}

static void rtr_attr(const struct cm_id *id, const struct conn_params *params,
		     struct ibv_qp_attr *attr, int *mask)
{
	const struct hca_av *av = &params->av;

	attr->ah_attr.port_num = id->pub.port_num;
	attr->ah_attr.dlid = av->dlid;
	attr->ah_attr.sl = av->sl;
	attr->ah_attr.is_global = av->has_grh;
	memcpy(attr->ah_attr.grh.dgid.raw, av->dgid.raw, sizeof(av->dgid.raw));
	attr->ah_attr.grh.sgid_index = av->sgid_index;
	attr->ah_attr.grh.hop_limit = av->hop_limit;
	attr->ah_attr.grh.traffic_class = av->traffic_class;
	attr->ah_attr.grh.flow_label = av->flow_label;
	attr->path_mtu = params->path_mtu;
	attr->dest_qp_num = params->remote_qpn;
	/* Each end announces the PSN that it expects first (the kernel's CM; 12.7.31). */
	attr->rq_psn = params->local_psn;
	*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (is_reliable(id) && id->pub.qp_type != IBV_QPT_XRC_SEND) {
		attr->max_dest_rd_atomic = params->responder_resources;
		attr->min_rnr_timer = 0;
		*mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
}

static void rts_attr(const struct cm_id *id, const struct conn_params *params,
		     struct ibv_qp_attr *attr, int *mask)
{
	attr->sq_psn = params->remote_psn;
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (!is_reliable(id))
		return;
	attr->timeout = id->ack_timeout_set ? id->ack_timeout : params->ack_timeout;
	*mask |= IBV_QP_TIMEOUT;
	if (id->pub.qp_type == IBV_QPT_XRC_RECV)
		return;
	attr->retry_cnt = params->retry_count;
	attr->rnr_retry = params->rnr_retry_count;
	attr->max_rd_atomic = params->initiator_depth;
	*mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
}

/* The connection's numbers, copied: it may end while the QP is being moved. */
static bool get_params(struct cm_id *id, struct conn_params *out)
{
	bool has;

	cm_lock();
	has = id->conn && id->conn->state != CONN_IDLE && id->conn->remote_id;
	if (has)
		*out = id->conn->params;
	cm_unlock();
	return has;
}

int cm_qp_attr(struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	enum ibv_qp_state state = attr->qp_state;
	struct conn_params params = { 0 };
	bool connected = get_params(id, &params);

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	if (is_datagram(id) || !connected)
		return init_attr(id, NULL, attr, mask);
	switch (state) {
	case IBV_QPS_INIT:
		return init_attr(id, &params, attr, mask);
	case IBV_QPS_RTR:
		rtr_attr(id, &params, attr, mask);
		return 0;
	case IBV_QPS_RTS:
		rts_attr(id, &params, attr, mask);
		return 0;
	default:
		return explain(EINVAL,
			       "%u is no QP state to have attributes for; INIT, RTR and RTS "
			       "are",
			       state);
	}
}

static int move(struct cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask, err;

	err = cm_qp_attr(id, &attr, &mask);
	if (err)
		return err;
	/* The program may have chosen other depths than the messages carried. */
	if (state == IBV_QPS_RTR && (mask & IBV_QP_MAX_DEST_RD_ATOMIC))
		attr.max_dest_rd_atomic = id->responder_resources;
	if (state == IBV_QPS_RTS && (mask & IBV_QP_MAX_QP_RD_ATOMIC))
		attr.max_rd_atomic = id->initiator_depth;
	return -ibv_modify_qp(qp, &attr, mask);
}

int cm_qp_to_start(struct cm_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { 0 };
	int err;

	err = move(id, qp, IBV_QPS_INIT);
	if (err || !is_datagram(id))
		return err;
	attr.qp_state = IBV_QPS_RTR;
	err = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	if (err)
		return -err;
	attr.qp_state = IBV_QPS_RTS;
	return -ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int cm_qp_to_rts(struct cm_id *id)
{
	int err;

	err = move(id, id->pub.qp, IBV_QPS_INIT);
	if (!err)
		err = move(id, id->pub.qp, IBV_QPS_RTR);
	if (!err)
		err = move(id, id->pub.qp, IBV_QPS_RTS);
	return err;
}

void cm_qp_to_error(struct cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (id->pub.qp)
		ibv_modify_qp(id->pub.qp, &attr, IBV_QP_STATE);
}
