/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: one buffer with both queues, a doorbell record for the receive queue, and the tables
 * that lead from completions back to requests.
 */
#include <errno.h>
#include <stdlib.h>

#include "mlx4/format.h"
#include "mlx4/geometry.h"
#include "mlx4/mlx4.h"
#include "util/explain.h"

static int check_raw(const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_SCATTER_FCS;

	if (attr->srq)
		return explain(EINVAL, "a raw packet QP does not receive through an SRQ");
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return explain(EOPNOTSUPP, "send_ops_flags: a ConnectX-3 has no ibv_wr_*() "
					   "interface");
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags & ~flags)
		return explain(EINVAL, "create_flags 0x%x: a raw packet QP has 0x%x",
			       attr->create_flags, flags);
	return attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE ? mlx4_check_hash(&attr->rx_hash_conf)
							    : 0;
}

/* Nothing that the library checks for us: what is left is what this driver has. */
static int check_attr(const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t raw = IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH;

	switch (attr->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		break;
	case IBV_QPT_RAW_PACKET:
		return check_raw(attr);
	default:
		return explain(EINVAL, "QP type %d is none of RC, UC, UD, XRC and raw packet",
			       attr->qp_type);
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return explain(EOPNOTSUPP,
			       "send_ops_flags: a ConnectX-3 has no ibv_wr_*() interface; "
			       "make the QP without and use ibv_post_send()");
	if (attr->comp_mask & raw)
		return explain(EINVAL,
			       "TSO headers, receive hashing and indirection tables are for "
			       "raw packet QPs only");
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	    attr->create_flags & ~(uint32_t)IBV_QP_CREATE_BLOCK_SELF_MCAST_LB)
		return explain(EINVAL, "create_flags 0x%x: this QP type has none but 0x%x",
			       attr->create_flags, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
	return 0;
}

/* An XRC receive QP has no rings, and may have several handles: nothing belongs to one of them. */
static bool is_bare(const struct mlx4_qp *qp)
{
	return qp->type == HCA_QP_XRC_RECV || qp->rss;
}

static void init_queues(struct mlx4_qp *qp, const struct ibv_qp_init_attr_ex *attr,
			const struct mlx4_geometry *geo)
{
	struct mlx4_sq *sq = &qp->sq;
	struct mlx4_rq *rq = &qp->rq;

	rq->shift = geo->rq_shift;
	if (is_bare(qp))
		return;
	qp->db = qp->record.addr;
	sq->buf = (uint8_t *)qp->buf.addr + geo->sq_offset;
	sq->mask = geo->sq_size - 1;
	sq->shift = geo->sq_shift;
	sq->max_post = geo->max_post;
	sq->max_inline = geo->max_inline;
	sq->max_sge = geo->max_send_sge;
	sq->signal_bits = attr->sq_sig_all ? MLX4_WQE_CTRL_CQ_UPDATE : 0;
	mlx4_sq_stamp(sq);
	rq->buf = (uint8_t *)qp->buf.addr + geo->rq_offset;
	rq->mask = geo->rq_size - 1;
	rq->max_post = geo->rq_size;
	rq->max_sge = geo->max_recv_sge;
}

static int alloc_rings(struct mlx4_qp *qp, struct vb_pd *pd, const struct mlx4_geometry *geo)
{
	struct vb_memory *memory = &qp->ctx->memory;
	int err = verbena_buf_alloc(memory, pd, geo->bytes, 0, &qp->buf);

	if (err)
		return err;
	err = verbena_record_alloc(memory, pd, 0, &qp->record);
	if (err)
		goto free_buf;
	qp->sq.wr_ids = calloc(geo->sq_size + geo->rq_size, sizeof(*qp->sq.wr_ids));
	if (!qp->sq.wr_ids) {
		err = -ENOMEM;
		goto free_record;
	}
	qp->rq.wr_ids = qp->sq.wr_ids + geo->sq_size;
	return 0;

free_record:
	verbena_buf_free(memory, &qp->record);
free_buf:
	verbena_buf_free(memory, &qp->buf);
	return err;
}

static void free_rings(struct mlx4_qp *qp)
{
	if (is_bare(qp))
		return;
	free(qp->sq.wr_ids);
	verbena_buf_free(&qp->ctx->memory, &qp->record);
	verbena_buf_free(&qp->ctx->memory, &qp->buf);
}

static int create_hca(struct vb_context *ctx, struct mlx4_qp *qp,
		      const struct ibv_qp_init_attr_ex *attr, const struct mlx4_geometry *geo)
{
	struct hca_qp_init init = {
		.type = (enum hca_qp_type)attr->qp_type,
		.ctx = &ctx->hca,
		.pd = attr->pd ? to_pd(attr->pd)->hca : NULL,
		.send_cq = qp->send_cq ? qp->send_cq->vb.hca : NULL,
		.recv_cq = qp->recv_cq ? qp->recv_cq->vb.hca : NULL,
		.srq = qp->srq ? qp->srq->vb.hca : NULL,
		.format = &mlx4_format,
		.sq = { .buf = qp->sq.buf, .size = geo->sq_size, .slot_shift = geo->sq_shift },
		.rq = { .buf = qp->rq.buf,
			.size = geo->rq_size,
			.slot_shift = geo->rq_shift,
			.max_sge = geo->max_recv_sge,
			.db = qp->db },
		.sig_all = attr->sq_sig_all,
		.block_self_mcast = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
				    attr->create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
		.user = &qp->vb.qp,
	};
	int err;

	if (attr->xrcd)
		init.xrcd = to_xrcd(attr->xrcd)->number;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	    attr->create_flags & IBV_QP_CREATE_SCATTER_FCS)
		init.wq_flags = HCA_WQF_SCATTER_FCS;
	if (qp->rss) {
		init.ind_table = to_ind_table(attr->rwq_ind_tbl)->hca;
		/* The bits are the public ones. */
		init.rss_fields = (uint32_t)attr->rx_hash_conf.rx_hash_fields_mask;
		init.rss_key = attr->rx_hash_conf.rx_hash_key;
	}
	err = hca_qp_create(&init, &qp->vb.hca);
	if (err)
		return err;
	qp->qpn = qp->vb.hca->qpn;
	if (is_bare(qp))
		return 0;
	qp->vb.hca->wr_ids = qp->sq.wr_ids;
	qp->vb.hca->wr_id_mask = qp->sq.mask;
	qp->vb.hca->wr_id_stride = sizeof(*qp->sq.wr_ids);
	err = hca_table_set(&qp->ctx->qps, qp->qpn, qp);
	if (err)
		hca_qp_destroy(qp->vb.hca);
	return err;
}

