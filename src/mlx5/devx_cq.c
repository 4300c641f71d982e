/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CQs in user memory (umem). The program writes consumer index and arm word into its own doorbell
 * record and rings its own UAR page.
 */
#include "mlx5/devx_cq.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "hca/queue/cq.h"
#include "mlx5/clock.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_eq.h"
#include "mlx5/devx_event.h"
#include "mlx5/devx_mem.h"
#include "mlx5/devx_obj.h"
#include "mlx5/devx_uar.h"
#include "mlx5/format.h"

/* An arm word that no program writes: see watch() of dv_obj.c. */
#define NEVER_ARMED (3u << 28 | 0xffffff)

static int check_cqc(struct devx_cmd *c, const void *cqc)
{
	unsigned int cqe_sz = ifc_get(cqc, cqc, cqe_sz), log = ifc_get(cqc, cqc, log_cq_size);

	if (cqe_sz > IFC_CQE_SZ_128_PAD)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "cqe_sz %u; expected 0 (64 bytes), 1 or 2 (128 bytes)", cqe_sz);
	if (1ull << log > c->adapter->limits.max_cqe + 1)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "log_cq_size %u is more than %llu entries", log,
				   (unsigned long long)c->adapter->limits.max_cqe);
	return 0;
}

/* Other formats are not in the capabilities; a queue with one of them has whole CQEs. */
static enum hca_mini_cqe mini_of(const void *cqc)
{
	unsigned int format = ifc_get(cqc, cqc, mini_cqe_res_format) |
			      ifc_get(cqc, cqc, mini_cqe_res_format_ext) << 2;

	if (!ifc_get(cqc, cqc, cqe_comp_en) || ifc_get(cqc, cqc, cqe_comp_layout))
		return HCA_MINI_NONE;
	switch (format) {
	case IFC_MINI_CQE_HASH:
		return HCA_MINI_HASH;
	case IFC_MINI_CQE_CSUM:
		return HCA_MINI_CSUM;
	case IFC_MINI_CQE_CSUM_STRIDE:
		return HCA_MINI_CSUM_STRIDE;
	default:
		return HCA_MINI_NONE;
	}
}

static int find_memory(struct devx_cmd *c, const void *cqc, struct hca_cq_init *init)
{
	struct devx_ring ring = {
		.id = ifc_get(c->in, create_cq_in, cq_umem_id),
		.offset = ifc_get(c->in, create_cq_in, cq_umem_offset),
		.valid = ifc_get(c->in, create_cq_in, cq_umem_valid),
		.bytes = (uint64_t)init->size * init->entry_size,
		.align = 64,
		.what = "ring",
	};
	struct devx_ring record = {
		.id = ifc_get(cqc, cqc, dbr_umem_id),
		.offset = ifc_get(cqc, cqc, dbr_addr),
		.valid = ifc_get(cqc, cqc, dbr_umem_valid),
		.bytes = 8,
		.align = 8,
		.what = "doorbell record",
	};
	void *at;
	int err;

	err = devx_umem_at(c, 0, &ring, &init->buf);
	if (!err)
		err = devx_umem_at(c, 1, &record, &at);
	if (!err)
		init->db = at;
	return err;
}

int devx_create_cq(struct devx_cmd *c)
{
	const void *cqc = ifc_cptr(c->in, create_cq_in, cq_context);
	struct hca_cq_init init = {
		.ctx = &c->devx->ctx->vb->hca,
		.format = &mlx5_format,
		.size = 1u << ifc_get(cqc, cqc, log_cq_size),
		.entry_size = ifc_get(cqc, cqc, cqe_sz) == IFC_CQE_SZ_64 ? 64 : 128,
		.ignore_overrun = ifc_get(cqc, cqc, oi),
		.on_event = devx_event_cq,
		.user = devx_user(c->obj),
	};
	struct hca_cq *cq;
	int err = check_cqc(c, cqc);

	if (!err)
		err = find_memory(c, cqc, &init);
	if (!err)
		err = devx_uar_use(c, ifc_get(cqc, cqc, uar_page), NULL);
	if (!err)
		err = devx_eq_find(c, ifc_get(cqc, cqc, c_eqn), &init.eq);
	if (!err)
		err = devx_keep(c, cqc, ifc_len(cqc));
	if (err)
		return err;
	if (init.eq)
		init.on_event = NULL;
	if (!init.db[1])
		drv_record_store(&init.db[1], NEVER_ARMED);
	err = hca_cq_create(&init, &cq);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_MEMORY);
	c->obj->cq = cq;
	cq->timestamp_mask = MLX5_CLOCK_MASK;
	hca_cq_permit_mini(cq, mini_of(cqc));
	hca_cq_moderate(cq, ifc_get(cqc, cqc, cq_max_count), ifc_get(cqc, cqc, cq_period));
	err = hca_doorbell_watch_cq(cq);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_MEMORY);
	c->obj->number = cq->cqn;
	ifc_set(c->out, create_cq_out, cqn, cq->cqn);
	return 0;
}

/*
 * The fields that change; the others are as the program gave them. For verbs CQs the others are 0.
 */
