/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/peers/ctx_share.h"

#include <errno.h>
#include <time.h>

#include "fabric/directory.h"
#include "fabric/registry.h"
#include "fabric/service.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/peers/peer.h"
#include "hca/peers/rpc.h"
#include "util/explain.h"

#define MAX_SHARERS     256
#define HIDE_NAP_NS     50000
#define HIDE_TIMEOUT_NS 5000000000ull

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
	__atomic_store_n(&row->context, ctx->uid, __ATOMIC_RELAXED);
	atomic_store_explicit(&row->users, 0, memory_order_relaxed);
	/* [CS1] pairs with read_row(): the context before the kind */
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

/* A row of another process, as it was read once. */
struct row {
	uint32_t kind, key, users;
};

/* A request to hide a row. */
struct hide {
	uint64_t context;
	uint32_t number, kind;
};

struct waiting {
	uint32_t kind;
	unsigned int shown;
};

/* [CS1] */
static bool read_row(const struct hca_mr_entry *from, const struct hca_ctx *ctx, struct row *out)
{
	out->kind = __atomic_load_n(&from->flags, __ATOMIC_ACQUIRE);
	out->key = atomic_load(&from->key);
	out->users = atomic_load(&from->users);
	return __atomic_load_n(&from->context, __ATOMIC_RELAXED) == ctx->uid;
}

/* Calls fn with a copy of each row: its owner may write to it at any time. */
static void for_each_row(const struct hca_ctx *ctx, uint32_t number,
			 void (*fn)(fabric_id_t owner, const struct row *row, void *arg), void *arg)
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
		struct row row;

		if (!peer || peer->id != id[i] || peer->is_self)
			continue;
		if (read_row(&peer->segment->mr[number], ctx, &row))
			fn(id[i], &row, arg);
	}
	epoch_exit();
}

struct query {
	uint32_t kind;
	struct hca_row_others found;
};

static void add_row(fabric_id_t owner, const struct row *row, void *arg)
{
	struct query *q = arg;

	(void)owner;
	if (row->kind != q->kind) {
		q->found.other_kind |= row->kind || row->key;
		return;
	}
	q->found.exists = true;
	q->found.users += row->users;
}

struct hca_row_others hca_row_query(const struct hca_ctx *ctx, uint32_t number, uint32_t kind)
{
	struct query q = { .kind = kind };

	if (number < HCA_MR_ENTRIES)
		for_each_row(ctx, number, add_row, &q);
	return q.found;
}

/* ---- hiding rows of other processes ---- */

static void ask_to_hide(fabric_id_t owner, const struct row *row, void *arg)
{
	const struct hide *h = arg;

	if (row->kind == h->kind)
		hca_rpc_notify(owner, HCA_RPC_ROW_HIDE, h, sizeof(*h));
}

void hca_row_hide_others(const struct hca_ctx *ctx, uint32_t number, uint32_t kind)
{
	struct hide h = { .context = ctx->uid, .number = number, .kind = kind };

	for_each_row(ctx, number, ask_to_hide, &h);
}

static void count_shown(fabric_id_t owner, const struct row *row, void *arg)
{
	struct waiting *w = arg;
	const struct hca_peer *peer = hca_peer_at(fabric_id_slot(owner));

	/* A process that is stopped hides its row when it goes on. */
	if (row->kind == w->kind && peer && hca_peer_is_up(peer) && !hca_peer_is_halted(peer))
		w->shown++;
}

void hca_row_wait_hidden(const struct hca_ctx *ctx, uint32_t number, uint32_t kind)
{
	const struct timespec nap = { .tv_nsec = HIDE_NAP_NS };
	uint64_t until_ns = hca_now_ns() + HIDE_TIMEOUT_NS;
	struct waiting w = { .kind = kind };

	/* The service thread sends the notifications. */
	if (fabric_service_is_self())
		return;
	for (;;) {
		w.shown = 0;
		for_each_row(ctx, number, count_shown, &w);
		if (!w.shown || hca_now_ns() > until_ns)
			return;
		nanosleep(&nap, NULL);
	}
}

static int serve_hide(fabric_id_t from, const void *in, void *out)
{
	const struct hide *h = in;
	struct hca_mr_entry *own;

	(void)from;
	(void)out;
	if (h->number >= HCA_MR_ENTRIES || (h->kind != HCA_MR_DOMAIN && h->kind != HCA_MR_DEVICE))
		return -EINVAL;
	own = &hca.peers.segment->mr[h->number];
	/* [CS1] */
	if (hca_row_is_shown(own, h->kind) &&
	    __atomic_load_n(&own->context, __ATOMIC_RELAXED) == h->context)
		hca_row_hide(own);
	return 0;
}

__attribute__((constructor)) static void serve(void)
{
	hca_rpc_serve(HCA_RPC_ROW_HIDE, serve_hide);
}
