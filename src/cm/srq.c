/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues on ids. As for QPs, the program serialises its calls.
 */
#include <errno.h>
#include <rdma/rdma_verbs.h>

#include "cm/device.h"
#include "cm/id.h"
#include "cm/qp.h"
#include "cm/result.h"
#include "util/explain.h"

/* An XRC SRQ has a domain and a CQ of its own. *made tells whether the CQ is new. */
static int complete_xrc_attr(struct cm_id *id, struct ibv_srq_init_attr_ex *attr, bool *made)
{
	int err;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd) {
		err = cm_device_xrcd(id->device, &attr->xrcd);
		if (err)
			return err;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq) {
		if (!id->pub.recv_cq) {
			err = cm_cqs_create(&id->pub, 0, attr->attr.max_wr);
			if (err)
				return err;
			*made = true;
		}
		attr->cq = id->pub.recv_cq;
	}
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return 0;
}

static int create_srq(struct cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	struct rdma_cm_id *pub = &id->pub;
	uint32_t comp_mask = attr->comp_mask;
	bool made_cq = false;
	struct ibv_srq *srq;
	int err = 0;

	if (pub->srq)
		return explain(EINVAL, "the id has an SRQ already; rdma_destroy_srq ends it");
	if (!(comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		return explain(EINVAL, "the attributes name no SRQ type; set srq_type and "
				       "IBV_SRQ_INIT_ATTR_TYPE in comp_mask");
	if (!(comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->pd = pub->pd;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	}
	if (attr->srq_type == IBV_SRQT_XRC)
		err = complete_xrc_attr(id, attr, &made_cq);
	if (err)
		goto restore;
	errno = EOPNOTSUPP;
	srq = ibv_create_srq_ex(pub->verbs, attr);
	if (!srq) {
		err = -errno;
		goto restore;
	}
	pub->srq = srq;
	return 0;
restore:
	attr->comp_mask = comp_mask;
	if (made_cq)
		cm_cqs_destroy(pub);
	return err;
}

VB_API int rdma_create_srq_ex(struct rdma_cm_id *pub, struct ibv_srq_init_attr_ex *attr)
{
	struct cm_id *id;
	int err;

	err = cm_id_for_verbs(pub, __func__, &id);
	if (!err && !attr)
		err = explain(EINVAL, "rdma_create_srq_ex needs attributes");
	if (!err)
		err = create_srq(id, attr);
	return cm_result(err);
}

VB_API int rdma_create_srq(struct rdma_cm_id *pub, struct ibv_pd *pd,
			   struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = { 0 };
	struct cm_id *id;
	int err;

	err = cm_id_for_verbs(pub, __func__, &id);
	if (!err && !attr)
		err = explain(EINVAL, "rdma_create_srq needs attributes");
	if (err)
		return cm_result(err);
	ex.srq_context = attr->srq_context;
	ex.attr = attr->attr;
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type = pub->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	ex.pd = pd;
	err = create_srq(id, &ex);
	if (err)
		return cm_result(err);
	attr->attr = ex.attr;
	return 0;
}

VB_API void rdma_destroy_srq(struct rdma_cm_id *pub)
{
	struct cm_id *id;

	if (cm_id_for_verbs(pub, __func__, &id))
		return;
	if (!pub->srq) {
		explain(EINVAL, "the id has no SRQ to destroy");
		return;
	}
	ibv_destroy_srq(pub->srq);
	pub->srq = NULL;
	/* A QP that is still there uses the CQs; they are destroyed with it. */
	if (!pub->qp)
		cm_cqs_destroy(pub);
}
