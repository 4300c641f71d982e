/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: their rings, resizing, arming, and purging what belongs to a dead queue.
 * Consuming is in poll.c and cqex.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/transport/qp.h"
#include "mlx4/cqe.h"
#include "mlx4/format.h"
#include "mlx4/mlx4.h"
#include "util/explain.h"

/* Nobody's in the first lap, and easy to tell from anything that the adapter writes. */
#define FRESH_ENTRY 0xcc

#define TIMESTAMP_MASK 0xffffffffffffull

static const uint64_t known_wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;

static int check_attr(const struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t path = IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL;

	if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
		return explain(EOPNOTSUPP, "comp_mask 0x%x of a CQ; this adapter knows 0x%x",
			       attr->comp_mask,
			       IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return explain(EOPNOTSUPP, "flags 0x%x of a CQ; this adapter knows 0x%x",
			       attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	if (attr->wc_flags & ~known_wc_flags)
		return explain(EOPNOTSUPP,
			       "wc_flags 0x%llx of a CQ; completions of this adapter have 0x%llx",
			       (unsigned long long)attr->wc_flags,
			       (unsigned long long)known_wc_flags);
	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP && attr->wc_flags & path)
		return explain(EOPNOTSUPP,
			       "completions of this adapter have either a time stamp or "
			       "service level and source LID");
	return 0;
}

static int count_entries(struct vb_context *ctx, uint32_t wanted, uint32_t *out)
{
	if (wanted < 1 || wanted > ctx->adapter->limits.max_cqe)
		return explain(EINVAL, "a CQ of %u entries; %s has 1 to %llu", wanted,
			       ctx->adapter->name,
			       (unsigned long long)ctx->adapter->limits.max_cqe);
	*out = mlx4_pow2_up(wanted + 1);
	return 0;
}

static void attach_ring(struct mlx4_cq *cq, uint32_t count)
{
	cq->mask = count - 1;
	cq->entries = (uint8_t *)cq->buf.addr + cq->entry_size - sizeof(struct mlx4_cqe);
}

static int alloc_rings(struct mlx4_cq *cq, struct vb_pd *parent, uint32_t count)
{
	struct vb_memory *memory = &cq->ctx->memory;
	int err = verbena_buf_alloc(memory, parent, (size_t)count * cq->entry_size, 0, &cq->buf);

	if (err)
		return err;
	err = verbena_record_alloc(memory, parent, 0, &cq->record);
	if (err) {
		verbena_buf_free(memory, &cq->buf);
		return err;
	}
	memset(cq->buf.addr, FRESH_ENTRY, (size_t)count * cq->entry_size);
	cq->db = cq->record.addr;
	attach_ring(cq, count);
	return 0;
}

static void free_rings(struct mlx4_cq *cq)
{
	verbena_buf_free(&cq->ctx->memory, &cq->record);
	verbena_buf_free(&cq->ctx->memory, &cq->buf);
}

int mlx4_create_cq(struct vb_context *ctx, struct ibv_cq_init_attr_ex *attr,
		   const void *driver_attr, struct vb_cq **out)
{
	struct vb_pd *parent = NULL;
	struct hca_cq_init init;
	struct mlx4_cq *cq;
	uint32_t count;
	int err = check_attr(attr);

	if (!err)
		err = count_entries(ctx, attr->cqe, &count);
	if (err)
		return err;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD && attr->parent_domain)
		parent = to_pd(attr->parent_domain);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->ctx = mlx4_ctx(ctx);
	cq->entry_size = MLX4_CQE_SIZE;
	cq->unlocked = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
		       attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	cq->timestamps = attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	atomic_init(&cq->arm_sn, 1);
	err = alloc_rings(cq, parent, count);
	if (err)
		goto free_cq;
	init = (struct hca_cq_init){
		.ctx = &ctx->hca,
		.format = &mlx4_format,
		.buf = cq->buf.addr,
		.size = count,
		.entry_size = cq->entry_size,
		.db = cq->db,
		.channel = attr->channel ? to_channel(attr->channel)->hca : NULL,
		.user = &cq->vb.cq,
	};
	err = hca_cq_create(&init, &cq->vb.hca);
	if (err)
		goto free_rings;
	if (cq->timestamps)
		cq->vb.hca->timestamp_mask = TIMESTAMP_MASK;
	mlx4_cq_fill_ex(cq, attr->wc_flags);
	attr->cqe = count - 1;
	*out = &cq->vb;
	return 0;

free_rings:
	free_rings(cq);
free_cq:
	free(cq);
	return err;
}

int mlx4_destroy_cq(struct vb_cq *vb)
{
	struct mlx4_cq *cq = container_of(vb, struct mlx4_cq, vb);
	int err = hca_cq_destroy(vb->hca);

	if (err)
		return err;
	free_rings(cq);
	return 0;
}

static void set_owner(struct mlx4_cqe *cqe, bool set)
{
	mlx4dv_set_cqe_owner(cqe, set ? MLX4_CQE_OWNER_MASK : 0);
}

/*
 * The adapter calls this with its lock held; ours is held by mlx4_resize_cq(). Indexes stay as they
 * are. In the new ring, entries that wait get the owner of their lap, and all others one that makes
 * them nobody's until the adapter comes to them.
 */
