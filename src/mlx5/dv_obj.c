/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5dv_init_obj(): pointers to the rings of verbs objects.
 */
#include <errno.h>

#include "hca/device/checker.h"
#include "hca/memory/dm.h"
#include "hca/queue/cq.h"
#include "hca/queue/cq_alias.h"
#include "hca/queue/doorbell_trap.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/queue/uar.h"
#include "hca/transport/qp_watch.h"
#include "mlx5/cq.h"
#include "mlx5/devx_types.h"
#include "mlx5/dv.h"
#include "mlx5/objects.h"
#include "util/explain.h"

#define KNOWN                                                                                      \
	(MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_SRQ | MLX5DV_OBJ_DM | MLX5DV_OBJ_AH |          \
	 MLX5DV_OBJ_PD | MLX5DV_OBJ_RWQ | MLX5DV_OBJ_DEVX)

static void fill_qp(struct ibv_qp *ibqp, struct mlx5dv_qp *out)
{
	const struct mlx5_qp *qp = to_mqp(ibqp);
	uint64_t wanted = out->comp_mask;

	out->comp_mask = 0;
	out->dbrec = (__be32 *)qp->db;
	out->sq.buf = qp->sq.buf;
	out->sq.wqe_cnt = qp->sq.buf ? qp->sq.mask + 1 : 0;
	out->sq.stride = MLX5_BLOCK_SIZE;
	out->rq.buf = qp->base.rq.buf;
	out->rq.wqe_cnt = qp->base.rq.max_post ? qp->base.rq.mask + 1 : 0;
	out->rq.stride = qp->base.rq.max_post ? 1u << qp->base.rq.shift : 0;
	out->bf.reg = qp->ctx->uar_page + MLX5_UAR_BF_OFFSET;
	/* A copy of an entry to the page may be a trap for each of its words (hca/queue/doorbell_trap.h). */
	out->bf.size = 0;
	if (qp->base.vb.hca->checked) {
		fabric_lock(&qp->base.vb.hca->lock);
		hca.checker->sq_register(qp->base.vb.hca, out->bf.reg, MLX5_UAR_BF_SIZE);
		fabric_unlock(&qp->base.vb.hca->lock);
	}
	if (wanted & MLX5DV_QP_MASK_UAR_MMAP_OFFSET && qp->ctx->uar->shown_at) {
		out->uar_mmap_offset =
			qp->ctx->uar->shown_at; /* set by hca_uar_show() in watch_qp() */
		out->comp_mask |= MLX5DV_QP_MASK_UAR_MMAP_OFFSET;
	}
	/* One number for TIR, TIS, RQ and SQ. */
	if (wanted & MLX5DV_QP_MASK_RAW_QP_HANDLES && qp->base.type == HCA_QP_RAW) {
		out->tirn = out->tisn = out->rqn = out->sqn = qp->base.qpn;
		out->comp_mask |= MLX5DV_QP_MASK_RAW_QP_HANDLES;
	}
}

/* From now on the program consumes the CQEs: a purge would move them under its polling. */
static void fill_cq(struct ibv_cq *ibcq, struct mlx5dv_cq *out)
{
	struct mlx5_cq *cq = to_mcq(ibcq);

	fabric_lock(&cq->base.lock);
	cq->base.raw = true;
	out->comp_mask = 0;
	out->buf = cq->alias ? cq->alias->addr : cq->base.ring.buf.addr;
	out->dbrec = (__be32 *)cq->base.db;
	out->cqe_cnt = cq->base.mask + 1;
	out->cqe_size = 1u << cq->base.entry_shift;
	out->cq_uar = cq->ctx->uar_page;
	out->cqn = cq->base.vb.hca->cqn;
	fabric_unlock(&cq->base.lock);
	mlx5_cq_stamp(cq);
}

