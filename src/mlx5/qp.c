/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: one buffer with the receive queue first and the send queue behind it, a doorbell
 * record, and the tables that lead from completions back to requests.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5/dv.h"
#include "mlx5/format.h"
#include "mlx5/geometry.h"
#include "mlx5/send.h"

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

/* The adapter hashes one kind of address, and one of ports or the SPI, at a time. */
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
			       "create_flags 0x%x: flags are for queues, and belong to "
			       "those in the indirection table",
			       attr->create_flags);
	return check_hash(&attr->rx_hash_conf);
}

/* Nothing that the library checks for us: what is left is what this driver has. */
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
		return explain(EINVAL, "QP type %d is none of RC, UC, UD, XRC and raw packet",
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

/*
 * An XRC receive QP has no rings, and may have several handles: nothing belongs to one of them. A DC
 * target has none either, nor has a QP that hashes over a table.
 */
static bool is_bare(const struct mlx5_qp *qp)
{
	return qp->type == HCA_QP_XRC_RECV || qp->type == HCA_QP_DCT || qp->rss;
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
		qp->rq.wr_ids = calloc(geo->rq_size, sizeof(*qp->rq.wr_ids));
		if (!qp->rq.wr_ids) {
			free(qp->sq.slots);
			return -ENOMEM;
		}
	}
	return 0;
}

static void free_tables(struct mlx5_qp *qp)
{
	free(qp->rq.wr_ids);
	free(qp->sq.slots);
}

static void init_queues(struct mlx5_qp *qp, const struct ibv_qp_init_attr_ex *attr,
			const struct mlx5_geometry *geo)
{
	struct mlx5_sq *sq = &qp->sq;
	struct mlx5_rq *rq = &qp->rq;

	if (is_bare(qp))
		return;
	qp->db = qp->record.addr;
	rq->buf = qp->buf.addr;
	rq->mask = geo->rq_size - 1;
	rq->max_post = geo->rq_size;
	rq->max_sge = geo->rq_max_sge;
	rq->shift = geo->rq_shift;
	sq->buf = rq->buf + geo->sq_offset;
	sq->end = sq->buf + (size_t)geo->blocks * MLX5_BLOCK_SIZE;
	sq->mask = geo->blocks - 1;
	sq->max_post = geo->max_post;
	sq->max_inline = geo->max_inline;
	sq->max_sge = attr->cap.max_send_sge;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER)
		sq->max_tso_header = attr->max_tso_header;
	sq->refused = refused_opcodes(geo, attr->qp_type, sq->max_tso_header);
	sq->signal_bits = attr->sq_sig_all ? MLX5_WQE_CTRL_CQ_UPDATE : 0;
}

static void fill_dc(const struct mlx5dv_qp_init_attr *extra, struct hca_qp_init *init)
{
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
	uint32_t flags = create_flags(attr);

	if (flags & IBV_QP_CREATE_CVLAN_STRIPPING)
		init->wq_flags |= HCA_WQF_CVLAN_STRIPPING;
	if (flags & IBV_QP_CREATE_SCATTER_FCS)
		init->wq_flags |= HCA_WQF_SCATTER_FCS;
	if (extra && extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS) {
		if (extra->create_flags & MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC)
			init->self_lb |= HCA_SELF_LB_UNICAST;
		if (extra->create_flags & MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC)
			init->self_lb |= HCA_SELF_LB_MULTICAST;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE))
		return;
	init->ind_table = to_ind_table(attr->rwq_ind_tbl)->hca;
	/* The bits are the public ones. */
	init->rss_fields = (uint32_t)attr->rx_hash_conf.rx_hash_fields_mask;
	init->rss_key = attr->rx_hash_conf.rx_hash_key;
}

