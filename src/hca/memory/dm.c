/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory is allocated in the share memfd, so that peers reach it like any region. The
 * model's size is the budget of each process. A process that shares the context maps it
 * (ctx_share.h).
 */
#include "hca/memory/dm.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric/numbers.h"
#include "fabric/share.h"
#include "fabric/share_alloc.h"
#include "hca/hca.h"
#include "hca/memory/dm_op.h"
#include "hca/memory/key.h"
#include "hca/memory/udmabuf.h"
#include "hca/peers/ctx_share.h"
#include "fabric/epoch.h"
#include "hca/peers/peer.h"
#include "hca/peers/peer_memory.h"
#include "hca/peers/rpc.h"
#include "util/explain.h"

static int take(const struct hca_adapter *adapter, uint64_t size)
{
	uint64_t most = adapter->limits.max_dm_size, *mine = &hca.memory.dm.used[adapter->index];
	int err = 0;

	pthread_mutex_lock(&hca.memory.dm.lock);
	if (size > most || *mine > most - size)
		err = explain(ENOMEM, "%llu bytes of device memory; %s has %llu, %llu are in use",
			      (unsigned long long)size, adapter->name, (unsigned long long)most,
			      (unsigned long long)*mine);
	else
		*mine += size;
	pthread_mutex_unlock(&hca.memory.dm.lock);
	return err;
}

static void give_back(const struct hca_adapter *adapter, uint64_t size)
{
	pthread_mutex_lock(&hca.memory.dm.lock);
	hca.memory.dm.used[adapter->index] -= size;
	pthread_mutex_unlock(&hca.memory.dm.lock);
}

/* Publishes address and length for processes that map it, in an entry without a key. */
static int show(struct hca_dm *dm)
{
	uint32_t key;
	int err = hca_key_get(&dm->index, &key);

	if (err)
		return err;
	err = hca_table_set(&hca.memory.dm.table, dm->index, dm);
	if (err) {
		hca_key_put(dm->index);
		return err;
	}
	dm->row = hca_key_entry(dm->index);
	dm->row->va = (uintptr_t)dm->addr;
	dm->row->length = dm->length;
	hca_row_show(dm->row, dm->ctx, HCA_MR_DEVICE);
	return 0;
}

int hca_dm_create(struct hca_ctx *ctx, uint64_t length, uint64_t size, struct hca_dm **out)
{
	struct hca_dm *dm;
	int err;

	if (!length)
		return explain(EINVAL, "device memory of 0 bytes");
	err = hca.ops->join(); /* a forked child may have joined for nothing else yet */
	if (!err)
		err = take(ctx->adapter, size);
	if (err)
		return err;
	dm = calloc(1, sizeof(*dm));
	if (!dm) {
		err = -ENOMEM;
		goto give_back;
	}
	*dm = (struct hca_dm){ .ctx = ctx, .length = length, .size = size, .refs = 1 };
	dm->addr = share_alloc_device(size);
	if (!dm->addr) {
		err = -ENOMEM;
		goto free_dm;
	}
	err = show(dm);
	if (err)
		goto free_memory;
	*out = dm;
	return 0;
free_memory:
	share_free(dm->addr);
free_dm:
	free(dm);
give_back:
	give_back(ctx->adapter, size);
	return err;
}

/* ---- import ---- */

/* Inside an epoch section. Not one of the link's mappings, which end with the link. */
static int map_there(const struct hca_ctx *ctx, uint32_t index, struct hca_dm *dm)
{
	fabric_id_t owner = fabric_key_owner(index);
	struct hca_peer *peer = owner ? hca_peer_at(fabric_id_slot(owner)) : NULL;
	const struct hca_mr_entry *e;
	uint64_t va, length;
	int err;

	if (!peer || peer->id != owner || peer->is_self)
		return -ENOENT;
	e = &peer->segment->mr[index];
	if (e->context != ctx->uid)
		return -ENOENT;
	if (!hca_row_is_shown(e, HCA_MR_DEVICE))
		return e->flags || atomic_load(&e->key) ? -EINVAL : -ENOENT;
	va = e->va;
	length = e->length;
	err = peer_memory_map(peer, va, length, &dm->addr);
	if (err)
		return err;
	dm->length = length;
	dm->owner = owner;
	return 0;
}

static void unmap(struct hca_dm *dm)
{
	hca_peer_memory_unmap(dm->addr, dm->length);
	dm->addr = NULL;
}

static struct hca_dm *get_here(const struct hca_ctx *ctx, uint32_t index)
{
	struct hca_dm *dm;

	pthread_mutex_lock(&hca.memory.dm.lock);
	dm = hca_table_find(&hca.memory.dm.table, index);
	if (dm && (!dm->addr || dm->ctx->uid != ctx->uid || !hca_ctx_is_here(dm->ctx)))
		dm = NULL;
	if (dm)
		dm->refs++;
	pthread_mutex_unlock(&hca.memory.dm.lock);
	return dm;
}

static int refuse(int err, uint32_t index)
{
	if (err == -EOPNOTSUPP)
		return explain(EOPNOTSUPP,
			       "the device memory %u belongs to a process that does not share its "
			       "memory",
			       index);
	return explain(-err,
		       err == -ENOENT ? "no device memory of the context has the handle %u"
				      : "the device memory %u cannot be imported",
		       index);
}