static void fill_srq(struct ibv_srq *ibsrq, struct mlx5dv_srq *out)
{
	struct mlx5_srq *srq = to_msrq(ibsrq);
	uint64_t wanted = out->comp_mask;

	out->comp_mask = 0;
	fabric_lock(&srq->base.lock);
	out->buf = srq->base.entries;
	out->dbrec = (__be32 *)srq->base.db;
	out->stride = 1u << srq->base.shift;
	out->head = srq->base.head;
	out->tail = srq->base.tail;
	fabric_unlock(&srq->base.lock);
	if (wanted & MLX5DV_SRQ_MASK_SRQN) {
		out->srqn = srq->base.vb.hca->srqn;
		out->comp_mask |= MLX5DV_SRQ_MASK_SRQN;
	}
}

static void fill_rwq(struct ibv_wq *ibwq, struct mlx5dv_rwq *out)
{
	const struct mlx5_wq *wq = to_mwq(ibwq);

	out->comp_mask = 0;
	out->buf = wq->rq.buf;
	out->dbrec = (__be32 *)wq->ring.record.addr;
	out->wqe_cnt = wq->rq.mask + 1;
	out->stride = 1u << wq->rq.shift;
}

static void fill_dm(struct ibv_dm *ibdm, struct mlx5dv_dm *out)
{
	const struct vb_dm *dm = to_dm(ibdm);
	uint64_t wanted = out->comp_mask;

	out->comp_mask = 0;
	out->buf = dm->hca->addr;
	out->length = dm->hca->length;
	if (wanted & MLX5DV_DM_MASK_REMOTE_VA) {
		out->remote_va = (uintptr_t)dm->hca->addr;
		out->comp_mask |= MLX5DV_DM_MASK_REMOTE_VA;
	}
}

/* `in` and `out` of every type, checked before anything is read or written. */
static int check_pointers(const struct mlx5dv_obj *obj, uint64_t type)
{
	const struct {
		uint64_t bit;
		const void *in, *out;
		const char *name;
	} pairs[] = {
		{ MLX5DV_OBJ_QP, obj->qp.in, obj->qp.out, "qp" },
		{ MLX5DV_OBJ_CQ, obj->cq.in, obj->cq.out, "cq" },
		{ MLX5DV_OBJ_SRQ, obj->srq.in, obj->srq.out, "srq" },
		{ MLX5DV_OBJ_RWQ, obj->rwq.in, obj->rwq.out, "rwq" },
		{ MLX5DV_OBJ_DM, obj->dm.in, obj->dm.out, "dm" },
		{ MLX5DV_OBJ_AH, obj->ah.in, obj->ah.out, "ah" },
		{ MLX5DV_OBJ_PD, obj->pd.in, obj->pd.out, "pd" },
		{ MLX5DV_OBJ_DEVX, obj->devx.in, obj->devx.out, "devx" },
	};

	for (size_t i = 0; i < array_size(pairs); i++)
		if (type & pairs[i].bit && (!pairs[i].in || !pairs[i].out))
			return explain(EINVAL, "mlx5dv_init_obj: %s.%s is NULL", pairs[i].name,
				       pairs[i].in ? "out" : "in");
	return 0;
}

/* Every object must be of an mlx5 context. */
static bool check_contexts(const struct mlx5dv_obj *obj, uint64_t type, const char *call)
{
	if (type & MLX5DV_OBJ_QP && !mlx5_dv_context(obj->qp.in->context, call))
		return false;
	if (type & MLX5DV_OBJ_CQ && !mlx5_dv_context(obj->cq.in->context, call))
		return false;
	if (type & MLX5DV_OBJ_SRQ && !mlx5_dv_context(obj->srq.in->context, call))
		return false;
	if (type & MLX5DV_OBJ_DM && !mlx5_dv_context(obj->dm.in->context, call))
		return false;
	if (type & MLX5DV_OBJ_RWQ && !mlx5_dv_context(obj->rwq.in->context, call))
		return false;
	if (type & MLX5DV_OBJ_AH && !mlx5_dv_context(obj->ah.in->context, call))
		return false;
	return !(type & MLX5DV_OBJ_PD) || mlx5_dv_context(obj->pd.in->context, call);
}