static void fill_init(struct vb_context *ctx, struct mlx5_qp *qp,
		      const struct ibv_qp_init_attr_ex *attr,
		      const struct mlx5dv_qp_init_attr *extra, const struct mlx5_geometry *geo,
		      struct hca_qp_init *init)
{
	*init = (struct hca_qp_init){
		.type = qp->type,
		.ctx = &ctx->hca,
		.pd = attr->pd ? to_pd(attr->pd)->hca : NULL,
		.send_cq = qp->send_cq ? qp->send_cq->vb.hca : NULL,
		.recv_cq = qp->recv_cq ? qp->recv_cq->vb.hca : NULL,
		.srq = qp->srq ? qp->srq->vb.hca : NULL,
		.format = &mlx5_format,
		.sq = { .buf = qp->sq.buf, .size = geo->blocks, .slot_shift = MLX5_SEND_WQE_SHIFT },
		.rq = { .buf = qp->rq.buf,
			.size = geo->rq_size,
			.slot_shift = geo->rq_shift,
			.max_sge = geo->rq_max_sge },
		.sig_all = attr->sq_sig_all,
		.block_self_mcast = create_flags(attr) & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
		.user_index = qp->rsc.index,
		.user = &qp->vb.qp,
	};
	if (attr->qp_type == IBV_QPT_DRIVER)
		fill_dc(extra, init);
	if (qp->type == HCA_QP_RAW)
		fill_raw(attr, extra, init);
	if (is_bare(qp)) {
		init->xrcd = attr->xrcd ? to_xrcd(attr->xrcd)->number : 0;
		return;
	}
	init->sq.db = &qp->db[MLX5_SND_DBR];
	init->rq.db = &qp->db[MLX5_RCV_DBR];
}

static int alloc_qp(struct vb_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		    enum hca_qp_type type, const struct mlx5_geometry *geo, struct mlx5_qp **out)
{
	struct vb_pd *pd = attr->pd ? to_pd(attr->pd) : NULL;
	struct mlx5_qp *qp = calloc(1, sizeof(*qp));
	int err;

	if (!qp)
		return -ENOMEM;
	qp->ctx = mlx5_ctx(ctx);
	qp->type = type;
	qp->rsc.type = MLX5_RSC_QP;
	qp->rss = attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE;
	*out = qp;
	if (is_bare(qp))
		return 0;
	err = verbena_buf_alloc(&qp->ctx->memory, pd, geo->bytes, MLX5DV_RES_TYPE_QP, &qp->buf);
	if (err)
		goto free_qp;
	err = verbena_record_alloc(&qp->ctx->memory, pd, MLX5DV_RES_TYPE_DBR, &qp->record);
	if (err)
		goto free_buf;
	err = alloc_tables(qp, geo);
	if (err)
		goto free_record;
	err = mlx5_table_add(&qp->ctx->table, &qp->rsc);
	if (err)
		goto free_tables;
	return 0;

free_tables:
	free_tables(qp);
free_record:
	verbena_buf_free(&qp->ctx->memory, &qp->record);
free_buf:
	verbena_buf_free(&qp->ctx->memory, &qp->buf);
free_qp:
	free(qp);
	return err;
}

static void free_rings(struct mlx5_qp *qp)
{
	if (is_bare(qp))
		return;
	mlx5_table_remove(&qp->ctx->table, &qp->rsc);
	free_tables(qp);
	verbena_buf_free(&qp->ctx->memory, &qp->record);
	verbena_buf_free(&qp->ctx->memory, &qp->buf);
}

int mlx5_create_qp(struct vb_context *ctx, struct ibv_qp_init_attr_ex *attr, void *driver_attr,
		   struct vb_qp **out)
{
	const struct mlx5dv_qp_init_attr *extra = driver_attr;
	enum hca_qp_type type = adapter_type(attr, extra);
	uint64_t extra_ops = 0;
	struct mlx5_geometry geo;
	struct hca_qp_init init;
	struct mlx5_qp *qp;
	int err = check_attr(attr);