void devx_cqc_fill(struct hca_cq *cq, void *cqc)
{
	fabric_lock(&cq->lock);
	ifc_set(cqc, cqc, status, cq->failed ? IFC_CQ_STATUS_OVERFLOW : IFC_CQ_STATUS_OK);
	ifc_set(cqc, cqc, cqe_sz,
		cq->entry_size == 64 ? IFC_CQE_SZ_64
				     : (ifc_get(cqc, cqc, cqe_sz) ?: IFC_CQE_SZ_128));
	ifc_set(cqc, cqc, oi, cq->ignore_overrun);
	ifc_set(cqc, cqc, st,
		cq->arm == HCA_ARM_NEXT        ? IFC_CQ_ARMED
		: cq->arm == HCA_ARM_SOLICITED ? IFC_CQ_ARMED_SOLICITED
					       : IFC_CQ_FIRED);
	ifc_set(cqc, cqc, log_cq_size, __builtin_ctz(cq->size));
	ifc_set(cqc, cqc, cq_period, cq->moderation_usec);
	ifc_set(cqc, cqc, cq_max_count, cq->moderation_count);
	ifc_set(cqc, cqc, last_notified_index, cq->notified & 0xffffff);
	ifc_set(cqc, cqc, consumer_counter, cq->format->cq_consumer(cq));
	ifc_set(cqc, cqc, producer_counter, cq->pi & 0xffffff);
	fabric_unlock(&cq->lock);
}

int devx_query_cq(struct devx_cmd *c)
{
	void *cqc = ifc_ptr(c->out, query_cq_out, cq_context);

	memcpy(cqc, c->obj->image, c->obj->image_len);
	devx_cqc_fill(c->obj->cq, cqc);
	return 0;
}

/*
 * RESIZE_CQ: the last CQE of the old ring, which says that the next one is in the new ring. A
 * program copies the CQEs it has not consumed, one index further on.
 */
static uint32_t end_ring(struct hca_cq *cq, void *buf, uint32_t size, void *arg)
{
	uint8_t *entry = (uint8_t *)cq->buf + (size_t)(cq->pi & (cq->size - 1)) * cq->entry_size;
	uint64_t *last = (uint64_t *)(entry + cq->entry_size - sizeof(*last)); /* with op_own */
	uint32_t consumer = cq->format->cq_consumer(cq);
	uint32_t live = (cq->pi - consumer) & 0xffffff;
	bool *fits = arg;

	(void)buf;
	*fits = live < cq->size && live < size;
	if (!*fits)
		return cq->pi;
	memset(entry, 0, cq->entry_size - sizeof(*last));
	__atomic_store_n(last, htobe64(MLX5_CQE_RESIZE_CQ << 4 | !!(cq->pi & cq->size)),
			 __ATOMIC_RELEASE);
	return cq->pi + 1;
}

static int resize(struct devx_cmd *c, const void *cqc, uint32_t select)
{
	const uint32_t known =
		IFC_CQ_RESIZE_LOG_SIZE | IFC_CQ_RESIZE_PAGE_OFFSET | IFC_CQ_RESIZE_PAGE_SIZE;
	struct devx_umem *old = c->obj->umem[0];
	struct hca_cq *cq = c->obj->cq;
	uint32_t size =
		select & IFC_CQ_RESIZE_LOG_SIZE ? 1u << ifc_get(cqc, cqc, log_cq_size) : cq->size;
	struct devx_ring ring = {
		.id = ifc_get(c->in, modify_cq_in, cq_umem_id),
		.offset = ifc_get(c->in, modify_cq_in, cq_umem_offset),
		.valid = ifc_get(c->in, modify_cq_in, cq_umem_valid),
		.bytes = (uint64_t)size * cq->entry_size,
		.align = 64,
		.what = "new ring",
	};
	bool fits;
	void *buf;
	int err;

	if (c->obj->stand_in || select & ~known)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "field_select 0x%x (0x%x is known), or a queue of verbs, which "
				   "ibv_resize_cq() resizes",
				   select, known);
	if (size > c->adapter->limits.max_cqe + 1)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "%u entries; at most %llu", size,
				   (unsigned long long)c->adapter->limits.max_cqe + 1);
	err = devx_umem_at(c, 0, &ring, &buf);
	if (err)
		return err;
	hca_cq_swap(cq, buf, size, end_ring, &fits);
	if (fits) {
		old->users--;
		ifc_set(c->obj->image, cqc, log_cq_size, __builtin_ctz(size));
		return 0;
	}
	c->obj->umem[0]->users--;
	c->obj->umem[0] = old;
	return devx_refuse(c, IFC_STATUS_BAD_CQ_SIZE, DEVX_WHY_SIZE,
			   "a ring of %u cannot take what is not consumed of one of %u", size,
			   cq->size);
}

/* Also for verbs CQs, which have no object: c->obj is then a stand-in. */
int devx_modify_cq(struct devx_cmd *c)
{
	const void *cqc = ifc_cptr(c->in, modify_cq_in, cq_context);
	uint32_t select = ifc_get(c->in, modify_cq_in, field_select);
	struct hca_cq *cq = c->obj->cq;

	if (devx_op_mod(c) == IFC_MODIFY_CQ_RESIZE)
		return resize(c, cqc, select);
	if (devx_op_mod(c) != IFC_MODIFY_CQ_MODERATE)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OP_MOD,
				   "op_mod %u; 0 (moderation) and 1 (another ring) are offered",
				   devx_op_mod(c));
	if (select & ~(IFC_CQ_SELECT_PERIOD | IFC_CQ_SELECT_MAX_COUNT | IFC_CQ_SELECT_OVERRUN))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "field_select 0x%x; 0x%x is known", select,
				   IFC_CQ_SELECT_PERIOD | IFC_CQ_SELECT_MAX_COUNT |
					   IFC_CQ_SELECT_OVERRUN);
	fabric_lock(&cq->lock);
	if (select & IFC_CQ_SELECT_PERIOD)
		cq->moderation_usec = ifc_get(cqc, cqc, cq_period);
	if (select & IFC_CQ_SELECT_MAX_COUNT)
		cq->moderation_count = ifc_get(cqc, cqc, cq_max_count);
	if (select & IFC_CQ_SELECT_OVERRUN)
		cq->ignore_overrun = ifc_get(cqc, cqc, oi);
	fabric_unlock(&cq->lock);
	return 0;
}
