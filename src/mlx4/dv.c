/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct verbs: pointers to rings, doorbells and registers of verbs objects.
 */
#include <errno.h>

#include "hca/transport/qp_watch.h"
#include "mlx4/objects.h"
#include "util/explain.h"
#include "verbs/qp.h"

static int check_context(struct ibv_context *context, const char *what)
{
	/*
	 * By model, not by driver table: in a program linked with both drivers, one's table may
	 * hide the other's.
	 */
	if (to_context(context)->adapter->model->driver == HCA_DRIVER_MLX4)
		return 0;
	return explain(EINVAL, "%s belongs to %s, which is not an mlx4 adapter", what,
		       to_context(context)->adapter->name);
}

/*
 * comp_mask asks for additional members; known bits are filled and left set. DPDK passes a CQ's
 * mask uninitialised.
 */
static int check_qp(const struct mlx4dv_obj *obj)
{
	if (!obj->qp.in || !obj->qp.out)
		return explain(EINVAL, "mlx4dv_init_obj: qp.in or qp.out is NULL");
	return check_context(obj->qp.in->context, "the QP");
}

static int check_cq(const struct mlx4dv_obj *obj)
{
	if (!obj->cq.in || !obj->cq.out)
		return explain(EINVAL, "mlx4dv_init_obj: cq.in or cq.out is NULL");
	return check_context(obj->cq.in->context, "the CQ");
}

static int check_srq(const struct mlx4dv_obj *obj)
{
	if (!obj->srq.in || !obj->srq.out)
		return explain(EINVAL, "mlx4dv_init_obj: srq.in or srq.out is NULL");
	return check_context(obj->srq.in->context, "the SRQ");
}

static int check_obj(const struct mlx4dv_obj *obj, uint64_t types)
{
	const uint64_t known = MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ | MLX4DV_OBJ_SRQ | MLX4DV_OBJ_RWQ;
	int err = 0;

	if (types & ~known)
		return explain(EINVAL, "mlx4dv_init_obj: object types 0x%llx; 0x%llx are known",
			       (unsigned long long)types, (unsigned long long)known);
	if (types & MLX4DV_OBJ_RWQ) {
		if (!obj->rwq.in || !obj->rwq.out)
			return explain(EINVAL, "mlx4dv_init_obj: rwq.in or rwq.out is NULL");
		err = check_context(obj->rwq.in->context, "the work queue");
		if (err)
			return err;
	}
	if (types & MLX4DV_OBJ_QP)
		err = check_qp(obj);
	if (!err && types & MLX4DV_OBJ_CQ)
		err = check_cq(obj);
	if (!err && types & MLX4DV_OBJ_SRQ)
		err = check_srq(obj);
	return err;
}

static void get_qp(struct ibv_qp *in, struct mlx4dv_qp *out)
{
	const struct mlx4_qp *qp = to_mqp(in);
	const uint8_t *base = qp->base.ring.buf.addr;

	out->rdb = (__be32 *)qp->base.rq.db;
	out->sdb = (uint32_t *)(qp->ctx->uar + MLX4_SEND_DOORBELL);
	out->doorbell_qpn = htobe32(qp->base.qpn << 8);
	out->sq.wqe_cnt = qp->sq.buf ? qp->sq.mask + 1 : 0;
	out->sq.wqe_shift = qp->sq.shift;
	out->sq.offset = qp->sq.buf ? (int)(qp->sq.buf - base) : 0;
	out->rq.wqe_cnt = qp->base.rq.max_post;
	out->rq.wqe_shift = qp->base.rq.shift;
	out->rq.offset = qp->base.rq.buf ? (int)(qp->base.rq.buf - base) : 0;
	out->buf.buf = qp->base.ring.buf.addr;
	out->buf.length = qp->base.ring.buf.size;
	out->comp_mask &= MLX4DV_QP_MASK_UAR_MMAP_OFFSET;
	if (out->comp_mask)
		out->uar_mmap_offset = 0;
}

static void get_rwq(struct ibv_wq *in, struct mlx4dv_rwq *out)
{
	const struct mlx4_qp *q = to_mwq(in)->queue;

	out->rdb = (__be32 *)q->base.rq.db;
	out->rq.wqe_cnt = q->base.rq.max_post;
	out->rq.wqe_shift = q->base.rq.shift;
	out->rq.offset = (int)(q->base.rq.buf - (const uint8_t *)q->base.ring.buf.addr);
	out->buf.buf = q->base.ring.buf.addr;
	out->buf.length = q->base.ring.buf.size;
	out->comp_mask = 0;
}

