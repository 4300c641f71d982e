/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: their rings, resizing, arming, and purging what belongs to a dead queue.
 * Consuming is in poll.c and cqex.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/queue/cq_alias.h"
#include "mlx5/cqe.h"
#include "mlx5/format.h"
#include "mlx5/geometry.h"
#include "mlx5/mlx5.h"
#include "util/explain.h"

#define WITH_STAMPS                                                                                \
	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

/* A ring's entries before the adapter has written any. */
static void init_entries(void *buf, uint32_t count, uint32_t entry_size)
{
	uint8_t *own = (uint8_t *)buf + entry_size - 1;

	for (uint32_t i = 0; i < count; i++, own += entry_size)
		*own = MLX5_CQE_INVALID << 4;
}

static int count_entries(struct vb_context *ctx, uint32_t wanted, uint32_t *out)
{
	if (wanted < 1 || wanted > ctx->adapter->limits.max_cqe)
		return explain(EINVAL, "a CQ of %u entries; %s has 1 to %llu", wanted,
			       ctx->adapter->name,
			       (unsigned long long)ctx->adapter->limits.max_cqe);
	*out = mlx5_pow2_up(wanted + 1);
	return 0;
}

static void attach_ring(struct mlx5_cq *cq, void *buf, uint32_t count, uint32_t entry_size)
{
	cq->mask = count - 1;
	cq->entry_shift = __builtin_ctz(entry_size);
	cq->entries = (uint8_t *)buf + entry_size - sizeof(struct mlx5_cqe64);
}

static int alloc_rings(struct mlx5_cq *cq, struct vb_pd *parent, uint32_t count,
		       uint32_t entry_size)
{
	int err = verbena_buf_alloc(&cq->ctx->memory, parent, (size_t)count * entry_size,
				    MLX5DV_RES_TYPE_CQ, &cq->buf);

	if (err)
		return err;
	err = verbena_record_alloc(&cq->ctx->memory, parent, MLX5DV_RES_TYPE_DBR, &cq->record);
	if (err) {
		verbena_buf_free(&cq->ctx->memory, &cq->buf);
		return err;
	}
	cq->db = cq->record.addr;
	init_entries(cq->buf.addr, count, entry_size);
	attach_ring(cq, cq->buf.addr, count, entry_size);
	return 0;
}

/* 64, or 128 when the program or its environment asks for it. */
static int entry_bytes(const struct mlx5dv_cq_init_attr *attr, uint32_t *size)
{
	const char *env;

	*size = 64;
	if (attr && attr->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE) {
		*size = attr->cqe_size;
		return 0;
	}
	env = getenv("MLX5_CQE_SIZE");
	if (!env || !*env)
		return 0;
	*size = strtoul(env, NULL, 10);
	if (*size != 64 && *size != 128)
		return explain(EINVAL, "MLX5_CQE_SIZE is %s; right is 64 or 128", env);
	return 0;
}

int mlx5_create_cq(struct vb_context *ctx, struct ibv_cq_init_attr_ex *attr,
		   const void *driver_attr, struct vb_cq **out)
{
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	const struct mlx5dv_cq_init_attr *dv = driver_attr;
	uint32_t count, entry_size;
	struct vb_pd *parent = NULL;
	struct hca_cq_init init;
	struct mlx5_cq *cq;
	int err = count_entries(ctx, attr->cqe, &count);

	if (!err)
		err = entry_bytes(dv, &entry_size);
	if (err)
		return err;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD && attr->parent_domain)
		parent = to_pd(attr->parent_domain);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->ctx = mlx5_ctx(ctx);
	cq->unlocked = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	err = alloc_rings(cq, parent, count, entry_size);
	if (err)
		goto free_cq;
	init = (struct hca_cq_init){
		.ctx = &ctx->hca,
		.format = &mlx5_format,
		.buf = cq->buf.addr,
		.size = count,
		.entry_size = entry_size,
		.db = cq->db,
		.channel = attr->channel ? to_channel(attr->channel)->hca : NULL,
		.ignore_overrun = flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
		.user = &cq->vb.cq,
	};
	err = hca_cq_create(&init, &cq->vb.hca);
	if (err)
		goto free_rings;
	mlx5_cq_fill_ex(cq, attr->wc_flags);
	/* Reading the clock costs time: only for a CQ whose timestamps can be read. */
	if (attr->wc_flags & WITH_STAMPS || dv)
		mlx5_cq_stamp(cq);
	attr->cqe = count - 1;
	*out = &cq->vb;
	return 0;