static uint32_t move_entries(struct hca_cq *hca, void *buf, uint32_t size, void *arg)
{
	const struct mlx4_cq *cq = arg;
	uint8_t *to = (uint8_t *)buf + cq->entry_size - sizeof(struct mlx4_cqe);
	uint32_t i;

	for (i = cq->ci; i != hca->pi; i++) {
		struct mlx4_cqe *cqe = (void *)(to + (size_t)(i & (size - 1)) * cq->entry_size);

		memcpy(cqe, mlx4_cqe_at(cq, i), sizeof(*cqe));
		set_owner(cqe, i & size);
	}
	for (; i != cq->ci + size; i++)
		set_owner((void *)(to + (size_t)(i & (size - 1)) * cq->entry_size), !(i & size));
	return hca->pi;
}

int mlx4_resize_cq(struct vb_cq *vb, int entries)
{
	struct mlx4_cq *cq = container_of(vb, struct mlx4_cq, vb);
	struct vb_memory *memory = &cq->ctx->memory;
	struct vb_buf buf, old;
	uint32_t count, live;
	int err = count_entries(cq->ctx->vb, entries < 0 ? 0 : entries, &count);

	if (err || count == cq->mask + 1)
		return err;
	err = verbena_buf_alloc(memory, cq->buf.parent, (size_t)count * cq->entry_size, 0, &buf);
	if (err)
		return err;
	memset(buf.addr, FRESH_ENTRY, (size_t)count * cq->entry_size);

	fabric_lock(&cq->lock);
	fabric_lock(&vb->hca->lock);
	live = vb->hca->pi - cq->ci;
	fabric_unlock(&vb->hca->lock);
	old = buf;
	if (live < count) {
		hca_cq_resize(vb->hca, buf.addr, count, move_entries, cq);
		old = cq->buf;
		cq->buf = buf;
		attach_ring(cq, count);
		vb->cq.cqe = count - 1;
	} else {
		err = -EINVAL;
	}
	fabric_unlock(&cq->lock);
	verbena_buf_free(memory, &old);
	if (err)
		return explain(EINVAL, "the CQ holds %u completions, which %u entries cannot take",
			       live, count - 1);
	return 0;
}

void mlx4_cq_event(struct vb_cq *vb)
{
	struct mlx4_cq *cq = container_of(vb, struct mlx4_cq, vb);

	atomic_fetch_add_explicit(&cq->arm_sn, 1, memory_order_relaxed);
}

int mlx4_arm_cq(struct ibv_cq *ibcq, int solicited)
{
	struct mlx4_cq *cq = to_mcq(ibcq);
	uint32_t ci = __atomic_load_n(&cq->ci, __ATOMIC_RELAXED) & 0xffffff;
	uint32_t sn = atomic_load_explicit(&cq->arm_sn, memory_order_relaxed) & 3;

	mlx4_record_store(&cq->db[1],
			  sn << 28 | ci |
				  (solicited ? MLX4_CQ_DB_REQ_NOT_SOL : MLX4_CQ_DB_REQ_NOT));
	hca_cq_arm(cq->vb.hca, solicited ? HCA_ARM_SOLICITED : HCA_ARM_NEXT, ci);
	hca_poll_pause();
	return 0;
}

/* Puts the entry of index `from` over that of `to`, which keeps its lap. */
static void shift_entry(struct mlx4_cq *cq, uint32_t from, uint32_t to)
{
	struct mlx4_cqe *target = mlx4_cqe_at(cq, to);
	uint8_t owner = mlx4dv_get_cqe_owner(target);

	memcpy(target, mlx4_cqe_at(cq, from), sizeof(*target));
	mlx4dv_set_cqe_owner(target, owner);
}

static bool belongs(const struct mlx4_cq *cq, const struct mlx4_cqe *cqe, const struct mlx4_qp *qp,
		    const struct mlx4_srq *srq)
{
	uint32_t qpn = be32toh(cqe->vlan_my_qpn) & MLX4_QPN_MASK;

	if (qp)
		return qpn == qp->qpn;
	return !mlx4_cqe_is_send(cqe) && !hca_table_find(&cq->ctx->qps, qpn) &&
	       (be32toh(cqe->g_mlpath_rqpn) & MLX4_QPN_MASK) == srq->srqn;
}

/*
 * Goes from the newest entry back to the oldest and lets survivors close up towards the newest, so
 * that the consumer's end moves and the adapter's stays. The adapter may add entries meanwhile,
 * but none of this queue, which is dead already.
 */
void mlx4_cq_purge(struct mlx4_cq *cq, const struct mlx4_qp *qp, struct mlx4_srq *srq)
{
	uint32_t end, gone = 0;

	fabric_lock(&cq->lock);
	if (cq->last == qp)
		cq->last = NULL;
	if (cq->raw)
		goto unlock;
	for (end = cq->ci; end - cq->ci <= cq->mask && mlx4_cqe_ready(cq, end); end++)
		;
	while (end-- != cq->ci) {
		const struct mlx4_cqe *cqe = mlx4_cqe_at(cq, end);

		if (belongs(cq, cqe, qp, srq)) {
			if (srq && !mlx4_cqe_is_send(cqe))
				mlx4_srq_free_entry(srq, be16toh(cqe->wqe_index));
			gone++;
		} else if (gone) {
			shift_entry(cq, end, end + gone);
		}
	}
	if (gone) {
		cq->ci += gone;
		mlx4_record_store(cq->db, cq->ci & 0xffffff);
	}
unlock:
	fabric_unlock(&cq->lock);
}
