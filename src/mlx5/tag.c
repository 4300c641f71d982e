/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tagged buffers have numbers, which are those of the adapter's list. Free ones are chained; an append takes the
 * first and tells the adapter which is next (hca/queue/tag_list.h). A number is in use until each completion that
 * is to come for it has come: those of its append and removal, where they are signaled, and that of its data.
 *
 * Changes are executed as they are posted. The lock of the ring guards everything here but the order of changes,
 * which post_lock keeps: the adapter is called with that lock alone.
 */
#include "mlx5/tag.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "hca/queue/srq.h"
#include "util/explain.h"

/* Unexpected messages that may be ahead of what the program has reported. */
#define AHEAD_MOST 0x3fffu
#define NO_TAG     UINT32_MAX

struct tag {
	uint64_t wr_id;
	uint32_t next;
	uint16_t unexpected; /* messages that the program knew of when it posted the buffer */
	uint8_t expect;      /* completions to come */
};

/* A signaled change. */
struct change {
	uint64_t wr_id;
	uint32_t tag;  /* or NO_TAG */
	uint32_t last; /* changes posted up to and with this one */
};

struct mlx5_tags {
	struct fabric_lock post_lock;
	uint32_t count; /* tagged buffers, and one more that ends the chain */
	uint32_t head, tail;
	struct tag *tag;
	uint32_t ops_mask;          /* changes that may be outstanding, less one */
	uint32_t posted, completed; /* changes, free running */
	uint32_t first, last;       /* signaled ones, free running */
	struct change *change;
	uint16_t seen, handled; /* unexpected messages: polled, reported by the program */
};

uint32_t mlx5_tags_entries(const struct mlx5_tags *tags)
{
	return drv_pow2_up(tags->count);
}

int mlx5_tags_init(struct mlx5_srq *srq, const struct ibv_tm_cap *cap)
{
	struct mlx5_tags *t = calloc(1, sizeof(*t));
	uint32_t ops = drv_pow2_up(cap->max_ops ? cap->max_ops : 1);

	if (!t)
		return -ENOMEM;
	t->count = cap->max_num_tags + 1;
	t->tag = calloc(t->count, sizeof(*t->tag));
	t->change = calloc(ops, sizeof(*t->change));
	srq->tags = t;
	if (!t->tag || !t->change) {
		mlx5_tags_fini(srq);
		return -ENOMEM;
	}
	t->ops_mask = ops - 1;
	t->tail = t->count - 1;
	for (uint32_t i = 0; i < t->count; i++)
		t->tag[i].next = i + 1 < t->count ? i + 1 : NO_TAG;
	return 0;
}

void mlx5_tags_fini(struct mlx5_srq *srq)
{
	if (!srq->tags)
		return;
	free(srq->tags->change);
	free(srq->tags->tag);
	free(srq->tags);
	srq->tags = NULL;
}

/* One of the completions that the number waits for has come. */
static void release(struct mlx5_tags *t, uint32_t i)
{
	if (!t->tag[i].expect || --t->tag[i].expect)
		return;
	t->tag[i].next = NO_TAG;
	t->tag[t->tail].next = i;
	t->tail = i;
}

/* ---- changes ---- */

static void note_change(struct mlx5_tags *t, const struct ibv_ops_wr *wr, uint32_t tag)
{
	t->posted++;
	if (!(wr->flags & IBV_OPS_SIGNALED))
		return;
	t->change[t->last++ & t->ops_mask] =
		(struct change){ .wr_id = wr->wr_id, .tag = tag, .last = t->posted };
	if (tag != NO_TAG)
		t->tag[tag].expect++;
}