free_rings:
	verbena_buf_free(&cq->ctx->memory, &cq->record);
	verbena_buf_free(&cq->ctx->memory, &cq->buf);
free_cq:
	free(cq);
	return err;
}

/* The program polls a mapping of its own where that can be, and else the ring. */
void mlx5_cq_view(struct mlx5_cq *cq)
{
	if (hca_cq_alias_create(cq->vb.hca, &cq->view))
		cq->view = NULL;
}

static void drop_view(struct mlx5_cq *cq)
{
	if (cq->view)
		hca_cq_alias_destroy(cq->view);
	cq->view = NULL;
}

int mlx5_destroy_cq(struct vb_cq *vb)
{
	struct mlx5_cq *cq = container_of(vb, struct mlx5_cq, vb);
	int err = hca_cq_destroy(vb->hca);

	if (err)
		return err;
	drop_view(cq);
	verbena_buf_free(&cq->ctx->memory, &cq->record);
	verbena_buf_free(&cq->ctx->memory, &cq->buf);
	return 0;
}

void mlx5_cq_stamp(struct mlx5_cq *cq)
{
	fabric_lock(&cq->vb.hca->lock);
	cq->vb.hca->timestamp_mask = MLX5_CLOCK_MASK;
	fabric_unlock(&cq->vb.hca->lock);
}

/* The adapter calls this with its lock held; ours is held by mlx5_resize_cq(). */
static uint32_t move_entries(struct hca_cq *hca, void *buf, uint32_t size, void *arg)
{
	struct mlx5_cq *cq = arg;
	uint32_t entry_size = 1u << cq->entry_shift;

	for (uint32_t i = cq->ci; i != hca->pi; i++) {
		uint8_t *from = (uint8_t *)cq->buf.addr + ((i & cq->mask) << cq->entry_shift);
		uint8_t *to = (uint8_t *)buf + ((i & (size - 1)) << cq->entry_shift);

		memcpy(to, from, entry_size);
		to[entry_size - 1] &= ~MLX5_CQE_OWNER_MASK;
		to[entry_size - 1] |= !!(i & size);
	}
	return hca->pi;
}

int mlx5_resize_cq(struct vb_cq *vb, int entries)
{
	struct mlx5_cq *cq = container_of(vb, struct mlx5_cq, vb);
	uint32_t entry_size = 1u << cq->entry_shift, count, live;
	struct vb_buf buf, old;
	int err = count_entries(cq->ctx->vb, entries < 0 ? 0 : entries, &count);

	if (err)
		return err;
	if (count == cq->mask + 1)
		return 0;
	err = verbena_buf_alloc(&cq->ctx->memory, cq->buf.parent, (size_t)count * entry_size,
				MLX5DV_RES_TYPE_CQ, &buf);
	if (err)
		return err;
	init_entries(buf.addr, count, entry_size);

	fabric_lock(&cq->lock);
	fabric_lock(&vb->hca->lock);
	live = vb->hca->pi - cq->ci;
	fabric_unlock(&vb->hca->lock);
	if (live < count) {
		hca_cq_resize(vb->hca, buf.addr, count, move_entries, cq);
		old = cq->buf;
		cq->buf = buf;
		attach_ring(cq, buf.addr, count, entry_size);
		vb->cq.cqe = count - 1;
	} else {
		old = buf;
		err = -EINVAL;
	}
	fabric_unlock(&cq->lock);
	/* Who was handed out the old ring has to ask again. */
	if (!err)
		drop_view(cq);
	verbena_buf_free(&cq->ctx->memory, &old);
	if (err)
		return explain(EINVAL, "the CQ holds %u completions, which %u entries cannot take",
			       live, count - 1);
	return 0;
}

