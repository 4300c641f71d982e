/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A QP has one buffer, the receive queue first and the send queue behind it, a doorbell record, and
 * tables from WQEs back to requests.
 */
#include "mlx5/qp.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "mlx5/dv_sched.h"
#include "mlx5/format.h"
#include "mlx5/geometry.h"
#include "mlx5/send.h"
#include "mlx5/wr.h"
#include "util/explain.h"

int mlx5_check_driver_qp(const void *driver_attr)
{
	const struct mlx5dv_qp_init_attr *extra = driver_attr;

	if (!extra || !(extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC))
		return explain(EINVAL, "IBV_QPT_DRIVER: mlx5dv_create_qp() makes these, with "
				       "MLX5DV_QP_INIT_ATTR_MASK_DC");
	return 0;
}

static enum hca_qp_type adapter_type(const struct ibv_qp_init_attr_ex *attr,
				     const struct mlx5dv_qp_init_attr *extra)
{
	if (attr->qp_type != IBV_QPT_DRIVER)
		return (enum hca_qp_type)attr->qp_type;
	return mlx5_is_dct(extra) ? HCA_QP_DCT : HCA_QP_DCI;
}

static uint32_t create_flags(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? attr->create_flags : 0;
}

#define HASH_IPV4 (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define HASH_IPV6 (IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define HASH_TCP  (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define HASH_UDP  (IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)

/* A QP hashes one kind of address, and one of TCP ports, UDP ports and SPI. */
static int check_hash(const struct ibv_rx_hash_conf *conf)
{
	uint64_t fields = conf->rx_hash_fields_mask;
	const uint64_t known = HASH_IPV4 | HASH_IPV6 | HASH_TCP | HASH_UDP | IBV_RX_HASH_IPSEC_SPI |
			       IBV_RX_HASH_INNER;
	int l4 = !!(fields & HASH_TCP) + !!(fields & HASH_UDP) + !!(fields & IBV_RX_HASH_IPSEC_SPI);

	if (fields & ~known)
		return explain(EOPNOTSUPP, "rx_hash_fields_mask 0x%llx; 0x%llx is known",
			       (unsigned long long)fields, (unsigned long long)known);
	if ((fields & HASH_IPV4 && fields & HASH_IPV6) || l4 > 1)
		return explain(EINVAL,
			       "rx_hash_fields_mask 0x%llx: one of IPv4 and IPv6, and one of TCP, "
			       "UDP and the SPI, can be hashed by a QP",
			       (unsigned long long)fields);
	return 0;
}

static int check_raw(const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_SCATTER_FCS |
			       IBV_QP_CREATE_CVLAN_STRIPPING | IBV_QP_CREATE_PCI_WRITE_END_PADDING;

	if (attr->srq)
		return explain(EINVAL, "a raw packet QP does not receive through an SRQ");
	if (create_flags(attr) & ~flags)
		return explain(EINVAL, "create_flags 0x%x: a raw packet QP has 0x%x",
			       attr->create_flags, flags);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE))
		return 0;
	if (create_flags(attr))
		return explain(EINVAL,
			       "create_flags 0x%x: flags are for queues: set them on "
			       "those in the indirection table",
			       attr->create_flags);
	return check_hash(&attr->rx_hash_conf);
}

/* The checks that depend on the driver; the library has done the others (verbs/qp_check.c). */
static int check_attr(const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t flags =
		IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_PCI_WRITE_END_PADDING;
	const uint32_t raw = IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH;

	if (attr->qp_type == IBV_QPT_RAW_PACKET)
		return check_raw(attr);
	switch (attr->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
	case IBV_QPT_DRIVER:
		break;
	default:
		return explain(EINVAL, "QP type %d is not one of RC, UC, UD, XRC and raw packet",
			       attr->qp_type);
	}
	if (attr->comp_mask & raw)
		return explain(EINVAL,
			       "TSO headers, receive hashing and indirection tables are for "
			       "raw packet QPs only");
	if (create_flags(attr) & ~flags)
		return explain(EINVAL, "create_flags 0x%x: this QP type has none but 0x%x",
			       attr->create_flags, flags);
	return 0;
}