static int add(struct mlx5_srq *srq, struct ibv_ops_wr *wr, struct hca_tag_op *op)
{
	struct mlx5_tags *t = srq->tags;
	uint32_t i = t->head;
	struct tag *tag = &t->tag[i];

	if (wr->tm.add.num_sge < 0 || wr->tm.add.num_sge > 1)
		return -explain(EINVAL, "SRQ 0x%x: %d elements in a tagged buffer; 1 is most",
				srq->base.vb.hca->srqn, wr->tm.add.num_sge);
	if (tag->next == NO_TAG)
		return -explain(ENOMEM, "SRQ 0x%x: %u tagged buffers are posted, which is all",
				srq->base.vb.hca->srqn, t->count - 1);
	t->head = tag->next;
	op->change = HCA_TAG_APPEND;
	op->index = (uint16_t)tag->next;
	op->tag = wr->tm.add.tag;
	op->mask = wr->tm.add.mask;
	if (wr->flags & IBV_OPS_TM_SYNC)
		t->handled = (uint16_t)wr->tm.unexpected_cnt;
	*tag = (struct tag){ .wr_id = wr->tm.add.recv_wr_id,
			     .next = NO_TAG,
			     .unexpected = t->handled,
			     .expect = 1 };
	wr->tm.handle = i;
	note_change(t, wr, i);
	return 0;
}

static int del(struct mlx5_srq *srq, const struct ibv_ops_wr *wr, struct hca_tag_op *op)
{
	struct mlx5_tags *t = srq->tags;
	uint32_t i = wr->tm.handle;

	if (i >= t->count || !t->tag[i].expect)
		return -explain(EINVAL, "SRQ 0x%x: there is no tagged buffer %u",
				srq->base.vb.hca->srqn, i);
	op->change = HCA_TAG_REMOVE;
	op->index = (uint16_t)i;
	note_change(t, wr, i);
	if (!(wr->flags & IBV_OPS_SIGNALED))
		release(t, i);
	return 0;
}

/* The driver's part of a change; the adapter's follows without the lock. */
static int prepare(struct mlx5_srq *srq, struct ibv_ops_wr *wr, struct hca_tag_op *op)
{
	struct mlx5_tags *t = srq->tags;

	if (t->posted - t->completed > t->ops_mask)
		return -explain(
			ENOMEM,
			"SRQ 0x%x: %u changes of the list are outstanding; poll completions of "
			"signaled ones to make room",
			srq->base.vb.hca->srqn, t->ops_mask + 1);
	*op = (struct hca_tag_op){ .change = HCA_TAG_SYNC,
				   .signaled = wr->flags & IBV_OPS_SIGNALED,
				   .sync = wr->flags & IBV_OPS_TM_SYNC,
				   .handled = (uint16_t)wr->tm.unexpected_cnt };
	switch (wr->opcode) {
	case IBV_WR_TAG_ADD:
		return add(srq, wr, op);
	case IBV_WR_TAG_DEL:
		return del(srq, wr, op);
	case IBV_WR_TAG_SYNC:
		if (op->sync)
			t->handled = op->handled;
		note_change(t, wr, NO_TAG);
		return 0;
	default:
		return -explain(EINVAL, "SRQ 0x%x: opcode %d is no change of a tag list",
				srq->base.vb.hca->srqn, wr->opcode);
	}
}

static int post(struct mlx5_srq *srq, struct ibv_ops_wr *wr)
{
	struct hca_sge buffer = { 0 };
	struct hca_tag_op op;
	bool good;
	int err;

	fabric_lock(&srq->base.lock);
	err = prepare(srq, wr, &op);
	fabric_unlock(&srq->base.lock);
	if (err)
		return err;
	if (op.change == HCA_TAG_APPEND && wr->tm.add.num_sge) {
		buffer.addr = wr->tm.add.sg_list->addr;
		buffer.len = wr->tm.add.sg_list->length;
		buffer.key = wr->tm.add.sg_list->lkey;
	}
	good = hca_srq_tag(srq->base.vb.hca, 0, &op, buffer.len ? &buffer : NULL);
	assert(good); /* the entry in turn is free, as its number is */
	(void)good;
	return 0;
}

int mlx5_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad)
{
	struct mlx5_srq *srq = to_msrq(ibsrq);
	int err = 0;

	if (!srq->tags) {
		*bad = wr;
		return -explain(EINVAL, "SRQ 0x%x matches no tags: its type is not IBV_SRQT_TM",
				srq->base.vb.hca->srqn);
	}
	fabric_lock(&srq->tags->post_lock);
	for (; wr && !err; wr = err ? wr : wr->next) {
		err = post(srq, wr);
		if (err)
			*bad = wr;
	}
	fabric_unlock(&srq->tags->post_lock);
	return err;
}

/* ---- completions ---- */