int hca_dm_import(struct hca_ctx *ctx, uint32_t index, struct hca_dm **out)
{
	struct hca_dm *dm = index < HCA_MR_ENTRIES ? get_here(ctx, index) : NULL;
	int err = -ENOENT;

	if (dm) {
		*out = dm;
		return 0;
	}
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return -ENOMEM;
	*dm = (struct hca_dm){ .ctx = ctx, .index = index, .refs = 1 };
	epoch_enter();
	if (index < HCA_MR_ENTRIES)
		err = map_there(ctx, index, dm);
	epoch_exit();
	if (!err) {
		err = hca_table_set(&hca.memory.dm.table, index, dm);
		if (err)
			unmap(dm);
	}
	if (err) {
		free(dm);
		return refuse(err, index);
	}
	/* One use for the mapping itself. */
	dm->row = hca_key_entry(index);
	hca_row_show(dm->row, ctx, HCA_MR_DEVICE);
	hca_dm_get(dm);
	*out = dm;
	return 0;
}

/* ---- destruction ---- */

void hca_dm_get(struct hca_dm *dm)
{
	atomic_fetch_add_explicit(&dm->row->users, 1, memory_order_relaxed);
}

void hca_dm_put(struct hca_dm *dm)
{
	atomic_fetch_sub_explicit(&dm->row->users, 1, memory_order_release);
}

static int check_unused(const struct hca_dm *dm)
{
	unsigned int mine = atomic_load(&dm->row->users), others;

	if (dm->owner)
		mine--; /* the mapping */
	if (mine)
		return explain(EBUSY, "%u regions are on the device memory", mine);
	others = hca_row_query(dm->ctx, dm->index, HCA_MR_DEVICE).users;
	if (others)
		return explain(EBUSY, "other processes use the device memory");
	return 0;
}

static void end(struct hca_dm *dm)
{
	if (dm->op_maps)
		dm_op_forget(dm->addr);
	hca_row_hide(dm->row);
	pthread_mutex_lock(&hca.memory.dm.lock);
	if (hca_table_find(&hca.memory.dm.table, dm->index) == dm)
		hca_table_set(&hca.memory.dm.table, dm->index, NULL);
	pthread_mutex_unlock(&hca.memory.dm.lock);
	if (dm->owner) {
		unmap(dm);
		return;
	}
	share_free(dm->addr);
	dm->addr = NULL;
	hca_key_put(dm->index);
	give_back(dm->ctx->adapter, dm->size);
}

int hca_dm_destroy(struct hca_dm *dm)
{
	int err;

	if (!dm->addr)
		return explain(ENOENT, "the device memory was freed through another handle");
	err = check_unused(dm);
	if (err)
		return err;
	if (dm->owner) {
		/* The owner counts this mapping as a user: hide it first. */
		hca_row_hide(dm->row);
		err = hca_rpc_call(dm->owner, HCA_RPC_DM_DESTROY, &dm->index, sizeof(dm->index),
				   NULL, 0);
		if (err && err != -ECONNRESET) {
			__atomic_store_n(&dm->row->flags, HCA_MR_DEVICE, __ATOMIC_RELEASE);
			return explain(-err, "the owner did not free the device memory: %s",
				       strerror(-err));
		}
	}
	end(dm);
	hca_dm_unref(dm);
	return 0;
}

void hca_dm_unref(struct hca_dm *dm)
{
	bool last;

	pthread_mutex_lock(&hca.memory.dm.lock);
	last = !--dm->refs;
	pthread_mutex_unlock(&hca.memory.dm.lock);
	/* Memory of this process that was not freed stays, for a later import. */
	if (!last || (dm->addr && !dm->owner))
		return;
	if (dm->addr && atomic_load(&dm->row->users) > 1)
		return; /* a region still uses it */
	if (dm->addr)
		end(dm);
	free(dm);
}

int hca_dm_op_map(struct hca_dm *dm, unsigned int op, void **out)
{
	int err;

	if (!dm->addr)
		return explain(ENOENT, "the device memory was freed through another handle");
	err = dm_op_map(dm->addr, dm->length, op, out);
	if (!err)
		dm->op_maps++;
	return err;
}

int hca_dm_export(struct hca_dm *dm)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!dm->addr)
		return explain(ENOENT, "the device memory was freed through another handle");
	if (dm->owner)
		return explain(EOPNOTSUPP, "device memory is exported by the process that "
					   "allocated it");
	if (!share_covers(dm->addr, dm->length))
		return explain(EOPNOTSUPP, "the device memory is not shared, and so in no memory "
					   "file that could be exported (VERBENA_SHARE)");
	/* No other memory is on its pages; their offset in the share memfd is their address. */
	return hca_udmabuf_create(share_fd(), (uintptr_t)dm->addr,
				  (dm->length + page - 1) & ~(page - 1), "the device memory");
}

static int serve_destroy(fabric_id_t from, const void *in, void *out)
{
	uint32_t index = *(const uint32_t *)in;
	struct hca_dm *dm;
	int err;

	(void)from;
	(void)out;
	pthread_mutex_lock(&hca.memory.dm.lock);
	dm = index < HCA_MR_ENTRIES ? hca_table_find(&hca.memory.dm.table, index) : NULL;
	if (dm && (!dm->addr || dm->owner))
		dm = NULL;
	if (dm)
		dm->refs++;
	pthread_mutex_unlock(&hca.memory.dm.lock);
	if (!dm)
		return -ENOENT;
	err = hca_dm_destroy(dm);
	if (err)
		hca_dm_unref(dm);
	return err;
}

__attribute__((constructor)) static void serve(void)
{
	hca_rpc_serve(HCA_RPC_DM_DESTROY, serve_destroy);
}
