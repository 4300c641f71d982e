/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/cq.h"

#include <errno.h>
#include <string.h>

#include "hca/engine/poll.h"
#include "util/explain.h"

static int count_entries(struct vb_context *ctx, uint32_t wanted, uint32_t *out)
{
	if (wanted < 1 || wanted > ctx->adapter->limits.max_cqe)
		return explain(EINVAL, "a CQ of %u entries; %s has 1 to %llu", wanted,
			       ctx->adapter->name,
			       (unsigned long long)ctx->adapter->limits.max_cqe);
	*out = drv_pow2_up(wanted + 1);
	return 0;
}

static void attach_ring(struct drv_cq *cq, uint32_t count)
{
	cq->mask = count - 1;
	cq->entries = (uint8_t *)cq->ring.buf.addr + (1u << cq->entry_shift) - cq->format->cqe_size;
}

int drv_cq_init(struct drv_cq *cq, struct vb_context *ctx, struct vb_memory *memory,
		struct ibv_cq_init_attr_ex *attr, uint32_t entry_size,
		const struct drv_cq_format *format)
{
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	struct vb_pd *parent = NULL;
	struct hca_cq_init init;
	uint32_t count;
	int err = count_entries(ctx, attr->cqe, &count);

	if (err)
		return err;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD && attr->parent_domain)
		parent = to_pd(attr->parent_domain);
	err = drv_ring_alloc(&cq->ring, memory, parent, (size_t)count * entry_size, format->types);
	if (err)
		return err;
	cq->unlocked = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	cq->format = format;
	cq->entry_shift = __builtin_ctz(entry_size);
	cq->db = cq->ring.record.addr;
	format->init(cq->ring.buf.addr, count, entry_size);
	attach_ring(cq, count);
	init = (struct hca_cq_init){
		.ctx = &ctx->hca,
		.format = format->hca,
		.buf = cq->ring.buf.addr,
		.size = count,
		.entry_size = entry_size,
		.db = cq->db,
		.channel = attr->channel ? to_channel(attr->channel)->hca : NULL,
		.ignore_overrun = flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
		.user = &cq->vb.cq,
	};
	err = hca_cq_create(&init, &cq->vb.hca);
	if (err) {
		drv_ring_free(&cq->ring);
		return err;
	}
	attr->cqe = count - 1;
	return 0;
}

static void set_owner(const struct drv_cq *cq, void *cqe, bool lap)
{
	uint8_t *own = (uint8_t *)cqe + cq->format->cqe_size - 1;
	uint8_t mask = cq->format->owner_mask;

	*own = (*own & ~mask) | (lap ? mask : 0);
}

/*
 * hca_cq_resize() calls this with the adapter's lock held; drv_cq_resize() holds the consumer's.
 * Indexes stay as they are. In the new ring, completions get the owner bit of their lap, and the
 * entries of the lap ahead the opposite one, so that they are the adapter's.
 */
static uint32_t move_entries(struct hca_cq *hca, void *buf, uint32_t size, void *arg)
{
	const struct drv_cq *cq = arg;
	uint32_t cqe_offset = (1u << cq->entry_shift) - cq->format->cqe_size;
	uint32_t i;

	for (i = cq->ci; i != cq->ci + size; i++) {
		uint8_t *to = (uint8_t *)buf + ((size_t)(i & (size - 1)) << cq->entry_shift);
		bool moved = (int32_t)(hca->pi - i) > 0;

		if (moved &&
		    cq->format->ready(cq, i)) /* of one that stands for several: all of them */
			memcpy(to, (uint8_t *)drv_cqe_at(cq, i) - cqe_offset,
			       1u << cq->entry_shift);
		set_owner(cq, to + cqe_offset, moved ? i & size : !(i & size));
	}
	return hca->pi;
}

