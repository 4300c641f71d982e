/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QPs on ids: created through the verbs API on the id's PD and CQs, and moved to their first states.
 * cm.lock is held only to look the id up; the program serialises its calls on one id.
 */
#include <errno.h>
#include <string.h>

#include "cm/device.h"
#include "cm/id.h"
#include "cm/qp.h"
#include "cm/qp_state.h"
#include "cm/result.h"
#include "util/explain.h"

int cm_id_for_verbs(struct rdma_cm_id *pub, const char *call, struct cm_id **out)
{
	int err;

	err = cm_id_enter_any(pub, call, out);
	if (err)
		return err;
	if (!(*out)->device)
		err = explain(EINVAL,
			      "%s: the id is %s and has no adapter; bind it to an address that is "
			      "no wildcard, or resolve one, first",
			      call, cm_state_name((*out)->state));
	cm_id_leave();
	return err;
}

static int create_cq(struct rdma_cm_id *pub, uint32_t size, struct ibv_comp_channel **channel,
		     struct ibv_cq **cq)
{
	int err;

	*channel = ibv_create_comp_channel(pub->verbs);
	if (!*channel)
		return -errno;
	*cq = ibv_create_cq(pub->verbs, size, pub, *channel, 0);
	if (*cq)
		return 0;
	err = -errno;
	ibv_destroy_comp_channel(*channel);
	*channel = NULL;
	return err;
}

static void destroy_cq(struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	if (*cq)
		ibv_destroy_cq(*cq);
	if (*channel)
		ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

int cm_cqs_create(struct rdma_cm_id *pub, uint32_t send_size, uint32_t recv_size)
{
	int err;

	if (recv_size) {
		err = create_cq(pub, recv_size, &pub->recv_cq_channel, &pub->recv_cq);
		if (err)
			return err;
	}
	if (send_size) {
		err = create_cq(pub, send_size, &pub->send_cq_channel, &pub->send_cq);
		if (err)
			goto destroy_recv;
	}
	return 0;
destroy_recv:
	if (recv_size)
		destroy_cq(&pub->recv_cq_channel, &pub->recv_cq);
	return err;
}

void cm_cqs_destroy(struct rdma_cm_id *pub)
{
	if (pub->qp_type == IBV_QPT_XRC_RECV && pub->srq)
		return;
	destroy_cq(&pub->recv_cq_channel, &pub->recv_cq);
	destroy_cq(&pub->send_cq_channel, &pub->send_cq);
}

/* Enhanced connection establishment is optional; a QP without it has nothing to announce. */
static int learn_ece(struct cm_id *id, struct ibv_qp *qp)
{
	struct ibv_ece ece = { 0 };
	int err = ibv_query_ece(qp, &ece);

	if (err && err != EOPNOTSUPP)
		return -err;
	id->local_ece.vendor_id = err ? 0 : ece.vendor_id;
	id->local_ece.options = err ? 0 : ece.options;
	return 0;
}

static int check_qp_attr(struct rdma_cm_id *pub, const struct ibv_qp_init_attr_ex *attr)
{
	if (pub->qp)
		return explain(EINVAL, "the id has a QP (%u) already; rdma_destroy_qp ends it",
			       pub->qp->qp_num);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) && attr->pd && attr->pd->context != pub->verbs)
		return explain(EINVAL, "the PD is of another context than the id; allocate it on "
				       "id->verbs, or pass none");
	if ((pub->recv_cq && attr->recv_cq && pub->recv_cq != attr->recv_cq) ||
	    (pub->send_cq && attr->send_cq && pub->send_cq != attr->send_cq))
		return explain(EINVAL, "the id has its own CQs; pass those, or none");
	return 0;
}

/*
 * Fills the attributes that the program left open, in place: a program built with older headers
 * passes a shorter struct, so the struct cannot be copied whole.
 */
static int complete_qp_attr(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_cm_id *pub = &id->pub;
	int err;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->pd = pub->pd;
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
	}
	if (pub->qp_type == IBV_QPT_XRC_RECV &&
	    (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !attr->xrcd)) {
		err = cm_device_xrcd(id->device, &attr->xrcd);
		if (err)
			return err;
		attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	}
	if (!attr->send_cq)
		attr->send_cq = pub->send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = pub->recv_cq;
	if (!attr->srq)
		attr->srq = pub->srq;
	return 0;
}