static uint16_t refused_opcodes(const struct mlx5_geometry *geo, enum ibv_qp_type type, bool tso)
{
	uint32_t transport = type == IBV_QPT_UD         ? sizeof(struct mlx5_wqe_datagram_seg)
			     : type == IBV_QPT_DRIVER   ? sizeof(struct mlx5_wqe_datagram_seg)
			     : type == IBV_QPT_XRC_SEND ? sizeof(struct mlx5_wqe_xrc_seg)
							: 0;
	uint16_t refused = 0;

	if (type == IBV_QPT_RAW_PACKET)
		return (uint16_t) ~(1u << IBV_WR_SEND | (tso ? 1u << IBV_WR_TSO : 0));
	for (int op = 0; op < MLX5_OPCODES; op++)
		if (!mlx5_wr_opcodes[op] || (type != IBV_QPT_UD && geo->blocks &&
					     mlx5_operation_size(op) + transport > geo->overhead))
			refused |= 1u << op;
	return refused;
}

static int alloc_tables(struct mlx5_qp *qp, const struct mlx5_geometry *geo)
{
	if (geo->blocks) {
		qp->sq.slots = calloc(geo->blocks, sizeof(*qp->sq.slots));
		if (!qp->sq.slots)
			return -ENOMEM;
	}
	if (geo->rq_size) {
		qp->base.rq.wr_ids = calloc(geo->rq_size, sizeof(*qp->base.rq.wr_ids));
		if (!qp->base.rq.wr_ids) {
			free(qp->sq.slots);
			return -ENOMEM;
		}
	}
	return 0;
}

static void free_tables(struct mlx5_qp *qp)
{
	free(qp->base.rq.wr_ids);
	free(qp->sq.slots);
}

static void init_queues(struct mlx5_qp *qp, const struct ibv_qp_init_attr_ex *attr,
			const struct mlx5_geometry *geo)
{
	struct drv_rq *rq = &qp->base.rq;
	struct mlx5_sq *sq = &qp->sq;

	qp->db = qp->base.ring.record.addr;
	rq->buf = qp->base.ring.buf.addr;
	rq->db = &qp->db[MLX5_RCV_DBR];
	rq->mask = geo->rq_size - 1;
	rq->max_post = geo->rq_size;
	rq->limits = mlx5_recv_limits(geo->rq_max_sge);
	rq->shift = geo->rq_shift;
	if (rq->buf) { /* a queue pair may have neither queue */
		sq->buf = rq->buf + geo->sq_offset;
		sq->end = sq->buf + (size_t)geo->blocks * MLX5_BLOCK_SIZE;
	}
	sq->mask = geo->blocks - 1;
	sq->max_post = geo->max_post;
	sq->max_inline = geo->max_inline;
	sq->max_sge = attr->cap.max_send_sge;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER)
		sq->max_tso_header = attr->max_tso_header;
	sq->refused = refused_opcodes(geo, attr->qp_type, sq->max_tso_header);
	sq->signal_bits = attr->sq_sig_all ? MLX5_WQE_CTRL_CQ_UPDATE : 0;
}

static int alloc_rings(struct mlx5_qp *qp, const struct ibv_qp_init_attr_ex *attr,
		       const struct mlx5_geometry *geo)
{
	const struct drv_ring_types types = { MLX5DV_RES_TYPE_QP, MLX5DV_RES_TYPE_DBR };
	struct drv_ring *ring = &qp->base.ring;
	int err = drv_ring_alloc(ring, &qp->ctx->memory, attr->pd ? to_pd(attr->pd) : NULL,
				 geo->bytes, types);

	if (err)
		return err;
	err = alloc_tables(qp, geo);
	if (err)
		goto free_ring;
	err = mlx5_table_add(&qp->ctx->table, &qp->rsc);
	if (err)
		goto free_tables;
	init_queues(qp, attr, geo);
	return 0;

free_tables:
	free_tables(qp);
free_ring:
	drv_ring_free(ring);
	return err;
}