static void complete_change(struct mlx5_cq *cq, struct mlx5_tags *t, const struct mlx5_cqe64 *cqe,
			    struct mlx5_completion *out)
{
	const struct change *c = &t->change[t->first++ & t->ops_mask];
	bool removal = cqe->app_op == HCA_TM_REMOVE;
	bool done = be32toh(cqe->tm_cqe.success) & MLX5_TMC_SUCCESS;

	out->wr_id = c->wr_id;
	/* A message has taken the buffer before it could be removed. */
	if (removal && !done)
		out->status = IBV_WC_TM_ERR;
	t->completed = c->last;
	if (c->tag == NO_TAG)
		return;
	if (be16toh(cqe->tm_cqe.hw_phase_cnt) != t->tag[c->tag].unexpected)
		cq->tag_sync = true;
	release(t, c->tag);
	/* No message will come for it. */
	if (removal && done)
		release(t, c->tag);
}

static void complete_match(struct mlx5_tags *t, const struct mlx5_cqe64 *cqe,
			   struct mlx5_completion *out)
{
	uint32_t i = be16toh(cqe->app_info);

	if (i >= t->count || !t->tag[i].expect) {
		out->status = IBV_WC_GENERAL_ERR; /* removed meanwhile, without a completion */
		return;
	}
	out->wr_id = t->tag[i].wr_id;
	if (cqe->app_op == HCA_TM_CONSUMED_MSG_SW_RNDV || cqe->app_op == HCA_TM_CANCELED)
		out->status = IBV_WC_TM_RNDV_INCOMPLETE;
	/* The data is still to come. */
	if (cqe->app_op != HCA_TM_CONSUMED)
		release(t, i);
}

bool mlx5_tag_complete(struct mlx5_cq *cq, struct mlx5_rsc *rsc, const struct mlx5_cqe64 *cqe,
		       struct mlx5_completion *out)
{
	struct mlx5_srq *srq = container_of(rsc, struct mlx5_srq, rsc);
	uint8_t what = cqe->app_op;

	if (rsc->type != MLX5_RSC_SRQ || !srq->tags)
		return false;
	out->wr_id = 0;
	cq->tag_sync = false;
	fabric_lock(&srq->base.lock);
	if (what == HCA_TM_APPEND || what == HCA_TM_REMOVE || what == HCA_TM_SYNC)
		complete_change(cq, srq->tags, cqe, out);
	else if (what != HCA_TM_UNEXPECTED && what != HCA_TM_NO_TAG)
		complete_match(srq->tags, cqe, out);
	else if (what == HCA_TM_UNEXPECTED)
		cq->tag_sync = (uint16_t)(++srq->tags->seen - srq->tags->handled) > AHEAD_MOST;
	fabric_unlock(&srq->base.lock);
	if (what == HCA_TM_UNEXPECTED || what == HCA_TM_NO_TAG)
		out->wr_id = drv_srq_complete(&srq->base, be16toh(cqe->wqe_counter));
	return true;
}

enum ibv_wc_opcode mlx5_tag_wc_opcode(const struct mlx5_cqe64 *cqe)
{
	switch (cqe->app_op) {
	case HCA_TM_APPEND:
		return IBV_WC_TM_ADD;
	case HCA_TM_REMOVE:
		return IBV_WC_TM_DEL;
	case HCA_TM_SYNC:
		return IBV_WC_TM_SYNC;
	case HCA_TM_NO_TAG:
		return IBV_WC_TM_NO_TAG;
	default:
		return IBV_WC_TM_RECV;
	}
}

unsigned int mlx5_tag_wc_flags(const struct mlx5_cqe64 *cqe)
{
	unsigned int flags = cqe->op_own >> 4 == MLX5_CQE_RESP_SEND_IMM ? IBV_WC_WITH_IMM : 0;

	switch (cqe->app_op) {
	case HCA_TM_CONSUMED:
		return flags | IBV_WC_TM_MATCH;
	case HCA_TM_EXPECTED:
		return flags | IBV_WC_TM_DATA_VALID;
	case HCA_TM_CONSUMED_MSG:
	case HCA_TM_CONSUMED_MSG_SW_RNDV:
	case HCA_TM_CANCELED:
		return flags | IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID;
	default:
		return flags;
	}
}
