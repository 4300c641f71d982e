/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory. It is memory of this process that the adapter gives out, so a copy is a copy; the
 * real adapter's rules (words of four bytes, regions counted from 0) hold all the same.
 */
#include "verbs/dm.h"

#include <stdlib.h>

#include "hca/memory/dm.h"
#include "util/explain.h"
#include "verbs/mr.h"
#include "verbs/object_check.h"
#include "verbs/removal.h"
#include "verbs/result.h"

#define GRAIN         64u /* the adapter allocates in these */
#define LOG_ALIGN_MAX 12u
#define ACCESS_ALLOWED                                                                             \
	((unsigned int)IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_OPTIONAL_RANGE)

/* Memory that was freed through another handle has no bytes. */
static uint64_t length_of(const struct vb_dm *dm)
{
	return dm->hca->addr ? dm->hca->length : 0;
}

static int check_copy(const struct vb_dm *dm, uint64_t offset, size_t length)
{
	uint64_t there = length_of(dm);

	if (offset > there || length > there - offset)
		return explain(EFAULT, "device memory: %zu bytes at %llu; it has %llu bytes",
			       length, (unsigned long long)offset, (unsigned long long)there);
	if ((offset | length) & 3)
		return explain(EINVAL,
			       "device memory: %zu bytes at %llu; both must be multiples of 4",
			       length, (unsigned long long)offset);
	return 0;
}

/* Word by word, as on the bus: a concurrent reader of a word sees its old or its new value. */
static int copy_to(struct ibv_dm *public, uint64_t offset, const void *from, size_t length)
{
	struct vb_dm *dm = to_dm(public);
	int err = check_copy(dm, offset, length);
	_Atomic uint32_t *to;
	uint32_t word;

	if (err)
		return vb_result(err);
	to = (_Atomic uint32_t *)((char *)dm->hca->addr + offset);
	for (size_t i = 0; i < length / 4; i++) {
		__builtin_memcpy(&word, (const char *)from + 4 * i, sizeof(word));
		atomic_store_explicit(&to[i], word, memory_order_relaxed);
	}
	return 0;
}

static int copy_from(void *to, struct ibv_dm *public, uint64_t offset, size_t length)
{
	struct vb_dm *dm = to_dm(public);
	int err = check_copy(dm, offset, length);
	_Atomic uint32_t *from;
	uint32_t word;

	if (err)
		return vb_result(err);
	from = (_Atomic uint32_t *)((char *)dm->hca->addr + offset);
	for (size_t i = 0; i < length / 4; i++) {
		word = atomic_load_explicit(&from[i], memory_order_relaxed);
		__builtin_memcpy((char *)to + 4 * i, &word, sizeof(word));
	}
	return 0;
}

static int check_exists(struct ibv_context *context)
{
	const struct hca_adapter *a = to_context(context)->adapter;

	if (!a->limits.max_dm_size)
		return explain(EOPNOTSUPP, "device memory: %s has none", a->name);
	return 0;
}

static int check_alloc(struct ibv_context *context, const struct ibv_alloc_dm_attr *attr)
{
	uint64_t most = to_context(context)->adapter->limits.max_dm_size;
	int err = check_exists(context);

	if (err)
		return err;
	if (attr->comp_mask)
		return explain(EINVAL, "ibv_alloc_dm: comp_mask 0x%x; no bit is known",
			       attr->comp_mask);
	if (!attr->length || attr->length > most)
		return explain(EINVAL, "ibv_alloc_dm: %zu bytes; 1 to %llu can be allocated",
			       attr->length, (unsigned long long)most);
	if (attr->log_align_req > LOG_ALIGN_MAX)
		return explain(EINVAL, "ibv_alloc_dm: an alignment of 2^%u; at most 2^%u",
			       attr->log_align_req, LOG_ALIGN_MAX);
	return 0;
}

static struct ibv_dm *make(struct vb_context *ctx, struct hca_dm *hca)
{
	struct vb_dm *dm = calloc(1, sizeof(*dm));

	if (!dm)
		return NULL;
	dm->hca = hca;
	dm->dm.context = &ctx->verbs.context;
	dm->dm.memcpy_to_dm = copy_to;
	dm->dm.memcpy_from_dm = copy_from;
	dm->dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->dm.handle = hca->index;
	verbena_handle_add(&dm->own, ctx, VB_KIND_DM, hca->index);
	vb_context_get(ctx);
	return &dm->dm;
}

