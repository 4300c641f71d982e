/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues and indirection tables. The driver has the rings, the adapter the states.
 *
 * An indirection table takes an array of pointers to work queues, some of which a program may have
 * destroyed: each is looked up among the live ones before it is followed. verbs_state.wq_lock guards
 * the sets of live queues and tables.
 */
#include "verbs/wq.h"

#include <stdlib.h>

#include "hca/raw/wq.h"
#include "util/explain.h"
#include "verbs/driver.h"
#include "verbs/event.h"
#include "verbs/object_check.h"
#include "verbs/removal.h"
#include "verbs/result.h"
#include "verbs/state.h"

/* With wq_lock held. */
static struct vb_wq *find(const struct ibv_wq *wq)
{
	struct hash_link *link = hash_find(&verbs_state.wqs, (uintptr_t)wq);

	return link ? container_of(link, struct vb_wq, link) : NULL;
}

/* ---- work queues ---- */

static int check(struct ibv_context *context, const struct ibv_wq_init_attr *attr)
{
	const struct hca_adapter *a = to_context(context)->adapter;
	/* The drivers of the two families differ in errno, and on a queue of no requests. */
	bool first = a->model->driver == HCA_DRIVER_MLX4;
	uint32_t flags = attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS ? attr->create_flags : 0;
	int err;

	if (!to_context(context)->driver->create_wq || a->ports[0].link != HCA_LINK_ETHERNET)
		return explain(EOPNOTSUPP,
			       "ibv_create_wq: %s has no work queues; they need Ethernet", a->name);
	if (attr->comp_mask & ~(uint32_t)(IBV_WQ_INIT_ATTR_RESERVED - 1))
		return explain(first ? EOPNOTSUPP : EINVAL,
			       "ibv_create_wq: comp_mask 0x%x; 0x%x is known", attr->comp_mask,
			       IBV_WQ_INIT_ATTR_RESERVED - 1);
	if (attr->wq_type != IBV_WQT_RQ)
		return explain(first ? EOPNOTSUPP : EINVAL,
			       "ibv_create_wq: type %d; there is only IBV_WQT_RQ",
			       (int)attr->wq_type);
	if (flags & ~(uint32_t)(IBV_WQ_FLAGS_RESERVED - 1))
		return explain(EOPNOTSUPP, "ibv_create_wq: create_flags 0x%x; 0x%x is known", flags,
			       IBV_WQ_FLAGS_RESERVED - 1);
	if (!attr->pd || !attr->cq)
		return explain(EINVAL, "ibv_create_wq: there is no %s",
			       attr->pd ? "completion queue" : "protection domain");
	if (attr->pd->context != context || attr->cq->context != context)
		return explain(EINVAL, "ibv_create_wq: the %s belongs to another context",
			       attr->pd->context == context ? "completion queue"
							    : "protection domain");
	if ((!attr->max_wr && !first) || attr->max_wr > a->limits.max_qp_wr ||
	    attr->max_sge > a->limits.max_sge)
		return explain(EINVAL,
			       "ibv_create_wq: %u requests of %u elements; 1 to %llu requests of "
			       "up to %llu on %s",
			       attr->max_wr, attr->max_sge, (unsigned long long)a->limits.max_qp_wr,
			       (unsigned long long)a->limits.max_sge, a->name);
	err = vb_check_pd(attr->pd, ENOENT, "ibv_create_wq");
	return err ? err : vb_check_cq(attr->cq, ENOENT, "ibv_create_wq");
}

struct ibv_wq *verbena_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr,
				 const void *driver_attr)
{
	struct vb_context *ctx = to_context(context);
	struct ibv_wq_init_attr granted = *attr;
	struct vb_wq *wq;
	int err = check(context, attr);

	if (!(granted.comp_mask & IBV_WQ_INIT_ATTR_FLAGS))
		granted.create_flags = 0;
	if (!err)
		err = ctx->driver->create_wq(ctx, &granted, driver_attr, &wq);
	if (err)
		return vb_null(err);
	attr->max_wr = granted.max_wr;
	attr->max_sge = granted.max_sge;
	wq->wq.context = context;
	wq->wq.wq_context = attr->wq_context;
	wq->wq.pd = attr->pd;
	wq->wq.cq = attr->cq;
	wq->wq.wq_type = attr->wq_type;
	wq->wq.state = IBV_WQS_RESET;
	wq->wq.wq_num = wq->wq.handle = wq->hca->wqn;
	/* The inline wrapper of older headers initialises these again; nothing has used them yet. */
	pthread_mutex_init(&wq->wq.mutex, NULL);
	pthread_cond_init(&wq->wq.cond, NULL);
	wq->pd = to_pd(attr->pd);
	vb_parent_get(wq->pd);
	verbena_handle_add(&wq->own, ctx, VB_KIND_WQ, wq->hca->wqn);
	vb_context_get(ctx);
	pthread_mutex_lock(&verbs_state.wq_lock);
	hash_add(&verbs_state.wqs, &wq->link, (uintptr_t)&wq->wq);
	pthread_mutex_unlock(&verbs_state.wq_lock);
	return &wq->wq;
}

