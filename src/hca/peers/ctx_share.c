/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/peers/ctx_share.h"

#include <errno.h>

#include "fabric/directory.h"
#include "fabric/registry.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/peers/peer.h"
#include "hca/peers/rpc.h"
#include "util/explain.h"

#define MAX_SHARERS 256

/* The other sharers. The process that opened the context first is not in the registry. */
static size_t find_sharers(const struct hca_ctx *ctx, fabric_id_t *out)
{
	struct fabric_reg_entry found[MAX_SHARERS];
	size_t n = fabric_reg_find(FABRIC_REG_CONTEXT, &ctx->uid, sizeof(ctx->uid), found,
				   MAX_SHARERS);
	fabric_id_t self = fabric_self();
	size_t count = 0;

	for (size_t i = 0; i < n && i < MAX_SHARERS; i++)
		if (found[i].owner != self && found[i].owner != ctx->creator)
			out[count++] = found[i].owner;
	if (ctx->creator != self)
		out[count++] = ctx->creator;
	return count;
}

static int join(const struct hca_ctx *ctx)
{
	fabric_id_t id[MAX_SHARERS + 1];
	size_t n;
	int err = fabric_reg_add(FABRIC_REG_CONTEXT, &ctx->uid, sizeof(ctx->uid), 0, false);

	if (err && err != -EEXIST)
		return err;
	/* Registered before the others are read: of two that join at once, one finds the other. */
	n = find_sharers(ctx, id);
	hca.ops->serve_copies();
	for (size_t i = 0; i < n; i++)
		if (hca_peer_connect(id[i]))
			hca_rpc_call(id[i], HCA_RPC_SERVE_COPIES, &ctx->uid, sizeof(ctx->uid), NULL,
				     0);
	return 0;
}

int hca_ctx_share(struct hca_ctx *ctx, uint64_t uid, fabric_id_t creator)
{
	ctx->uid = uid;
	ctx->creator = creator;
	return join(ctx);
}

void hca_ctx_unshare(struct hca_ctx *ctx)
{
	if (hca_ctx_is_here(ctx) && ctx->creator != ctx->home)
		fabric_reg_del(FABRIC_REG_CONTEXT, &ctx->uid, sizeof(ctx->uid), 0);
}

void hca_row_show(struct hca_mr_entry *row, const struct hca_ctx *ctx, uint32_t kind)
{
	row->context = ctx->uid;
	atomic_store_explicit(&row->users, 0, memory_order_relaxed);
	/* [CS1] pairs with is_row(): the context before the kind */
	__atomic_store_n(&row->flags, kind, __ATOMIC_RELEASE);
}

bool hca_row_is_shown(const struct hca_mr_entry *row, uint32_t kind)
{
	return __atomic_load_n(&row->flags, __ATOMIC_ACQUIRE) == kind;
}

void hca_row_hide(struct hca_mr_entry *row)
{
	__atomic_store_n(&row->flags, 0, __ATOMIC_RELEASE);
}

/* [CS1] */
static bool is_row(const struct hca_mr_entry *row, const struct hca_ctx *ctx, uint32_t *kind)
{
	*kind = __atomic_load_n(&row->flags, __ATOMIC_ACQUIRE);
	return row->context == ctx->uid;
}

static void for_each_row(const struct hca_ctx *ctx, uint32_t number,
			 void (*fn)(struct hca_mr_entry *row, uint32_t kind, void *arg), void *arg)
{
	fabric_id_t id[MAX_SHARERS + 1];
	size_t n;

	/* A forked child's copies of its parent's objects are shared with no process. */
	if (!hca_ctx_is_here(ctx))
		return;
	n = find_sharers(ctx, id);
	epoch_enter();
	for (size_t i = 0; i < n; i++) {
		struct hca_peer *peer = hca_peer_at(fabric_id_slot(id[i]));
		uint32_t kind;

		if (!peer || peer->id != id[i] || peer->is_self)
			continue;
		if (is_row(&peer->segment->mr[number], ctx, &kind))
			fn(&peer->segment->mr[number], kind, arg);
	}
	epoch_exit();
}

struct query {
	uint32_t kind;
	struct hca_row_others found;
};

static void add_row(struct hca_mr_entry *row, uint32_t kind, void *arg)
{
	struct query *q = arg;

	if (kind != q->kind) {
		q->found.other_kind |= kind || atomic_load(&row->key);
		return;
	}
	q->found.exists = true;
	q->found.users += atomic_load(&row->users);
}

struct hca_row_others hca_row_query(const struct hca_ctx *ctx, uint32_t number, uint32_t kind)
{
	struct query q = { .kind = kind };

	if (number < HCA_MR_ENTRIES)
		for_each_row(ctx, number, add_row, &q);
	return q.found;
}

static void hide(struct hca_mr_entry *row, uint32_t kind, void *arg)
{
	if (kind == *(const uint32_t *)arg)
		__atomic_store_n(&row->flags, 0, __ATOMIC_RELEASE);
}

void hca_row_hide_others(const struct hca_ctx *ctx, uint32_t number, uint32_t kind)
{
	for_each_row(ctx, number, hide, &kind);
}