static void free_rings(struct mlx5_qp *qp)
{
	if (drv_qp_is_bare(&qp->base))
		return;
	mlx5_table_remove(&qp->ctx->table, &qp->rsc);
	free_tables(qp);
	drv_ring_free(&qp->base.ring);
}

/* As rdma-core has it, where such a receive ring has two entries for each that may be posted. */
uint32_t mlx5_out_of_order_most(const struct hca_adapter *adapter, enum ibv_qp_type type)
{
	if (!hca_model_has(adapter->model, HCA_HAS_OUT_OF_ORDER))
		return 0;
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_UD:
		return adapter->limits.max_qp_wr / 2;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
	case IBV_QPT_DRIVER:
		return adapter->limits.max_qp_wr;
	default:
		return 0;
	}
}

static void fill_dc(const struct mlx5dv_qp_init_attr *extra, struct hca_qp_init *init)
{
	assert(extra); /* the library does not create a QP of IBV_QPT_DRIVER without */
	if (init->type == HCA_QP_DCT) {
		init->dc_key = extra->dc_init_attr.dct_access_key;
	} else if (extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS) {
		init->dci_streams = true;
		init->dci_log_errored = extra->dc_init_attr.dci_streams.log_num_errored;
	}
}

static void fill_raw(const struct ibv_qp_init_attr_ex *attr,
		     const struct mlx5dv_qp_init_attr *extra, struct hca_qp_init *init)
{
	if (create_flags(attr) & IBV_QP_CREATE_CVLAN_STRIPPING)
		init->wq_flags |= HCA_WQF_CVLAN_STRIPPING;
	if (!extra || !(extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS))
		return;
	if (extra->create_flags & MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC)
		init->self_lb |= HCA_SELF_LB_UNICAST;
	if (extra->create_flags & MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC)
		init->self_lb |= HCA_SELF_LB_MULTICAST;
}

static int create_hca(struct vb_context *ctx, struct mlx5_qp *qp,
		      const struct ibv_qp_init_attr_ex *attr,
		      const struct mlx5dv_qp_init_attr *extra, const struct mlx5_geometry *geo)
{
	struct hca_qp_init init;
	struct hca_qp *hca;
	int err;

	drv_qp_fill_init(&qp->base, ctx, attr, &init);
	init.format = &mlx5_format;
	init.sq = (struct hca_sq_ring){ .buf = qp->sq.buf,
					.size = geo->blocks,
					.slot_shift = MLX5_SEND_WQE_SHIFT,
					.db = qp->db ? &qp->db[MLX5_SND_DBR] : NULL };
	init.user_index = qp->rsc.index;
	if (attr->qp_type == IBV_QPT_DRIVER)
		fill_dc(extra, &init);
	if (qp->base.type == HCA_QP_RAW)
		fill_raw(attr, extra, &init);
	else if (extra && extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS)
		init.out_of_order = extra->create_flags & MLX5DV_QP_CREATE_OOO_DP;
	err = hca_qp_create(&init, &hca);
	if (err)
		return err;
	qp->base.vb.hca = hca;
	qp->base.qpn = qp->base.rq.number = hca->qpn;
	hca->stop_on_sig_error = extra &&
				 extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS &&
				 extra->create_flags & MLX5DV_QP_CREATE_SIG_PIPELINING;
	hca->wr_ids = qp->sq.slots;
	hca->wr_id_mask = qp->sq.mask;
	hca->sq_posted = &qp->sq.head;
	hca->sq_polled = &qp->sq.tail;
	hca->sq_most = drv_qp_is_bare(&qp->base) ? 0 : qp->sq.max_post;
	hca->wr_id_stride = sizeof(*qp->sq.slots);
	return 0;
}