int mlx5_arm_cq(struct ibv_cq *ibcq, int solicited)
{
	struct mlx5_cq *cq = to_mcq(ibcq);
	uint32_t ci = __atomic_load_n(&cq->ci, __ATOMIC_RELAXED);
	uint32_t sn = __atomic_load_n(&cq->arm_sn, __ATOMIC_RELAXED) & 3;

	mlx5_record_store(&cq->db[1],
			  sn << 28 | (solicited ? MLX5_CQ_DB_REQ_NOT_SOL : MLX5_CQ_DB_REQ_NOT) |
				  (ci & 0xffffff));
	hca_cq_arm(cq->vb.hca, solicited ? HCA_ARM_SOLICITED : HCA_ARM_NEXT, ci);
	hca_poll_pause();
	return 0;
}

/* Arming again counts as new only after the event of the last time. */
void mlx5_cq_event(struct vb_cq *vb)
{
	struct mlx5_cq *cq = container_of(vb, struct mlx5_cq, vb);

	__atomic_fetch_add(&cq->arm_sn, 1, __ATOMIC_RELAXED);
}

static bool holds_receive(uint8_t opcode)
{
	return opcode == MLX5_CQE_RESP_SEND || opcode == MLX5_CQE_RESP_SEND_IMM ||
	       opcode == MLX5_CQE_RESP_SEND_INV || opcode == MLX5_CQE_RESP_WR_IMM ||
	       opcode == MLX5_CQE_RESP_ERR;
}

static bool belongs(const struct mlx5_cqe64 *cqe, const struct mlx5_rsc *rsc)
{
	const struct mlx5_qp *qp = container_of(rsc, struct mlx5_qp, rsc);

	/* Received frames carry their tag where others have the QP's number. */
	if (rsc->type == MLX5_RSC_QP && qp->type != HCA_QP_RAW)
		return (be32toh(cqe->sop_drop_qpn) & MLX5_QPN_MASK) == qp->qpn;
	return (be32toh(cqe->srqn_uidx) & MLX5_QPN_MASK) == rsc->index;
}

/* Puts the entry of index `from` over that of `to`, which keeps its lap. */
static void shift_entry(struct mlx5_cq *cq, uint32_t from, uint32_t to)
{
	struct mlx5_cqe64 *source = mlx5_cqe_at(cq, from), *target = mlx5_cqe_at(cq, to);
	uint8_t own = target->op_own & MLX5_CQE_OWNER_MASK;

	memcpy(target, source, sizeof(*target));
	target->op_own = (target->op_own & ~MLX5_CQE_OWNER_MASK) | own;
}

/*
 * Goes from the newest entry back to the oldest and lets survivors close up towards the newest, so
 * that the consumer's end moves and the adapter's stays. The adapter may add entries meanwhile,
 * but none of this resource, which is dead already.
 */
void mlx5_cq_purge(struct mlx5_cq *cq, struct mlx5_rsc *rsc, struct mlx5_srq *srq)
{
	uint32_t end, gone = 0;

	fabric_lock(&cq->lock);
	if (cq->last == rsc)
		cq->last = NULL;
	if (cq->raw)
		goto unlock;
	for (end = cq->ci; end - cq->ci <= cq->mask && mlx5_cqe_ready(cq, end); end++)
		;
	while (end-- != cq->ci) {
		struct mlx5_cqe64 *cqe = mlx5_cqe_at(cq, end);

		if (belongs(cqe, rsc)) {
			if (srq && holds_receive(mlx5dv_get_cqe_opcode(cqe)))
				mlx5_srq_free_entry(srq, be16toh(cqe->wqe_counter));
			gone++;
		} else if (gone) {
			shift_entry(cq, end, end + gone);
		}
	}
	if (gone) {
		cq->ci += gone;
		mlx5_record_store(cq->db, cq->ci & 0xffffff);
	}
unlock:
	fabric_unlock(&cq->lock);
}
