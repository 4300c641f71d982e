/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions: registering, changing, deregistering, importing. These are the checks of the kernel
 * and of rdma-core; access rights are checked by the adapter (hca/memory/mr.c).
 */
#include "verbs/mr.h"

#include <stdlib.h>
#include <unistd.h>

#include "util/explain.h"
#include "verbs/dmah.h"
#include "verbs/driver.h"
#include "verbs/object_check.h"
#include "verbs/observer.h"
#include "verbs/removal.h"
#include "verbs/result.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

int vb_mr_check_access(struct vb_context *ctx, unsigned int access)
{
	struct ibv_device_attr_ex attr = { 0 };

	if (!(access &
	      (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)))
		return 0;
	ctx->driver->query_device(ctx, &attr);
	if ((access & IBV_ACCESS_ON_DEMAND) && !(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		return explain(EOPNOTSUPP,
			       "registration: %s has no on-demand paging; leave out "
			       "IBV_ACCESS_ON_DEMAND",
			       ctx->adapter->name);
	if ((access & IBV_ACCESS_FLUSH_GLOBAL &&
	     !(attr.device_cap_flags_ex & VB_DEVICE_FLUSH_GLOBAL)) ||
	    (access & IBV_ACCESS_FLUSH_PERSISTENT &&
	     !(attr.device_cap_flags_ex & VB_DEVICE_FLUSH_PERSISTENT)))
		return explain(EOPNOTSUPP,
			       "registration: %s has no RDMA flush; leave out "
			       "IBV_ACCESS_FLUSH_*",
			       ctx->adapter->name);
	return 0;
}

int vb_mr_make(struct vb_pd *pd, const struct vb_mr_range *range, unsigned int access, bool owned,
	       enum vb_mr_kind kind, struct vb_mr **out)
{
	struct vb_context *ctx = to_context(pd->pd.context);
	struct vb_mr *mr;
	int err = vb_check_pd(&pd->pd, kind == VB_MR_MEMORY ? EINVAL : ENOENT, "registration");

	if (err)
		return err;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	if (kind == VB_MR_NULL)
		err = hca_mr_create_null(pd->hca, &mr->hca);
	else if (owned)
		err = hca_mr_create_owned(pd->hca, range->va, range->length, range->iova, access,
					  &mr->hca);
	else
		err = hca_mr_create(pd->hca, range->va, range->length, range->iova, access,
				    &mr->hca);
	if (err) {
		free(mr);
		return err;
	}
	mr->hca->kind = kind;
	mr->mr.context = pd->pd.context;
	mr->mr.pd = &pd->pd;
	mr->mr.addr = range->addr;
	mr->mr.length = range->length;
	mr->mr.handle = mr->hca->index;
	mr->mr.lkey = mr->mr.rkey = mr->hca->key;
	if (kind != VB_MR_NULL) {
		mr->pd = pd;
		vb_parent_get(pd);
	}
	verbena_handle_add(&mr->own, ctx, VB_KIND_MR, mr->hca->index);
	vb_context_get(ctx);
	vb_observe(mr_created, mr);
	*out = mr;
	return 0;
}

static int check_range(const void *addr, size_t length, uint64_t iova, unsigned int access)
{
	const uintptr_t page = sysconf(_SC_PAGESIZE);

	if (length == SIZE_MAX && (access & IBV_ACCESS_ON_DEMAND)) {
		if (addr || iova)
			return explain(EINVAL,
				       "registration: an implicit on-demand region covers "
				       "the whole address space: address NULL, not %p, and "
				       "iova 0, not 0x%llx",
				       addr, (unsigned long long)iova);
		return 0;
	}
	if (length > UINTPTR_MAX - page || (uintptr_t)addr > UINTPTR_MAX - page - length)
		return explain(EINVAL, "registration: %p + %zu wraps around", addr, length);
	/* The kernel counts pages: 0 bytes inside a page have one page, at the start of a page none. */
	if (!length && !((uintptr_t)addr & (page - 1)))
		return explain(
			EINVAL,
			"registration: 0 bytes at %p, a page boundary; such a region has no page",
			addr);
	if (((uintptr_t)addr ^ iova) & (page - 1) && !(access & IBV_ACCESS_ZERO_BASED))
		return explain(
			EINVAL,
			"registration: iova 0x%llx and address %p have different page offsets",
			(unsigned long long)iova, addr);
	return 0;
}

int vb_mr_register(struct vb_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access,
		   bool owned, struct vb_mr **out)
{
	struct vb_mr_range range = { .addr = addr, .va = addr, .length = length, .iova = iova };
	int err = vb_mr_check_access(to_context(pd->pd.context), access);

	if (!err)
		err = check_range(addr, length, iova, access);
	if (err)
		return err;
	if ((access & IBV_ACCESS_ZERO_BASED) && iova == (uintptr_t)addr)
		range.iova = 0;
	return vb_mr_make(pd, &range, access, owned, VB_MR_MEMORY, out);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct vb_mr *mr;
	int err = vb_mr_register(to_pd(pd), addr, length, iova, access, false, &mr);

	return err ? vb_null(err) : &mr->mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, access);
}

struct ibv_mr *vb_alloc_null_mr(struct ibv_pd *pd)
{
	const struct vb_mr_range all = { .length = SIZE_MAX };
	struct vb_mr *mr;
	int err;

	if (to_context(pd->context)->adapter->model->driver == HCA_DRIVER_MLX4)
		return explain_null(EOPNOTSUPP, "ibv_alloc_null_mr: %s has no null region",
				    to_context(pd->context)->adapter->name);
	err = vb_mr_make(to_pd(pd), &all, 0, false, VB_MR_NULL, &mr);
	if (err)
		return vb_null(err);
	mr->mr.rkey = 0; /* libmlx5 sets the local key only, which peers may use as well */
	return &mr->mr;
}

static int check_change(const struct vb_mr *mr, int flags, const struct ibv_pd *pd,
			const void *addr, size_t length, int access)
{
	if (mr->hca->kind != VB_MR_MEMORY)
		return explain(
			EINVAL,
			"ibv_rereg_mr: only regions of the program's own memory can be changed");
	if (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED)
		return explain(EINVAL, "ibv_rereg_mr: flags 0x%x have unknown bits 0x%x", flags,
			       flags & ~IBV_REREG_MR_FLAGS_SUPPORTED);
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && (!addr || !length))
		return explain(EINVAL, "ibv_rereg_mr: new memory at %p, %zu bytes; both are needed",
			       addr, length);
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return explain(EINVAL,
			       "ibv_rereg_mr: access 0x%x is given, and flags lack "
			       "IBV_REREG_MR_CHANGE_ACCESS",
			       access);
	if ((flags & IBV_REREG_MR_CHANGE_PD) && (!pd || pd->context != mr->mr.context))
		return explain(EINVAL, "ibv_rereg_mr: the new protection domain %s",
			       pd ? "belongs to another context" : "is NULL");
	return 0;
}