static void get_cq(struct ibv_cq *in, struct mlx4dv_cq *out)
{
	struct mlx4_cq *cq = to_mcq(in);

	fabric_lock(&cq->base.lock);
	cq->base.raw = true;
	out->buf.buf = cq->base.ring.buf.addr;
	out->buf.length = cq->base.ring.buf.size;
	out->cqe_cnt = cq->base.mask + 1;
	fabric_unlock(&cq->base.lock);
	out->cqn = cq->base.vb.hca->cqn;
	out->set_ci_db = (__be32 *)&cq->base.db[0];
	out->arm_db = (__be32 *)&cq->base.db[1];
	out->arm_sn = atomic_load_explicit(&cq->base.arm_sn, memory_order_relaxed);
	out->cqe_size = 1u << cq->base.entry_shift;
	out->comp_mask &= MLX4DV_CQ_MASK_UAR;
	if (out->comp_mask)
		out->cq_uar = cq->ctx->uar;
}

static void get_srq(struct ibv_srq *in, struct mlx4dv_srq *out)
{
	struct mlx4_srq *srq = to_msrq(in);

	out->buf.buf = srq->base.ring.buf.addr;
	out->buf.length = srq->base.ring.buf.size;
	out->wqe_shift = srq->base.shift;
	fabric_lock(&srq->base.lock);
	out->head = srq->base.head;
	out->tail = srq->base.tail;
	fabric_unlock(&srq->base.lock);
	out->db = (__be32 *)srq->base.db;
	out->comp_mask = 0;
}

/* The adapter watches the memory that the program is about to write itself. */
static int watch(const struct mlx4dv_obj *obj, uint64_t types)
{
	int err =
		types & MLX4DV_OBJ_QP ? hca_doorbell_watch_qp(to_mqp(obj->qp.in)->base.vb.hca) : 0;

	if (!err && types & MLX4DV_OBJ_CQ)
		err = hca_doorbell_watch_cq(to_mcq(obj->cq.in)->base.vb.hca);
	return err;
}

int mlx4dv_init_obj(struct mlx4dv_obj *obj, uint64_t obj_type)
{
	int err = check_obj(obj, obj_type);

	if (!err)
		err = watch(obj, obj_type);
	if (err)
		return -err;
	if (obj_type & MLX4DV_OBJ_QP)
		get_qp(obj->qp.in, obj->qp.out);
	if (obj_type & MLX4DV_OBJ_CQ)
		get_cq(obj->cq.in, obj->cq.out);
	if (obj_type & MLX4DV_OBJ_SRQ)
		get_srq(obj->srq.in, obj->srq.out);
	if (obj_type & MLX4DV_OBJ_RWQ)
		get_rwq(obj->rwq.in, obj->rwq.out);
	return 0;
}

int mlx4dv_query_device(struct ibv_context *ctx_in, struct mlx4dv_context *attrs_out)
{
	int err = check_context(ctx_in, "the context");

	if (err)
		return -err;
	attrs_out->version = 0;
	attrs_out->max_inl_recv_sz = MLX4_RQ_INLINE_MAX;
	attrs_out->comp_mask = 0;
	return 0;
}

int mlx4dv_set_context_attr(struct ibv_context *context, enum mlx4dv_set_ctx_attr_type attr_type,
			    void *attr)
{
	const struct mlx4dv_ctx_allocators *allocators = attr;
	int err = check_context(context, "the context");

	if (err)
		return -err;
	switch (attr_type) {
	case MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ:
		mlx4_ctx_of(context)->log_wqs_range = *(const uint8_t *)attr;
		return 0;
	case MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS:
		mlx4_ctx_of(context)->memory.allocators =
			(struct vb_allocators){ .alloc = allocators->alloc,
						.free = allocators->free,
						.data = allocators->data };
		return 0;
	default:
		return -explain(EOPNOTSUPP,
				"mlx4dv_set_context_attr: attribute %d; 0 and 1 are known",
				attr_type);
	}
}

struct ibv_qp *mlx4dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				struct mlx4dv_qp_init_attr *mlx4_qp_attr)
{
	int err = check_context(context, "the context");

	if (err) {
		errno = -err;
		return NULL;
	}
	return verbena_create_qp_ex(context, attr, mlx4_qp_attr);
}
