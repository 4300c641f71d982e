/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A QP has one buffer with both queues, a doorbell record for the receive queue, and tables from
 * WQEs back to requests.
 */
#include "mlx4/qp.h"

#include <errno.h>
#include <stdlib.h>

#include "mlx4/encode.h"
#include "mlx4/format.h"
#include "mlx4/geometry.h"
#include "mlx4/wq.h"
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

/* The checks that depend on the driver; the library has done the others (verbs/qp_check.c). */
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
		return explain(EINVAL, "QP type %d is not one of RC, UC, UD, XRC and raw packet",
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

static void init_queues(struct mlx4_qp *qp, const struct ibv_qp_init_attr_ex *attr,
			const struct mlx4_geometry *geo)
{
	struct drv_ring *ring = &qp->base.ring;
	struct drv_rq *rq = &qp->base.rq;
	struct mlx4_sq *sq = &qp->sq;

	sq->buf = (uint8_t *)ring->buf.addr + geo->sq_offset;
	sq->mask = geo->sq_size - 1;
	sq->shift = geo->sq_shift;
	sq->max_post = geo->max_post;
	sq->max_inline = geo->max_inline;
	sq->max_sge = geo->max_send_sge;
	sq->signal_bits = attr->sq_sig_all ? MLX4_WQE_CTRL_CQ_UPDATE : 0;
	mlx4_sq_stamp(sq);
	rq->buf = (uint8_t *)ring->buf.addr + geo->rq_offset;
	rq->db = ring->record.addr;
	rq->mask = geo->rq_size - 1;
	rq->max_post = geo->rq_size;
	rq->limits = mlx4_recv_limits(geo->max_recv_sge);
}

static int alloc_rings(struct mlx4_qp *qp, const struct ibv_qp_init_attr_ex *attr,
		       const struct mlx4_geometry *geo)
{
	int err = drv_ring_alloc(&qp->base.ring, &qp->ctx->memory, to_pd(attr->pd), geo->bytes,
				 (struct drv_ring_types){ 0 });

	if (err)
		return err;
	/* One more: a QP may have neither queue, and NULL means that there is no memory. */
	qp->sq.wr_ids = calloc(geo->sq_size + geo->rq_size + 1, sizeof(*qp->sq.wr_ids));
	if (!qp->sq.wr_ids) {
		drv_ring_free(&qp->base.ring);
		return -ENOMEM;
	}
	qp->base.rq.wr_ids = qp->sq.wr_ids + geo->sq_size;
	init_queues(qp, attr, geo);
	return 0;
}

static void free_rings(struct mlx4_qp *qp)
{
	if (drv_qp_is_bare(&qp->base))
		return;
	free(qp->sq.wr_ids);
	drv_ring_free(&qp->base.ring);
}

static int create_hca(struct vb_context *ctx, struct mlx4_qp *qp,
		      const struct ibv_qp_init_attr_ex *attr, const struct mlx4_geometry *geo)
{
	struct hca_qp_init init;
	struct hca_qp *hca;
	int err;

	drv_qp_fill_init(&qp->base, ctx, attr, &init);
	init.format = &mlx4_format;
	init.sq = (struct hca_sq_ring){ .buf = qp->sq.buf,
					.size = geo->sq_size,
					.slot_shift = geo->sq_shift };
	err = hca_qp_create(&init, &hca);
	if (err)
		return err;
	qp->base.vb.hca = hca;
	qp->base.qpn = qp->base.rq.number = hca->qpn;
	if (drv_qp_is_bare(&qp->base))
		return 0;
	hca->wr_ids = qp->sq.wr_ids;
	hca->wr_id_mask = qp->sq.mask;
	hca->sq_posted = &qp->sq.head;
	hca->sq_polled = &qp->sq.tail;
	hca->sq_most = qp->sq.max_post;
	hca->wr_id_stride = sizeof(*qp->sq.wr_ids);
	err = hca_table_set(&qp->ctx->qps, hca->qpn, qp);
	if (err)
		hca_qp_destroy(hca);
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

/* The attributes of mlx4dv_create_qp(). */
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
	drv_qp_init(&qp->base, (enum hca_qp_type)attr->qp_type, attr);
	qp->base.rq.shift = geo.rq_shift;
	err = drv_qp_is_bare(&qp->base) ? 0 : alloc_rings(qp, attr, &geo);
	if (err)
		goto free_qp;
	err = create_hca(ctx, qp, attr, &geo);
	if (err)
		goto free_rings;
	grant(&geo, &attr->cap);
	if (extra)
		extra->inl_recv_sz = 1u << geo.rq_shift;
	*out = &qp->base.vb;
	return 0;

free_rings:
	free_rings(qp);
free_qp:
	free(qp);
	return err;
}

int mlx4_destroy_qp(struct vb_qp *vb)
{
	struct mlx4_qp *qp = container_of(vb, struct mlx4_qp, base.vb);
	int err = hca_qp_destroy(vb->hca);

	if (err || drv_qp_is_bare(&qp->base))
		return err;
	drv_qp_purge(&qp->base, qp);
	hca_table_set(&qp->ctx->qps, qp->base.qpn, NULL);
	free_rings(qp);
	return 0;
}

int mlx4_open_qp(struct vb_context *ctx, struct hca_qp *hca, struct vb_qp **out)
{
	int err = drv_qp_open(hca, sizeof(struct mlx4_qp), out);

	if (!err)
		container_of(*out, struct mlx4_qp, base.vb)->ctx = mlx4_ctx(ctx);
	return err;
}

void mlx4_reset_qp(struct vb_qp *vb)
{
	struct mlx4_qp *qp = container_of(vb, struct mlx4_qp, base.vb);

	if (drv_qp_is_bare(&qp->base))
		return;
	drv_qp_purge(&qp->base, qp);
	fabric_lock(&vb->hca->lock);
	qp->sq.head = 0;
	atomic_store_explicit(&qp->sq.tail, 0, memory_order_relaxed);
	mlx4_sq_stamp(&qp->sq);
	fabric_unlock(&vb->hca->lock);
	drv_rq_reset(&qp->base.rq);
}

bool mlx4_qp_is_ethernet(const struct mlx4_qp *qp)
{
	const struct hca_adapter *adapter = qp->ctx->vb->adapter;
	struct hca_qp_attr attr;

	if (!qp->base.vb.hca)
		return true; /* a work queue */
	hca_qp_query(qp->base.vb.hca, &attr);
	return attr.port && attr.port <= adapter->port_count &&
	       adapter->ports[attr.port - 1].link == HCA_LINK_ETHERNET;
}