struct ibv_wq *vb_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	return verbena_create_wq(context, attr, NULL);
}

static int check_flags(const struct hca_adapter *a, const struct ibv_wq_attr *attr)
{
	if (!(attr->attr_mask & IBV_WQ_ATTR_FLAGS))
		return 0;
	if (a->model->driver == HCA_DRIVER_MLX4)
		return explain(EOPNOTSUPP, "ibv_modify_wq: %s changes no flags after creation",
			       a->name);
	if (attr->flags_mask & ~(uint32_t)IBV_WQ_FLAGS_CVLAN_STRIPPING)
		return explain(EOPNOTSUPP,
			       "ibv_modify_wq: flags_mask 0x%x; only VLAN stripping (0x%x) can be "
			       "changed after creation",
			       attr->flags_mask, IBV_WQ_FLAGS_CVLAN_STRIPPING);
	return 0;
}

int vb_modify_wq(struct ibv_wq *public, struct ibv_wq_attr *attr)
{
	struct vb_context *ctx = to_context(public->context);
	struct vb_wq *wq = to_wq(public);
	int err = vb_check_present(public->context);

	if (!err)
		err = vb_check_wq(public, EINVAL, "ibv_modify_wq");
	if (err)
		return vb_result(err);
	if (!attr->attr_mask || attr->attr_mask & ~(uint32_t)(IBV_WQ_ATTR_RESERVED - 1))
		return vb_result(explain(
			EINVAL,
			"ibv_modify_wq: attr_mask 0x%x; bits of 0x%x are known, and one is needed",
			attr->attr_mask, IBV_WQ_ATTR_RESERVED - 1));
	if ((attr->attr_mask & IBV_WQ_ATTR_STATE && (unsigned int)attr->wq_state > IBV_WQS_ERR) ||
	    (attr->attr_mask & IBV_WQ_ATTR_CURR_STATE &&
	     (unsigned int)attr->curr_wq_state > IBV_WQS_ERR))
		return vb_result(
			explain(EINVAL, "ibv_modify_wq: the state is not RESET, RDY or ERR"));
	if (attr->attr_mask & IBV_WQ_ATTR_CURR_STATE &&
	    (int)attr->curr_wq_state != (int)wq->hca->state)
		return vb_result(explain(EINVAL, "ibv_modify_wq: the queue is in state %d, not %d",
					 (int)wq->hca->state, (int)attr->curr_wq_state));
	err = check_flags(ctx->adapter, attr);
	if (err)
		return vb_result(err);
	if (attr->attr_mask & IBV_WQ_ATTR_STATE) {
		if (wq->hca->state == HCA_WQS_RESET && attr->wq_state == IBV_WQS_RDY)
			ctx->driver->reset_wq(wq);
		err = hca_wq_modify(wq->hca, (enum hca_wq_state)attr->wq_state);
		if (err)
			return vb_result(err);
		if (attr->wq_state == IBV_WQS_RESET)
			ctx->driver->reset_wq(wq);
	}
	public->state = (enum ibv_wq_state)wq->hca->state;
	if (attr->attr_mask & IBV_WQ_ATTR_FLAGS && attr->flags_mask & IBV_WQ_FLAGS_CVLAN_STRIPPING)
		hca_wq_set_vlan_stripping(wq->hca, attr->flags & IBV_WQ_FLAGS_CVLAN_STRIPPING);
	return 0;
}

int vb_destroy_wq(struct ibv_wq *public)
{
	struct vb_wq *wq = to_wq(public);
	struct vb_context *ctx;
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_wq(public, ENOENT, "ibv_destroy_wq");
	if (err)
		return vb_result(err);
	ctx = wq->own.ctx;
	/* With the lock held, so that no new table refers to it meanwhile. */
	pthread_mutex_lock(&verbs_state.wq_lock);
	err = ctx->driver->destroy_wq(wq);
	if (!err)
		hash_remove(&verbs_state.wqs, &wq->link);
	pthread_mutex_unlock(&verbs_state.wq_lock);
	if (err)
		return vb_result(err);
	vb_handle_remove(&wq->own);
	vb_event_wait(&public->mutex, &public->cond, &public->events_completed, &wq->async_events);
	pthread_cond_destroy(&public->cond);
	pthread_mutex_destroy(&public->mutex);
	vb_parent_put(wq->pd);
	free(wq);
	vb_context_put(ctx);
	return 0;
}

/* ---- indirection tables ---- */