struct ibv_dm *vb_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct vb_context *ctx = to_context(context);
	size_t size = (attr->length + GRAIN - 1) & ~(size_t)(GRAIN - 1);
	struct hca_dm *hca;
	struct ibv_dm *dm;
	int err = check_alloc(context, attr);

	if (!err)
		err = hca_dm_create(&ctx->hca, attr->length, size, &hca);
	if (err)
		return vb_null(err);
	dm = make(ctx, hca);
	if (!dm)
		hca_dm_destroy(hca);
	return dm ? dm : vb_null(-ENOMEM);
}

static void free_handle(struct vb_dm *dm)
{
	struct vb_context *ctx = dm->own.ctx;

	vb_handle_remove(&dm->own);
	free(dm);
	vb_context_put(ctx);
}

int vb_free_dm(struct ibv_dm *public)
{
	struct vb_dm *dm = to_dm(public);
	int err = check_exists(public->context);

	if (!err)
		err = vb_check_destroy(public->context);
	if (!err)
		err = vb_check_dm(public, ENOENT, "ibv_free_dm");
	if (!err)
		err = hca_dm_destroy(dm->hca);
	if (err)
		return vb_result(err);
	free_handle(dm);
	return 0;
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct vb_context *ctx = to_context(context);
	struct hca_dm *hca;
	struct ibv_dm *dm;
	int err = hca_dm_import(&ctx->hca, handle, &hca);

	if (err)
		return vb_null(err);
	dm = make(ctx, hca);
	if (!dm)
		hca_dm_unref(hca);
	return dm ? dm : vb_null(-ENOMEM);
}

void ibv_unimport_dm(struct ibv_dm *public)
{
	struct vb_dm *dm = to_dm(public);

	hca_dm_unref(dm->hca);
	free_handle(dm);
}

int ibv_dm_export_dmabuf_fd(struct ibv_dm *public)
{
	int fd = check_exists(public->context);

	if (!fd)
		fd = vb_check_dm(public, ENOENT, "ibv_dm_export_dmabuf_fd");
	if (!fd)
		fd = hca_dm_export(to_dm(public)->hca);
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

static void region_gone(void *arg)
{
	hca_dm_put(arg);
}

static int check_register(const struct vb_pd *pd, const struct vb_dm *dm, uint64_t offset,
			  size_t length, unsigned int access)
{
	uint64_t there = length_of(dm);

	if (pd->pd.context != dm->dm.context)
		return explain(EINVAL, "ibv_reg_dm_mr: the protection domain and the device memory "
				       "belong to different contexts");
	if (access & ~ACCESS_ALLOWED)
		return explain(EINVAL,
			       "ibv_reg_dm_mr: access 0x%x has bits 0x%x that device memory "
			       "does not have",
			       access, access & ~ACCESS_ALLOWED);
	if (!(access & IBV_ACCESS_ZERO_BASED))
		return explain(EINVAL,
			       "ibv_reg_dm_mr: access 0x%x lacks IBV_ACCESS_ZERO_BASED; device "
			       "memory is addressed by offset",
			       access);
	if (offset > there || length > there - offset)
		return explain(EINVAL,
			       "ibv_reg_dm_mr: %zu bytes at %llu; the device memory has %llu bytes",
			       length, (unsigned long long)offset, (unsigned long long)there);
	return 0;
}

struct ibv_mr *vb_reg_dm_mr(struct ibv_pd *public_pd, struct ibv_dm *public, uint64_t offset,
			    size_t length, unsigned int access)
{
	struct vb_dm *dm = to_dm(public);
	struct vb_mr_range range = { .length = length };
	struct vb_mr *mr;
	int err = check_exists(public_pd->context);

	if (!err)
		err = vb_check_dm(public, ENOENT, "ibv_reg_dm_mr");
	if (!err)
		err = check_register(to_pd(public_pd), dm, offset, length, access);
	if (err)
		return vb_null(err);
	range.va = (char *)dm->hca->addr + offset;
	err = vb_mr_make(to_pd(public_pd), &range, access, true, VB_MR_DM, &mr);
	if (err)
		return vb_null(err);
	hca_dm_get(dm->hca);
	mr->hca->on_gone_arg = dm->hca;
	mr->hca->on_gone = region_gone;
	return &mr->mr;
}
