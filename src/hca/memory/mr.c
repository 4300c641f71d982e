/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions. The lock guards references and the end of a region; no data path takes it.
 */
#include "hca/memory/mr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/numbers.h"
#include "fabric/share.h"
#include "hca/hca.h"
#include "hca/memory/key.h"
#include "hca/memory/mr_defer.h"
#include "hca/memory/mr_gate.h"
#include "hca/memory/mr_share.h"
#include "hca/memory/mr_stopped.h"
#include "hca/memory/persist.h"
#include "fabric/epoch.h"
#include "hca/peers/peer.h"
#include "hca/peers/rpc.h"
#include "util/explain.h"
#include "util/valgrind.h"

#define ACCESS_KNOWN                                                                               \
	(HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ |               \
	 HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_MW_BIND | HCA_ACCESS_ZERO_BASED |                   \
	 HCA_ACCESS_ON_DEMAND | HCA_ACCESS_HUGETLB | HCA_ACCESS_FLUSH_GLOBAL |                     \
	 HCA_ACCESS_FLUSH_PERSISTENT)
/* Hints: bits without a meaning here are ignored (IBV_ACCESS_OPTIONAL_RANGE). */
#define ACCESS_OPTIONAL 0x3ff00000u

struct hca_mr *hca_mr_find(uint32_t key)
{
	struct hca_mr *mr = hca_table_find(&hca.memory.mr.table, key >> 8);

	return mr && mr->key == key ? mr : NULL;
}

static int check_access(uint32_t access)
{
	if (access & ~(ACCESS_KNOWN | ACCESS_OPTIONAL))
		return explain(EINVAL, "access 0x%x has unknown bits 0x%x", access,
			       access & ~(ACCESS_KNOWN | ACCESS_OPTIONAL));
	if ((access & (HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & HCA_ACCESS_LOCAL_WRITE))
		return explain(EINVAL,
			       "access 0x%x: remote write or atomic needs local write as well",
			       access);
	return 0;
}

static bool is_implicit(const void *addr, uint64_t length, uint32_t access)
{
	return !addr && length == UINT64_MAX && (access & HCA_ACCESS_ON_DEMAND);
}

/* Fallback where the kernel does not tell permissions: every page is mapped. */
static bool is_mapped(const void *addr, uint64_t length)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), from = (uintptr_t)addr & -page;
	uint64_t pages = (((uintptr_t)addr + length + page - 1) - from) / page;
	unsigned char seen[1024];

	for (uint64_t i = 0; i < pages; i += sizeof(seen)) {
		uint64_t n = pages - i < sizeof(seen) ? pages - i : sizeof(seen);

		if (mincore((void *)(from + i * page), n * page, seen))
			return false;
	}
	return true;
}

/* An adapter that pins pages refuses memory that is not mapped, or not writable. */
static int check_memory(const void *addr, uint64_t length, uint32_t access)
{
	bool write = access & HCA_ACCESS_LOCAL_WRITE;
	int err = share_range_check(addr, length, write);

	if (err == -EOPNOTSUPP)
		err = is_mapped(addr, length) ? 0 : -EFAULT;
	if (err)
		return explain(-err, "not all of %p + 0x%llx is mapped%s", addr,
			       (unsigned long long)length, write ? " and writable" : "");
	return 0;
}

int hca_mr_check(const void *addr, uint64_t length, uint32_t access)
{
	return check_memory(addr, length, access);
}

/* Accesses by which bytes come from outside, without a store of this process. */
#define WRITTEN_FROM_OUTSIDE                                                                       \
	(HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_MW_BIND |                 \
	 HCA_ACCESS_ON_DEMAND)

/* How the memory of a region is reached, and its claim on shared pages. */
struct reach {
	uint32_t flags;        /* HCA_MR_ */
	bool shared, deferred; /* or neither */
	uint32_t generation;
};

/* Decides how the memory is reached. share.lock is held. */
static int claim(void *addr, uint64_t length, uint32_t access, struct reach *out)
{
	int err;

	*out = (struct reach){ 0 };
	if (is_implicit(addr, length, access)) {
		out->flags = HCA_MR_CAREFUL;
		return 0;
	}
	if (length > UINT64_MAX - (uintptr_t)addr)
		return explain(EINVAL, "region %p + 0x%llx wraps around", addr,
			       (unsigned long long)length);
	if (!length)
		return 0;
	if (access & WRITTEN_FROM_OUTSIDE)
		valgrind_mark_filled(addr, length);
	/* On demand, the program may unmap the memory or map other memory there at any time. */
	if (access & HCA_ACCESS_ON_DEMAND) {
		out->flags = HCA_MR_CAREFUL;
		return 0;
	}
	err = check_memory(addr, length, access);
	if (err)
		return err;
	out->deferred = mr_defer_is_wanted(addr, length);
	if (out->deferred)
		return 0;
	err = mr_share_claim(addr, length, &out->generation);
	if (!err) {
		out->shared = true;
		out->flags = HCA_MR_SHARED;
	} else if (err == -ENOMEM || err == -EFAULT) {
		return explain(-err, "the region %p + 0x%llx cannot be registered", addr,
			       (unsigned long long)length);
	}
	return 0;
}