/* A program that asks for the page's offset may map the page itself. */
static int watch_qp(struct ibv_qp *ibqp, const struct mlx5dv_qp *out)
{
	const struct mlx5_qp *qp = to_mqp(ibqp);
	off_t offset;
	int err = hca_doorbell_watch_qp(qp->base.vb.hca);

	if (!err && out->comp_mask & MLX5DV_QP_MASK_UAR_MMAP_OFFSET)
		err = hca_uar_show(qp->ctx->uar, ibqp->context->cmd_fd, &offset);
	if (err == -EFBIG) /* no offset is given then */
		err = 0;
	if (!err)
		hca_doorbell_open(qp->ctx->uar);
	return err;
}

/*
 * The adapter watches the memory that the program is about to write itself. Arming is a change of
 * the arm word, and the first arm word of a new CQ may be 0, so it is set to a value that no
 * program writes.
 */
static int watch(const struct mlx5dv_obj *obj, uint64_t type)
{
	int err = type & MLX5DV_OBJ_QP ? watch_qp(obj->qp.in, obj->qp.out) : 0;
	struct mlx5_cq *cq;

	if (err || !(type & MLX5DV_OBJ_CQ))
		return err;
	cq = to_mcq(obj->cq.in);
	fabric_lock(&cq->base.lock);
	if (!cq->base.raw && !cq->base.db[1])
		drv_record_store(&cq->base.db[1], 3u << 28 | 0xffffff);
	fabric_unlock(&cq->base.lock);
	if (!cq->alias)
		mlx5_cq_map_alias(cq);
	hca_doorbell_open(cq->ctx->uar);
	return hca_doorbell_watch_cq(cq->base.vb.hca);
}

int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	int err;

	if (!type || type & ~(uint64_t)KNOWN)
		return errno = -explain(EINVAL, "mlx5dv_init_obj: type bits 0x%llx; 0x%x is known",
					(unsigned long long)type, KNOWN);
	err = check_pointers(obj, type);
	if (err)
		return errno = -err;
	if (!check_contexts(obj, type, __func__))
		return errno;
	err = watch(obj, type);
	if (err)
		return errno = -err;
	if (type & MLX5DV_OBJ_QP)
		fill_qp(obj->qp.in, obj->qp.out);
	if (type & MLX5DV_OBJ_CQ)
		fill_cq(obj->cq.in, obj->cq.out);
	if (type & MLX5DV_OBJ_SRQ)
		fill_srq(obj->srq.in, obj->srq.out);
	if (type & MLX5DV_OBJ_DM)
		fill_dm(obj->dm.in, obj->dm.out);
	if (type & MLX5DV_OBJ_RWQ)
		fill_rwq(obj->rwq.in, obj->rwq.out);
	if (type & MLX5DV_OBJ_DEVX)
		obj->devx.out->handle = obj->devx.in->handle;
	if (type & MLX5DV_OBJ_AH) {
		obj->ah.out->av = (struct mlx5_wqe_av *)to_ah(obj->ah.in)->driver;
		obj->ah.out->comp_mask = 0;
	}
	if (type & MLX5DV_OBJ_PD) {
		obj->pd.out->pdn = to_pd(obj->pd.in)->hca->pdn;
		obj->pd.out->comp_mask = 0;
	}
	return 0;
}

/* In the old ABI, cq_uar points to the pointer to the UAR page. */
VB_API int old_mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type);
__asm__(".symver old_mlx5dv_init_obj,mlx5dv_init_obj@MLX5_1.0");
int old_mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	int err = mlx5dv_init_obj(obj, type);

	if (!err && type & MLX5DV_OBJ_CQ)
		obj->cq.out->cq_uar = &to_mcq(obj->cq.in)->ctx->uar_page;
	return err;
}