static int create_on_cqs(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp;
	int err;

	err = complete_qp_attr(id, attr);
	if (err)
		return err;
	errno = EOPNOTSUPP;
	qp = ibv_create_qp_ex(id->pub.verbs, attr);
	if (!qp)
		return -errno;
	err = learn_ece(id, qp);
	if (!err)
		err = cm_qp_to_start(id, qp);
	if (err) {
		ibv_destroy_qp(qp);
		return err;
	}
	if (qp->pd) /* an XRC_RECV QP has none */
		id->pub.pd = qp->pd;
	id->pub.qp = qp;
	return 0;
}

static int create_qp(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct rdma_cm_id *pub = &id->pub;
	uint32_t send_size = 0, recv_size = 0;
	struct ibv_cq *send_cq = attr->send_cq, *recv_cq = attr->recv_cq;
	uint32_t comp_mask = attr->comp_mask;
	struct ibv_srq *srq = attr->srq;
	int err;

	err = check_qp_attr(pub, attr);
	if (err)
		return err;
	if (!send_cq && !pub->send_cq)
		send_size = attr->cap.max_send_wr;
	if (!recv_cq && !pub->recv_cq)
		recv_size = attr->cap.max_recv_wr;
	err = cm_cqs_create(pub, send_size, recv_size);
	if (err)
		return err;
	err = create_on_cqs(id, attr);
	if (!err)
		return 0;

	/* The program gets back what it passed; comp_mask says which of the rest counts. */
	attr->comp_mask = comp_mask;
	attr->send_cq = send_cq;
	attr->recv_cq = recv_cq;
	attr->srq = srq;
	if (send_size)
		destroy_cq(&pub->send_cq_channel, &pub->send_cq);
	if (recv_size)
		destroy_cq(&pub->recv_cq_channel, &pub->recv_cq);
	return err;
}

VB_API int rdma_create_qp_ex(struct rdma_cm_id *pub, struct ibv_qp_init_attr_ex *attr)
{
	struct cm_id *id;
	int err;

	err = cm_id_for_verbs(pub, __func__, &id);
	if (!err && !attr)
		err = explain(EINVAL, "rdma_create_qp_ex needs attributes");
	if (!err)
		err = create_qp(id, attr);
	return cm_result(err);
}

VB_API int rdma_create_qp(struct rdma_cm_id *pub, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = { 0 };
	struct cm_id *id;
	int err;

	err = cm_id_for_verbs(pub, __func__, &id);
	if (!err && !attr)
		err = explain(EINVAL, "rdma_create_qp needs attributes");
	if (err)
		return cm_result(err);
	ex.qp_context = attr->qp_context;
	ex.send_cq = attr->send_cq;
	ex.recv_cq = attr->recv_cq;
	ex.srq = attr->srq;
	ex.cap = attr->cap;
	ex.qp_type = attr->qp_type;
	ex.sq_sig_all = attr->sq_sig_all;
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	err = create_qp(id, &ex);
	if (err)
		return cm_result(err);
	attr->send_cq = ex.send_cq;
	attr->recv_cq = ex.recv_cq;
	attr->srq = ex.srq;
	attr->cap = ex.cap;
	return 0;
}

VB_API void rdma_destroy_qp(struct rdma_cm_id *pub)
{
	struct cm_id *id;

	if (cm_id_for_verbs(pub, __func__, &id))
		return;
	if (!pub->qp) {
		explain(EINVAL, "the id has no QP to destroy");
		return;
	}
	ibv_destroy_qp(pub->qp);
	pub->qp = NULL;
	cm_cqs_destroy(pub);
}

VB_API int rdma_init_qp_attr(struct rdma_cm_id *pub, struct ibv_qp_attr *attr, int *mask)
{
	struct cm_id *id;
	int err;

	err = cm_id_for_verbs(pub, __func__, &id);
	if (!err && id->state == CM_REMOVED)
		err = explain(ENXIO, "the id's adapter was removed");
	if (!err && (!attr || !mask))
		err = explain(EINVAL, "rdma_init_qp_attr needs room for attributes and mask");
	if (!err && (unsigned int)attr->qp_state > IBV_QPS_ERR)
		err = explain(EINVAL, "%u is no QP state to have attributes for", attr->qp_state);
	if (!err)
		err = cm_qp_attr(id, attr, mask);
	return cm_result(err);
}