static int create(struct hca_pd *pd, void *addr, uint64_t length, uint64_t iova, uint32_t access,
		  const struct reach *reach, struct hca_mr **out)
{
	struct hca_mr_entry entry = { 0 };
	struct hca_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return -ENOMEM;
	err = hca_key_get(&mr->index, &mr->key);
	if (err)
		goto free_mr;
	mr->ctx = pd->ctx;
	mr->addr = addr;
	mr->length = length;
	mr->iova = iova;
	mr->access = access;
	mr->created_ns = hca_now_ns();
	mr->shared = reach->shared;
	mr->share_generation = reach->generation;
	mr->null = reach->flags & HCA_MR_NULL;
	mr->refs = 1;
	entry = (struct hca_mr_entry){
		.context = pd->ctx->uid,
		.pdn = pd->pdn,
		.access = access,
		.flags = reach->flags,
		.iova = iova,
		.length = length,
		.va = (uintptr_t)addr,
	};
	if (!mr->null) {
		mr->pd = pd;
		hca_pd_get(pd);
	}
	/* From here on, processes that share the context may destroy it. */
	err = hca_table_set(&hca.memory.mr.table, mr->index, mr);
	if (err)
		goto put_pd;
	hca_key_publish(mr->index, &entry, mr->key);
	*out = mr;
	return 0;
put_pd:
	if (mr->pd)
		hca_pd_put(mr->pd);
	hca_key_put(mr->index);
free_mr:
	free(mr);
	return err;
}

static int create_without_claim(struct hca_pd *pd, void *addr, uint64_t length, uint64_t iova,
				uint32_t access, uint32_t flags, struct hca_mr **out)
{
	const struct reach reach = { .flags = flags };
	int err = hca_ctx_take(pd->ctx, HCA_KIND_MR);

	if (err)
		return err;
	err = create(pd, addr, length, iova, access, &reach, out);
	if (err)
		hca_ctx_drop(pd->ctx, HCA_KIND_MR);
	return err;
}

int hca_mr_create(struct hca_pd *pd, void *addr, uint64_t length, uint64_t iova, uint32_t access,
		  struct hca_mr **out)
{
	struct reach reach;
	int err = check_access(access);

	if (!err && length > pd->ctx->adapter->limits.max_mr_size)
		err = explain(EINVAL, "a region of %llu bytes; the largest has %llu",
			      (unsigned long long)length,
			      (unsigned long long)pd->ctx->adapter->limits.max_mr_size);
	if (!err && access & HCA_ACCESS_FLUSH_PERSISTENT)
		err = persist_check(addr, length);
	if (!err)
		err = hca_ctx_take(pd->ctx, HCA_KIND_MR);
	if (err)
		return err;
	pthread_mutex_lock(&hca.memory.share.lock);
	err = claim(addr, length, access, &reach);
	if (err)
		goto unlock;
	err = create(pd, addr, length, iova, access, &reach, out);
	if (err && reach.shared)
		mr_share_release(addr, length, reach.generation);
	if (!err && reach.deferred)
		mr_defer_begin(*out);
unlock:
	pthread_mutex_unlock(&hca.memory.share.lock);
	if (err)
		hca_ctx_drop(pd->ctx, HCA_KIND_MR);
	mr_defer_catch_up();
	return err;
}

int hca_mr_create_owned(struct hca_pd *pd, void *addr, uint64_t length, uint64_t iova,
			uint32_t access, struct hca_mr **out)
{
	int err = check_access(access);

	if (err)
		return err;
	return create_without_claim(pd, addr, length, iova, access,
				    share_covers(addr, length) ? HCA_MR_SHARED : 0, out);
}

int hca_mr_create_null(struct hca_pd *pd, struct hca_mr **out)
{
	const uint32_t access =
		HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ;

	return create_without_claim(pd, NULL, UINT64_MAX, 0, access, HCA_MR_NULL, out);
}

/* Bits as enum ibv_rereg_mr_flags has them. */
enum {
	CHANGE_TRANSLATION = 1,
	CHANGE_PD = 2,
	CHANGE_ACCESS = 4,
};