struct vb_ind_table *vb_ind_table_find(struct ibv_context *context,
				       const struct ibv_rwq_ind_table *table)
{
	struct vb_ind_table *found = NULL;
	struct hash_link *link;

	pthread_mutex_lock(&verbs_state.wq_lock);
	link = hash_find(&verbs_state.ind_tables, (uintptr_t)table);
	if (link)
		found = container_of(link, struct vb_ind_table, link);
	if (found && found->table.context != context)
		found = NULL;
	pthread_mutex_unlock(&verbs_state.wq_lock);
	return found;
}

/* With wq_lock held. */
static int resolve(struct ibv_context *context, struct ibv_wq *const *from, size_t count,
		   struct hca_wq **to)
{
	for (size_t i = 0; i < count; i++) {
		struct vb_wq *wq = from[i] ? find(from[i]) : NULL;
		int err;

		if (!wq)
			return explain(EINVAL, "ibv_create_rwq_ind_table: entry %zu is %s", i,
				       from[i] ? "no work queue, or one that was destroyed"
					       : "NULL");
		if (wq->wq.context != context)
			return explain(EINVAL,
				       "ibv_create_rwq_ind_table: entry %zu, work queue 0x%x, "
				       "belongs to another context",
				       i, wq->wq.wq_num);
		err = vb_check_wq(&wq->wq, EINVAL, "ibv_create_rwq_ind_table");
		if (err)
			return err;
		to[i] = wq->hca;
	}
	return 0;
}

static int check_table(struct ibv_context *context, const struct ibv_rwq_ind_table_init_attr *attr)
{
	const struct hca_adapter *a = to_context(context)->adapter;

	if (!to_context(context)->driver->create_wq || a->ports[0].link != HCA_LINK_ETHERNET)
		return explain(
			EOPNOTSUPP,
			"ibv_create_rwq_ind_table: %s has no work queues; they need Ethernet",
			a->name);
	if (attr->comp_mask & ~(uint32_t)(IBV_CREATE_IND_TABLE_RESERVED - 1))
		return explain(EINVAL, "ibv_create_rwq_ind_table: comp_mask 0x%x; no bit is known",
			       attr->comp_mask);
	if (attr->log_ind_tbl_size > to_context(context)->driver->log_ind_table)
		return explain(EINVAL,
			       "ibv_create_rwq_ind_table: 2^%u entries; %s has tables of at most "
			       "2^%u",
			       attr->log_ind_tbl_size, a->name,
			       to_context(context)->driver->log_ind_table);
	if (!attr->ind_tbl)
		return explain(EINVAL, "ibv_create_rwq_ind_table: ind_tbl is NULL");
	return 0;
}

struct ibv_rwq_ind_table *vb_create_rwq_ind_table(struct ibv_context *context,
						  struct ibv_rwq_ind_table_init_attr *attr)
{
	struct vb_ind_table *table = NULL;
	struct hca_wq **wq = NULL;
	int err = check_table(context, attr);

	if (err)
		return vb_null(err);
	table = calloc(1, sizeof(*table));
	wq = calloc((size_t)1 << attr->log_ind_tbl_size, sizeof(struct hca_wq *));
	if (!table || !wq) {
		err = -ENOMEM;
		goto free;
	}
	pthread_mutex_lock(&verbs_state.wq_lock);
	err = resolve(context, attr->ind_tbl, (size_t)1 << attr->log_ind_tbl_size, wq);
	if (!err)
		err = hca_ind_table_create(wq, attr->log_ind_tbl_size, &table->hca);
	if (!err) {
		table->table.context = context;
		table->table.ind_tbl_handle = (int)table->hca->number;
		table->table.ind_tbl_num = (int)table->hca->number;
		hash_add(&verbs_state.ind_tables, &table->link, (uintptr_t)&table->table);
	}
	pthread_mutex_unlock(&verbs_state.wq_lock);
	if (err)
		goto free;
	free(wq);
	verbena_handle_add(&table->own, to_context(context), VB_KIND_IND_TABLE, table->hca->number);
	vb_context_get(to_context(context));
	return &table->table;

free:
	free(wq);
	free(table);
	return vb_null(err);
}

int vb_destroy_rwq_ind_table(struct ibv_rwq_ind_table *public)
{
	struct vb_ind_table *table = to_ind_table(public);
	struct vb_context *ctx;
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_ind_table(public, ENOENT, "ibv_destroy_rwq_ind_table");
	if (err)
		return vb_result(err);
	pthread_mutex_lock(&verbs_state.wq_lock);
	err = hca_ind_table_destroy(table->hca);
	if (!err)
		hash_remove(&verbs_state.ind_tables, &table->link);
	pthread_mutex_unlock(&verbs_state.wq_lock);
	if (err)
		return vb_result(err);
	vb_handle_remove(&table->own);
	ctx = table->own.ctx;
	free(table);
	vb_context_put(ctx);
	return 0;
}