static int change(struct vb_mr *mr, int flags, struct vb_pd *pd, void *addr, size_t length,
		  unsigned int access)
{
	int err = 0;

	if (!flags)
		return explain(EINVAL, "ibv_rereg_mr: flags are 0; there is nothing to change");
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		err = vb_mr_check_access(to_context(mr->mr.context), access);
	if (!err && (flags & IBV_REREG_MR_CHANGE_TRANSLATION))
		err = check_range(addr, length, (uintptr_t)addr, 0);
	if (err)
		return err;
	return hca_mr_change(mr->hca, flags, pd ? pd->hca : NULL, addr, length, access);
}

int ibv_rereg_mr(struct ibv_mr *public, int flags, struct ibv_pd *public_pd, void *addr,
		 size_t length, int access)
{
	struct vb_pd *pd = flags & IBV_REREG_MR_CHANGE_PD && public_pd ? to_pd(public_pd) : NULL;
	struct vb_mr *mr = to_mr(public);
	int err = vb_check_mr(public, EINVAL, "ibv_rereg_mr");

	if (!err && pd)
		err = vb_check_pd(public_pd, EINVAL, "ibv_rereg_mr");
	if (err) {
		errno = -err;
		return IBV_REREG_MR_ERR_CMD;
	}
	err = check_change(mr, flags, public_pd, addr, length, access);
	if (err) {
		errno = -err;
		return IBV_REREG_MR_ERR_INPUT;
	}
	err = change(mr, flags, pd, addr, length, access);
	if (err) {
		/* The API allows that the region is lost after this error; here it is unchanged. */
		errno = -err;
		return IBV_REREG_MR_ERR_CMD;
	}
	if (pd) {
		vb_parent_get(pd);
		vb_parent_put(mr->pd);
		mr->pd = pd;
		public->pd = public_pd;
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		public->addr = addr;
		public->length = length;
	}
	public->lkey = public->rkey = mr->hca->key;
	vb_observe(mr_changed, mr);
	return 0;
}

static void free_handle(struct vb_mr *mr)
{
	struct vb_context *ctx = mr->own.ctx;

	vb_observe(mr_destroyed, mr);
	vb_handle_remove(&mr->own);
	if (mr->pd)
		vb_parent_put(mr->pd);
	vb_dmah_put(mr->dmah);
	vb_object_free(mr, &mr->own, &mr->mr.context);
	vb_context_put(ctx);
}

int ibv_dereg_mr(struct ibv_mr *public)
{
	struct vb_mr *mr = to_mr(public);
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_mr(public, ENOENT, "ibv_dereg_mr");
	if (err)
		return vb_result(err);
	vb_observe(mr_destroying, mr);
	err = hca_mr_destroy(mr->hca);
	if (err) {
		vb_observe(object_busy, &mr->own, -err);
		return vb_result(err);
	}
	free_handle(mr);
	return 0;
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct vb_context *ctx = to_context(pd->context);
	struct vb_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return vb_null(-ENOMEM);
	err = hca_mr_import(&ctx->hca, handle, &mr->hca);
	if (err) {
		free(mr);
		return vb_null(err);
	}
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.length = mr->hca->length;
	mr->mr.handle = handle;
	mr->mr.lkey = mr->hca->key;
	mr->mr.rkey = mr->hca->null ? 0 : mr->hca->key;
	mr->pd = to_pd(pd);
	vb_parent_get(mr->pd);
	verbena_handle_add(&mr->own, ctx, VB_KIND_MR, handle);
	vb_context_get(ctx);
	return &mr->mr;
}

void ibv_unimport_mr(struct ibv_mr *public)
{
	struct vb_mr *mr = to_mr(public);

	hca_mr_unref(mr->hca);
	free_handle(mr);
}