static void grant(const struct mlx4_geometry *geo, struct ibv_qp_cap *cap)
{
	cap->max_send_wr = geo->max_post;
	cap->max_send_sge = geo->max_send_sge;
	cap->max_inline_data = geo->max_inline;
	cap->max_recv_wr = geo->rq_size;
	cap->max_recv_sge = geo->max_recv_sge;
}

/* What the direct verbs' call adds. */
static int use_extra(struct mlx4dv_qp_init_attr *extra, uint32_t *inline_recv)
{
	*inline_recv = 0;
	if (!extra)
		return 0;
	if (extra->comp_mask & ~(uint64_t)MLX4DV_QP_INIT_ATTR_MASK_INL_RECV)
		return explain(EINVAL, "comp_mask 0x%llx of mlx4dv_qp_init_attr; 0x%x is known",
			       (unsigned long long)extra->comp_mask,
			       MLX4DV_QP_INIT_ATTR_MASK_INL_RECV);
	if (extra->comp_mask & MLX4DV_QP_INIT_ATTR_MASK_INL_RECV)
		*inline_recv = extra->inl_recv_sz;
	return 0;
}

int mlx4_create_qp(struct vb_context *ctx, struct ibv_qp_init_attr_ex *attr, void *driver_attr,
		   struct vb_qp **out)
{
	struct mlx4dv_qp_init_attr *extra = driver_attr;
	struct mlx4_geometry geo;
	uint32_t inline_recv;
	struct mlx4_qp *qp;
	int err = check_attr(attr);