/* share.lock is held, and peers cannot find the region: its memory becomes another one. */
static void move(struct hca_mr *mr, void *addr, uint64_t length, uint32_t access,
		 struct reach *reach, struct hca_mr_entry *entry)
{
	/* A fork since the claim has made it void. */
	if (reach->shared && !mr_share_renew(addr, length, &reach->generation)) {
		reach->shared = false;
		reach->flags &= ~(uint32_t)HCA_MR_SHARED;
	}
	if (mr->shared)
		mr_share_release(mr->addr, mr->length, mr->share_generation);
	if (mr->deferred)
		mr_defer_cancel(mr);
	mr->addr = addr;
	mr->length = length;
	mr->iova = access & HCA_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr;
	mr->shared = reach->shared;
	mr->share_generation = reach->generation;
	if (reach->deferred)
		mr_defer_begin(mr);
	entry->va = (uintptr_t)addr;
	entry->iova = mr->iova;
	entry->length = length;
	entry->flags = reach->flags;
}

static int check_change(const struct hca_mr *mr, const void *addr, uint64_t length, uint32_t access)
{
	int err = check_access(access);

	if (mr->owner)
		return explain(EOPNOTSUPP, "the region belongs to another process, which alone "
					   "can change it");
	if (mr->gone)
		return explain(ENOENT, "the region was deregistered through another handle");
	if (!err && atomic_load(&mr->windows))
		err = explain(EBUSY, "a memory window is bound to the region");
	if (!err && access & HCA_ACCESS_FLUSH_PERSISTENT)
		err = persist_check(addr, length);
	return err;
}

int hca_mr_change(struct hca_mr *mr, int flags, struct hca_pd *pd, void *addr, uint64_t length,
		  uint32_t access)
{
	struct hca_mr_entry *e = hca_key_entry(mr->index), next;
	bool moved = flags & CHANGE_TRANSLATION;
	uint32_t new_access = flags & CHANGE_ACCESS ? access : mr->access;
	struct reach reach;
	int err =
		check_change(mr, moved ? addr : mr->addr, moved ? length : mr->length, new_access);

	if (!err && moved) {
		pthread_mutex_lock(&hca.memory.share.lock);
		err = claim(addr, length, new_access, &reach);
		pthread_mutex_unlock(&hca.memory.share.lock);
	}
	if (err)
		return err;
	hca_key_invalidate(mr->index);
	mr_stopped_wait();
	pthread_mutex_lock(&hca.memory.share.lock);
	next = *e;
	if (moved)
		move(mr, addr, length, new_access, &reach, &next);
	if (flags & CHANGE_PD) {
		hca_pd_get(pd);
		hca_pd_put(mr->pd);
		mr->pd = pd;
		next.pdn = pd->pdn;
	}
	mr->access = next.access = new_access;
	e->generation++;
	/* The key stays, as on the real adapters: peers have it. */
	hca_key_publish(mr->index, &next, mr->key);
	pthread_mutex_unlock(&hca.memory.share.lock);
	return 0;
}

void hca_mr_set_variant(struct hca_mr *mr, uint8_t variant)
{
	mr->key = (mr->key & ~0xffu) | variant;
	/* [MR1] pairs with hca_mem_find() */
	atomic_store_explicit(&hca_key_entry(mr->index)->key, mr->key, memory_order_release);
}

/* ---- handles ---- */

struct wanted {
	uint32_t index;
	uint32_t key;
};

/* 0: the caller, and no other thread, destroys the region. */
static int claim_end(struct hca_mr *mr)
{
	unsigned int windows = atomic_load(&mr->windows);
	bool gone;

	pthread_mutex_lock(&hca.memory.mr.lock);
	gone = mr->gone;
	mr->gone |= !windows;
	pthread_mutex_unlock(&hca.memory.mr.lock);
	if (gone)
		return explain(ENOENT, "the region was deregistered through another handle");
	if (windows)
		return explain(EBUSY, "%u memory windows are bound to the region", windows);
	return 0;
}

static int destroy_foreign(struct hca_mr *mr)
{
	const struct wanted w = { mr->index, mr->key };
	int err = hca_rpc_call(mr->owner, HCA_RPC_MR_DESTROY, &w, sizeof(w), NULL, 0);

	/* A dead process has no regions any more. */
	if (err && err != -ECONNRESET)
		return explain(-err, "the region's owner did not deregister it: %s",
			       strerror(-err));
	hca_mr_unref(mr);
	return 0;
}