int drv_cq_resize(struct drv_cq *cq, int entries, struct vb_buf *old)
{
	uint32_t entry_size = 1u << cq->entry_shift, count, live;
	struct hca_cq *hca = cq->vb.hca;
	struct drv_ring *ring = &cq->ring;
	struct vb_buf buf;
	int err = count_entries(to_context(cq->vb.cq.context), entries < 0 ? 0 : entries, &count);

	*old = (struct vb_buf){ 0 };
	if (err || count == cq->mask + 1)
		return err;
	err = verbena_buf_alloc(ring->memory, cq->vb.parent, (size_t)count * entry_size,
				cq->format->types.buf, &buf);
	if (err)
		return err;
	cq->format->init(buf.addr, count, entry_size);

	fabric_lock(&cq->lock);
	fabric_lock(&hca->lock);
	live = hca->pi - cq->ci;
	fabric_unlock(&hca->lock);
	if (live < count) {
		hca_cq_resize(hca, buf.addr, count, move_entries, cq);
		*old = ring->buf;
		ring->buf = buf;
		attach_ring(cq, count);
		cq->vb.cq.cqe = count - 1;
	} else {
		*old = buf;
		err = explain(EINVAL, "the CQ holds %u completions, which %u entries cannot take",
			      live, count - 1);
	}
	fabric_unlock(&cq->lock);
	return err;
}

int drv_arm_cq(struct ibv_cq *ibcq, int solicited)
{
	struct drv_cq *cq = container_of(ibcq, struct drv_cq, vb.cq);
	uint32_t ci = __atomic_load_n(&cq->ci, __ATOMIC_RELAXED);
	uint32_t sn = atomic_load_explicit(&cq->arm_sn, memory_order_relaxed) & 3;

	drv_record_store(&cq->db[1],
			 sn << 28 | (ci & DRV_CI_MASK) |
				 (solicited ? cq->format->arm_solicited : cq->format->arm_next));
	hca_cq_arm(cq->vb.hca, solicited ? HCA_ARM_SOLICITED : HCA_ARM_NEXT, ci);
	hca_poll_pause();
	return 0;
}

void drv_cq_event(struct vb_cq *vb)
{
	struct drv_cq *cq = container_of(vb, struct drv_cq, vb);

	atomic_fetch_add_explicit(&cq->arm_sn, 1, memory_order_relaxed);
}

/* Puts the entry of index `from` over that of `to`, which keeps its owner bit. */
static void shift_entry(struct drv_cq *cq, uint32_t from, uint32_t to)
{
	void *target = drv_cqe_at(cq, to);

	memcpy(target, drv_cqe_at(cq, from), cq->format->cqe_size);
	set_owner(cq, target, to & (cq->mask + 1));
}

/*
 * From the newest CQE back to the oldest: CQEs of other queues move towards the newest, so that the
 * consumer's index moves and the adapter's stays. The adapter may add CQEs meanwhile, but none of
 * this queue, which is destroyed or in RESET.
 */
void drv_cq_purge(struct drv_cq *cq, const void *queue, struct drv_srq *srq)
{
	const struct drv_cq_format *format = cq->format;
	uint32_t end, gone = 0;

	fabric_lock(&cq->lock);
	if (cq->last == queue)
		cq->last = NULL;
	if (cq->raw)
		goto unlock;
	for (end = cq->ci; end - cq->ci <= cq->mask && format->ready(cq, end); end++)
		;
	while (end-- != cq->ci) {
		const void *cqe = drv_cqe_at(cq, end);

		if (format->belongs(cq, cqe, queue, srq)) {
			int entry = srq ? format->srq_entry(cqe) : -1;

			if (entry >= 0)
				drv_srq_release(srq, entry);
			gone++;
		} else if (gone) {
			shift_entry(cq, end, end + gone);
		}
	}
	if (gone) {
		cq->ci += gone;
		drv_record_store(cq->db, cq->ci & DRV_CI_MASK);
	}
unlock:
	fabric_unlock(&cq->lock);
}