	if (!err)
		err = use_extra(extra, &inline_recv);
	if (!err && attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE)
		geo = (struct mlx4_geometry){ 0 };
	else if (!err)
		err = mlx4_geometry_compute(attr, inline_recv, &ctx->adapter->limits, &geo);
	if (err)
		return err;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->ctx = mlx4_ctx(ctx);
	qp->type = attr->qp_type;
	qp->rss = attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE;
	qp->send_cq = attr->send_cq ? to_mcq(attr->send_cq) : NULL;
	qp->recv_cq = attr->recv_cq ? to_mcq(attr->recv_cq) : NULL;
	qp->srq = attr->srq ? to_msrq(attr->srq) : NULL;
	err = is_bare(qp) ? 0 : alloc_rings(qp, to_pd(attr->pd), &geo);
	if (err)
		goto free_qp;
	init_queues(qp, attr, &geo);
	err = create_hca(ctx, qp, attr, &geo);
	if (err)
		goto free_rings;
	grant(&geo, &attr->cap);
	if (extra)
		extra->inl_recv_sz = 1u << geo.rq_shift;
	*out = &qp->vb;
	return 0;

free_rings:
	free_rings(qp);
free_qp:
	free(qp);
	return err;
}

static void purge(struct mlx4_qp *qp)
{
	if (qp->recv_cq)
		mlx4_cq_purge(qp->recv_cq, qp, qp->srq);
	if (qp->send_cq && qp->send_cq != qp->recv_cq)
		mlx4_cq_purge(qp->send_cq, qp, NULL);
}

int mlx4_destroy_qp(struct vb_qp *vb)
{
	struct mlx4_qp *qp = container_of(vb, struct mlx4_qp, vb);
	int err = hca_qp_destroy(vb->hca);

	if (err || is_bare(qp))
		return err;
	purge(qp);
	hca_table_set(&qp->ctx->qps, qp->qpn, NULL);
	free_rings(qp);
	return 0;
}

int mlx4_open_qp(struct vb_context *ctx, struct hca_qp *hca, struct vb_qp **out)
{
	struct mlx4_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return -ENOMEM;
	qp->ctx = mlx4_ctx(ctx);
	qp->type = HCA_QP_XRC_RECV;
	qp->qpn = hca->qpn;
	qp->vb.hca = hca;
	*out = &qp->vb;
	return 0;
}

void mlx4_reset_qp(struct vb_qp *vb)
{
	struct mlx4_qp *qp = container_of(vb, struct mlx4_qp, vb);

	if (is_bare(qp))
		return;
	purge(qp);
	fabric_lock(&vb->hca->lock);
	qp->sq.head = 0;
	atomic_store_explicit(&qp->sq.tail, 0, memory_order_relaxed);
	mlx4_sq_stamp(&qp->sq);
	fabric_unlock(&vb->hca->lock);

	fabric_lock(&qp->rq_lock);
	qp->rq.head = 0;
	atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
	mlx4_record_store(qp->db, 0);
	fabric_unlock(&qp->rq_lock);
}

bool mlx4_qp_is_ethernet(const struct mlx4_qp *qp)
{
	const struct hca_adapter *adapter = qp->ctx->vb->adapter;
	struct hca_qp_attr attr;

	if (!qp->vb.hca)
		return true; /* a work queue */
	hca_qp_query(qp->vb.hca, &attr);
	return attr.port && attr.port <= adapter->port_count &&
	       adapter->ports[attr.port - 1].link == HCA_LINK_ETHERNET;
}