/* Removes what the type does not have. */
static void drop_queues(enum hca_qp_type type, struct ibv_qp_init_attr_ex *attr)
{
	if (type == HCA_QP_DCI) {
		attr->srq = NULL;
		attr->cap.max_recv_wr = attr->cap.max_recv_sge = 0;
	} else if (type == HCA_QP_DCT || type == HCA_QP_XRC_RECV) {
		attr->cap = (struct ibv_qp_cap){ 0 };
	}
}

static void grant(const struct mlx5_geometry *geo, uint64_t max_sge, struct ibv_qp_cap *cap)
{
	cap->max_send_wr = geo->max_post;
	cap->max_recv_wr = geo->rq_size;
	/* A WQE may have room for more, but programs pass the granted value on to the next QP. */
	cap->max_recv_sge = geo->rq_max_sge < max_sge ? geo->rq_max_sge : (uint32_t)max_sge;
	if (geo->blocks)
		cap->max_inline_data = geo->max_inline;
}

int mlx5_create_qp(struct vb_context *ctx, struct ibv_qp_init_attr_ex *attr, void *driver_attr,
		   struct vb_qp **out)
{
	const struct mlx5dv_qp_init_attr *extra = driver_attr;
	enum hca_qp_type type = adapter_type(attr, extra);
	uint64_t extra_ops = 0;
	struct mlx5_geometry geo;
	struct mlx5_qp *qp;
	int err = check_attr(attr);

	if (err)
		return err;
	drop_queues(type, attr);
	if (extra && extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS)
		extra_ops = extra->send_ops_flags;
	err = mlx5_geometry_compute(attr, extra_ops, &ctx->adapter->limits, &geo);
	if (err)
		return err;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->ctx = mlx5_ctx(ctx);
	qp->rsc.type = MLX5_RSC_QP;
	drv_qp_init(&qp->base, type, attr);
	err = drv_qp_is_bare(&qp->base) ? 0 : alloc_rings(qp, attr, &geo);
	if (err)
		goto free_qp;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		err = mlx5_qp_fill_ex(qp, attr->send_ops_flags, extra_ops);
		if (err)
			goto free_rings;
		qp->base.vb.has_ex = true;
	}
	err = create_hca(ctx, qp, attr, extra, &geo);
	if (err)
		goto free_rings;
	grant(&geo, ctx->adapter->limits.max_sge, &attr->cap);
	*out = &qp->base.vb;
	return 0;

free_rings:
	free_rings(qp);
free_qp:
	free(qp);
	return err;
}

int mlx5_destroy_qp(struct vb_qp *vb)
{
	struct mlx5_qp *qp = container_of(vb, struct mlx5_qp, base.vb);
	int err = hca_qp_destroy(vb->hca);

	if (err)
		return err;
	mlx5_sched_leave(qp);
	drv_qp_purge(&qp->base, &qp->rsc);
	free_rings(qp);
	return 0;
}

int mlx5_open_qp(struct vb_context *ctx, struct hca_qp *hca, struct vb_qp **out)
{
	int err = drv_qp_open(hca, sizeof(struct mlx5_qp), out);

	if (!err)
		container_of(*out, struct mlx5_qp, base.vb)->ctx = mlx5_ctx(ctx);
	return err;
}

void mlx5_reset_qp(struct vb_qp *vb)
{
	struct mlx5_qp *qp = container_of(vb, struct mlx5_qp, base.vb);

	if (drv_qp_is_bare(&qp->base))
		return;
	drv_qp_purge(&qp->base, &qp->rsc);
	fabric_lock(&vb->hca->lock);
	qp->sq.post = 0;
	qp->sq.head = 0;
	qp->sq.fence_next = 0;
	atomic_store_explicit(&qp->sq.tail, 0, memory_order_relaxed);
	drv_record_store(&qp->db[MLX5_SND_DBR], 0);
	fabric_unlock(&vb->hca->lock);
	drv_rq_reset(&qp->base.rq);
}