int hca_mr_destroy(struct hca_mr *mr)
{
	uint64_t partly;
	uint32_t generation;
	bool shared, gate;
	int err;

	if (mr->owner)
		return destroy_foreign(mr);
	err = claim_end(mr);
	if (err)
		return err;
	hca_table_set(&hca.memory.mr.table, mr->index, NULL);
	hca_key_invalidate(mr->index);
	/* The end of a suspension may have changed both until the region left the table. */
	pthread_mutex_lock(&hca.memory.share.lock);
	shared = mr->shared;
	generation = mr->share_generation;
	partly = mr_defer_end(mr);
	gate = mr_defer_overlaps(mr->addr, mr->length);
	pthread_mutex_unlock(&hca.memory.share.lock);
	/* The pages become private, and peers may write to them through another region. */
	if (gate)
		mr_gate_close();
	mr_stopped_end(mr->addr, mr->length, shared, generation);
	if (partly)
		mr_defer_release(mr, partly);
	if (gate)
		mr_gate_open();
	hca_key_put(mr->index);
	hca_ctx_drop(mr->ctx, HCA_KIND_MR);
	if (mr->pd)
		hca_pd_put(mr->pd);
	if (mr->on_gone)
		mr->on_gone(mr->on_gone_arg);
	hca_mr_unref(mr);
	return 0;
}

void hca_mr_unref(struct hca_mr *mr)
{
	bool last;

	pthread_mutex_lock(&hca.memory.mr.lock);
	/* A region that was not destroyed stays, for a later import. */
	last = !--mr->refs && (mr->gone || mr->owner);
	pthread_mutex_unlock(&hca.memory.mr.lock);
	if (last)
		free(mr);
}

struct hca_mr *hca_mr_of_key(const struct hca_ctx *ctx, uint32_t key)
{
	struct hca_mr *mr = hca_table_find(&hca.memory.mr.table, key >> 8);

	return mr && mr->key == key && mr->ctx->uid == ctx->uid ? mr : NULL;
}

static struct hca_mr *get_here(const struct hca_ctx *ctx, uint32_t index)
{
	struct hca_mr *mr;

	pthread_mutex_lock(&hca.memory.mr.lock);
	mr = hca_table_find(&hca.memory.mr.table, index);
	if (mr && (mr->gone || mr->ctx->uid != ctx->uid || !hca_ctx_is_here(mr->ctx)))
		mr = NULL;
	if (mr)
		mr->refs++;
	pthread_mutex_unlock(&hca.memory.mr.lock);
	return mr;
}

/* Inside an epoch section. */
static int look_there(const struct hca_ctx *ctx, uint32_t index, struct hca_mr *out)
{
	const uint32_t none = HCA_MR_WINDOW1 | HCA_MR_WINDOW2 | HCA_MR_INDIRECT;
	fabric_id_t owner = fabric_key_owner(index);
	struct hca_peer *peer = owner ? hca_peer_at(fabric_id_slot(owner)) : NULL;
	const struct hca_mr_entry *e;
	uint32_t flags;

	if (!peer || peer->id != owner || peer->is_self)
		return -ENOENT;
	e = &peer->segment->mr[index];
	/* [MR1] */
	out->key = atomic_load_explicit(&e->key, memory_order_acquire);
	flags = hca_entry_flags(e);
	if (e->context != ctx->uid || (!out->key && !(flags & (HCA_MR_DOMAIN | HCA_MR_DEVICE))))
		return -ENOENT;
	if (!out->key || flags & none)
		return -EINVAL;
	out->index = index;
	out->owner = owner;
	out->length = e->length;
	out->iova = e->iova;
	out->access = e->access;
	out->null = flags & HCA_MR_NULL;
	out->refs = 1;
	return 0;
}

int hca_mr_import(struct hca_ctx *ctx, uint32_t index, struct hca_mr **out)
{
	struct hca_mr *mr = index < HCA_MR_ENTRIES ? get_here(ctx, index) : NULL;
	int err = -ENOENT;

	if (mr) {
		*out = mr;
		return 0;
	}
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	epoch_enter();
	if (index < HCA_MR_ENTRIES)
		err = look_there(ctx, index, mr);
	epoch_exit();
	if (!err) {
		*out = mr;
		return 0;
	}
	free(mr);
	return explain(-err,
		       err == -EINVAL ? "the handle %u is not that of a region"
				      : "no region of the context has the handle %u",
		       index);
}

static int serve_destroy(fabric_id_t from, const void *in, void *out)
{
	const struct wanted *w = in;
	struct hca_mr *mr;
	int err;

	(void)from;
	(void)out;
	pthread_mutex_lock(&hca.memory.mr.lock);
	mr = w->index < HCA_MR_ENTRIES ? hca_table_find(&hca.memory.mr.table, w->index) : NULL;
	if (mr && (mr->gone || mr->key != w->key))
		mr = NULL;
	if (mr)
		mr->refs++;
	pthread_mutex_unlock(&hca.memory.mr.lock);
	if (!mr)
		return -ENOENT;
	err = hca_mr_destroy(mr);
	if (err)
		hca_mr_unref(mr);
	return err;
}

__attribute__((constructor)) static void serve(void)
{
	hca_rpc_serve(HCA_RPC_MR_DESTROY, serve_destroy);
}