	if (err)
		return err;
	switch (type) {
	case HCA_QP_DCI:
		attr->srq = NULL; /* it receives nothing */
		attr->cap.max_recv_wr = attr->cap.max_recv_sge = 0;
		break;
	case HCA_QP_DCT:
	case HCA_QP_XRC_RECV:
		attr->cap = (struct ibv_qp_cap){ 0 };
		break;
	default:
		break;
	}
	if (extra && extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS)
		extra_ops = extra->send_ops_flags;
	err = mlx5_geometry_compute(attr, extra_ops, &ctx->adapter->limits, &geo);
	if (err)
		return err;
	err = alloc_qp(ctx, attr, type, &geo, &qp);
	if (err)
		return err;
	qp->send_cq = attr->send_cq ? to_mcq(attr->send_cq) : NULL;
	qp->recv_cq = attr->recv_cq ? to_mcq(attr->recv_cq) : NULL;
	qp->srq = attr->srq ? to_msrq(attr->srq) : NULL;
	init_queues(qp, attr, &geo);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		err = mlx5_qp_fill_ex(qp, attr->send_ops_flags, extra_ops);
		if (err)
			goto free;
		qp->vb.has_ex = true;
	}
	fill_init(ctx, qp, attr, extra, &geo, &init);
	err = hca_qp_create(&init, &qp->vb.hca);
	if (err)
		goto free;
	qp->qpn = qp->vb.hca->qpn;
	qp->vb.hca->wr_ids = qp->sq.slots;
	qp->vb.hca->wr_id_mask = qp->sq.mask;
	qp->vb.hca->wr_id_stride = sizeof(*qp->sq.slots);
	attr->cap.max_send_wr = geo.max_post;
	attr->cap.max_recv_wr = geo.rq_size;
	/* An entry has room for more, but what is granted here must do for the next queue pair. */
	attr->cap.max_recv_sge = geo.rq_max_sge < ctx->adapter->limits.max_sge
					 ? geo.rq_max_sge
					 : (uint32_t)ctx->adapter->limits.max_sge;
	if (geo.blocks)
		attr->cap.max_inline_data = geo.max_inline;
	*out = &qp->vb;
	return 0;

free:
	free_rings(qp);
	free(qp);
	return err;
}

static void purge(struct mlx5_qp *qp)
{
	if (qp->recv_cq)
		mlx5_cq_purge(qp->recv_cq, &qp->rsc, qp->srq);
	if (qp->send_cq && qp->send_cq != qp->recv_cq)
		mlx5_cq_purge(qp->send_cq, &qp->rsc, NULL);
}

int mlx5_destroy_qp(struct vb_qp *vb)
{
	struct mlx5_qp *qp = container_of(vb, struct mlx5_qp, vb);
	int err = hca_qp_destroy(vb->hca);

	if (err)
		return err;
	mlx5_sched_leave(qp);
	purge(qp);
	free_rings(qp);
	return 0;
}

int mlx5_open_qp(struct vb_context *ctx, struct hca_qp *hca, struct vb_qp **out)
{
	struct mlx5_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return -ENOMEM;
	qp->ctx = mlx5_ctx(ctx);
	qp->type = HCA_QP_XRC_RECV;
	qp->qpn = hca->qpn;
	qp->vb.hca = hca;
	*out = &qp->vb;
	return 0;
}

void mlx5_reset_qp(struct vb_qp *vb)
{
	struct mlx5_qp *qp = container_of(vb, struct mlx5_qp, vb);

	if (is_bare(qp))
		return;
	purge(qp);
	fabric_lock(&vb->hca->lock);
	qp->sq.post = 0;
	qp->sq.head = 0;
	qp->sq.fence_next = 0;
	atomic_store_explicit(&qp->sq.tail, 0, memory_order_relaxed);
	mlx5_record_store(&qp->db[MLX5_SND_DBR], 0);
	fabric_unlock(&vb->hca->lock);

	fabric_lock(&qp->rq_lock);
	qp->rq.head = 0;
	atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
	mlx5_record_store(&qp->db[MLX5_RCV_DBR], 0);
	fabric_unlock(&qp->rq_lock);
}
