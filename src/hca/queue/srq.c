/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues. The chain of posted entries starts at `head`; the doorbell record counts
 * entries that were posted, `taken` those that were taken.
 */
#include "hca/queue/srq.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/device/async.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/device/qpn.h"
#include "util/explain.h"

int hca_srq_create(const struct hca_srq_init *init, struct hca_srq **out)
{
	struct hca_ctx *ctx = init->pd->ctx;
	struct hca_srq *srq;
	int err = hca_ctx_take(ctx, HCA_KIND_SRQ);

	if (err)
		return err;
	srq = calloc(1, sizeof(*srq));
	if (!srq) {
		err = -ENOMEM;
		goto drop;
	}
	srq->pd = init->pd;
	srq->async = ctx->async;
	srq->format = init->format;
	srq->type = init->type;
	srq->ring = init->ring;
	srq->cq = init->cq;
	srq->xrcd = init->xrcd;
	srq->user_index = init->user_index;
	srq->user = init->user;
	if (init->type == HCA_SRQ_TAG) {
		srq->tags = tag_list_create(init->tags);
		err = srq->tags ? 0 : -ENOMEM;
		if (err)
			goto free_srq;
	}
	/* A number of the host: other processes find the owner of an XRC queue by it. */
	err = hca_qpn_reserve(&srq->srqn);
	if (err)
		goto free_srq;
	pthread_mutex_lock(&hca.queue.srq.lock);
	srq->serial = ++hca.queue.srq.last_serial;
	err = hca_table_set(&hca.queue.srq.table, srq->srqn, srq);
	pthread_mutex_unlock(&hca.queue.srq.lock);
	if (err)
		goto put_number;
	hca_pd_get(srq->pd);
	if (srq->cq)
		atomic_fetch_add(&srq->cq->users, 1);
	*out = srq;
	return 0;
put_number:
	hca_qpn_release(srq->srqn);
free_srq:
	free(srq->tags);
	free(srq);
drop:
	hca_ctx_drop(ctx, HCA_KIND_SRQ);
	return err;
}

int hca_srq_destroy(struct hca_srq *srq)
{
	unsigned int users;

	pthread_mutex_lock(&hca.queue.srq.lock);
	users = atomic_load(&srq->users);
	if (!users)
		hca_table_set(&hca.queue.srq.table, srq->srqn, NULL);
	pthread_mutex_unlock(&hca.queue.srq.lock);
	if (users)
		return explain(EBUSY, "%u queue pairs receive through the shared receive queue",
			       users);
	epoch_wait();
	hca_qpn_release(srq->srqn);
	hca_async_forget(srq->async, srq->user);
	if (srq->cq)
		atomic_fetch_sub(&srq->cq->users, 1);
	hca_ctx_drop(srq->pd->ctx, HCA_KIND_SRQ);
	hca_pd_put(srq->pd);
	free(srq->tags);
	free(srq);
	return 0;
}

struct hca_srq *hca_srq_hold(const struct hca_adapter *adapter, uint32_t srqn)
{
	struct hca_srq *srq;

	pthread_mutex_lock(&hca.queue.srq.lock);
	srq = hca_table_find(&hca.queue.srq.table, srqn);
	if (srq && srq->pd->ctx->adapter != adapter)
		srq = NULL;
	if (srq)
		atomic_fetch_add(&srq->users, 1);
	pthread_mutex_unlock(&hca.queue.srq.lock);
	return srq;
}

struct hca_srq *hca_srq_find(uint32_t srqn)
{
	return hca_table_find(&hca.queue.srq.table, srqn);
}

uint16_t hca_srq_posted(const struct hca_srq *srq)
{
	return (uint16_t)(srq->format->rq_producer(&srq->ring) - srq->taken);
}

static void check_limit(struct hca_srq *srq)
{
	if (srq->limit && hca_srq_posted(srq) < srq->limit) {
		srq->limit = 0;
		hca_async_post(srq->async, HCA_EVENT_SRQ_LIMIT_REACHED, srq->user);
	}
}

/* Lock held. */
static inline bool take(struct hca_srq *srq, struct hca_recv *out)
{
	if (srq->failed || !hca_srq_posted(srq))
		return false;
	srq->format->rq_decode(&srq->ring, srq->head, out);
	out->counter = srq->head;
	srq->head = srq->format->srq_next(&srq->ring, srq->head) & (srq->ring.size - 1);
	srq->taken++;
	check_limit(srq);
	return true;
}

bool hca_srq_take(struct hca_srq *srq, struct hca_recv *out)
{
	bool found;

	fabric_lock(&srq->lock);
	found = take(srq, out);
	fabric_unlock(&srq->lock);
	return found;
}

/* ---- tag matching ---- */

/*
 * Matching and counting are one step: a buffer that is appended in between would be active, although a message
 * before it is unexpected.
 */
bool hca_srq_take_tagged(struct hca_srq *srq, enum hca_srq_message kind, uint64_t tag,
			 struct hca_recv *out, uint16_t *index, bool *taken)
{
	const struct tag_entry *e = NULL;

	fabric_lock(&srq->lock);
	if (kind == HCA_SRQ_TAGGED)
		e = tag_list_match(srq->tags, tag);
	if (e) {
		*index = tag_list_index(srq->tags, e);
		out->counter = 0;
		out->sge[0] = e->sge;
		out->sge_count = e->sge.len ? 1 : 0;
	}
	*taken = e || take(srq, out);
	if (!e && *taken && kind != HCA_SRQ_UNTAGGED)
		srq->tags->unexpected++;
	fabric_unlock(&srq->lock);
	return e;
}

void hca_srq_uncount(struct hca_srq *srq)
{
	fabric_lock(&srq->lock);
	tag_list_uncount(srq->tags);
	fabric_unlock(&srq->lock);
}

/* Lock held. */
static bool change_list(struct tag_list *list, const struct hca_tag_op *op,
			const struct hca_sge *sge, struct hca_tm_info *info)
{
	static const struct hca_sge empty;

	if (op->sync)
		tag_list_sync(list, op->handled);
	info->done = true;
	switch (op->change) {
	case HCA_TAG_SYNC:
		info->what = HCA_TM_SYNC;
		break;
	case HCA_TAG_APPEND:
		info->what = HCA_TM_APPEND;
		info->index = list->next;
		if (!tag_list_append(list, op, sge ? sge : &empty))
			return false;
		break;
	case HCA_TAG_REMOVE:
		info->what = HCA_TM_REMOVE;
		info->index = op->index;
		info->done = tag_list_remove(list, op->index);
		break;
	default:
		return false;
	}
	info->unexpected = list->unexpected;
	return true;
}

bool hca_srq_tag(struct hca_srq *srq, uint32_t qpn, const struct hca_tag_op *op,
		 const struct hca_sge *sge)
{
	struct hca_tm_info info = { 0 };
	struct hca_cqe cqe = {
		.is_recv = true,
		.qpn = qpn,
		.srqn = srq->srqn,
		.user_index = srq->user_index,
		.tm = &info,
	};
	bool good;

	if (!srq->tags)
		return false;
	epoch_enter();
	fabric_lock(&srq->lock);
	good = change_list(srq->tags, op, sge, &info);
	fabric_unlock(&srq->lock);
	if (good && op->signaled)
		hca_cq_add(srq->cq, &cqe);
	epoch_exit();
	return good;
}

void hca_srq_set_limit(struct hca_srq *srq, uint32_t limit)
{
	fabric_lock(&srq->lock);
	srq->limit = limit;
	check_limit(srq);
	fabric_unlock(&srq->lock);
}

uint32_t hca_srq_limit(struct hca_srq *srq)
{
	return srq->limit;
}
