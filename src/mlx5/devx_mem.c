/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User memory (umem) for rings and doorbell records; protection domains and XRC domains.
 */
#include "mlx5/devx_mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hca/memory/buf.h"
#include "hca/memory/udmabuf.h"
#include "hca/peers/peer_memory.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_export.h"
#include "mlx5/devx_obj.h"
#include "mlx5/dv.h"
#include "util/explain.h"

#define UMEM_PAGE_MIN 12 /* log2 of the device's smallest and largest page */
#define UMEM_PAGE_MAX 43
#define UMEM_LIMIT    (1u << 24)

/* ---- user memory ---- */

/*
 * One of the allowed page sizes must be such that the memory starts at a page boundary, or lies in
 * one page, and is not longer than the memory, rounded up.
 */
static bool pages_fit(uintptr_t addr, size_t size, uint64_t bitmap)
{
	for (int shift = UMEM_PAGE_MIN; shift <= UMEM_PAGE_MAX; shift++) {
		uint64_t page = 1ull << shift;

		if (shift > UMEM_PAGE_MIN && page / 2 >= size)
			break;

		if (!(bitmap & page))
			continue;
		if (!(addr & (page - 1)) || page == (1ull << UMEM_PAGE_MIN) ||
		    addr / page == (addr + size - 1) / page)
			return true;
	}
	return false;
}

static int map_dmabuf(struct devx_umem *umem, const struct mlx5dv_devx_umem_in *in)
{
	uint64_t start = (uintptr_t)in->addr, page = sysconf(_SC_PAGESIZE), head = start % page;
	int err;

	if (in->dmabuf_fd < 0)
		return explain(EBADF, "umem: dmabuf_fd is %d", in->dmabuf_fd);
	err = hca_dmabuf_check(in->dmabuf_fd, start, in->size, "umem");
	if (err)
		return err;
	umem->map_len = in->size + head;
	/* Also without IBV_ACCESS_LOCAL_WRITE: a ring that the adapter writes to would end the process. */
	umem->map = mmap(NULL, umem->map_len, PROT_READ | PROT_WRITE, MAP_SHARED, in->dmabuf_fd,
			 (off_t)(start - head));
	if (umem->map == MAP_FAILED) {
		umem->map = NULL;
		return explain(errno, "umem: descriptor %d cannot be mapped", in->dmabuf_fd);
	}
	umem->addr = (uint8_t *)umem->map + head;
	return 0;
}

/*
 * The adapter maps the pages a second time: a program that unmaps them early then has a queue that
 * it cannot see, as with pinned pages, and the adapter's threads do not fault. Memory that cannot
 * be mapped twice is used at its own address.
 */
static void pin(struct devx_umem *umem, const struct mlx5dv_devx_umem_in *in)
{
	void *pinned;

	if (hca_buf_pin(in->addr, in->size, &pinned))
		return;
	umem->addr = pinned;
	umem->pinned = in->addr;
}

static void release(struct devx_umem *umem)
{
	if (umem->map)
		munmap(umem->map, umem->map_len);
	if (umem->pinned)
		hca_buf_unpin(umem->pinned, umem->size, umem->addr);
	if (umem->foreign)
		hca_peer_memory_unmap(umem->addr, umem->size);
}

static int check_umem(const struct mlx5dv_devx_umem_in *in, bool any_page)
{
	const uint64_t known = MLX5DV_UMEM_MASK_DMABUF;
	const uint32_t access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_OPTIONAL_RANGE;
	bool dmabuf = in->comp_mask & MLX5DV_UMEM_MASK_DMABUF;

	if (in->comp_mask & ~known)
		return explain(EOPNOTSUPP, "umem: comp_mask 0x%llx; 0x%llx is known",
			       (unsigned long long)in->comp_mask, (unsigned long long)known);
	if (in->access & ~access)
		return explain(EINVAL, "umem: access 0x%x; expected bits of 0x%x", in->access,
			       access);
	if (in->access & IBV_ACCESS_REMOTE_WRITE && !(in->access & IBV_ACCESS_LOCAL_WRITE))
		return explain(EINVAL,
			       "umem: access 0x%x; remote write or atomic access needs local "
			       "write access, too",
			       in->access);
	if (!in->size || in->size > UINTPTR_MAX - (uintptr_t)in->addr)
		return explain(EINVAL, "umem: %p + 0x%zx is no range", in->addr, in->size);
	if (!any_page && !pages_fit((uintptr_t)in->addr, in->size, in->pgsz_bitmap))
		return explain(EINVAL, "umem: no page size of 0x%llx fits %p + 0x%zx",
			       (unsigned long long)in->pgsz_bitmap, in->addr, in->size);
	return dmabuf ? 0 : hca_mr_check(in->addr, in->size, HCA_ACCESS_LOCAL_WRITE & in->access);
}

/* umem numbers are in a table of objects, where a stand-in reserves the number. */
static int number_umem(struct devx_umem *umem, uint32_t from, uint32_t limit)
{
	struct mlx5dv_devx_obj *stand_in = calloc(1, sizeof(*stand_in));
	int err;

	if (!stand_in)
		return -ENOMEM;
	stand_in->devx = umem->devx;
	stand_in->kind = DEVX_UMEM;
	stand_in->umem[0] = umem;
	err = devx_number(stand_in, from, limit, 1);
	if (err)
		free(stand_in);
	else
		umem->pub.umem_id = stand_in->number;
	return err;
}

static struct mlx5dv_devx_umem *reg(struct ibv_context *context,
				    const struct mlx5dv_devx_umem_in *in, bool any_page,
				    const char *call)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, call);
	struct devx_umem *umem;
	int err;

	if (!ctx)
		return NULL;
	err = check_umem(in, any_page);
	umem = err ? NULL : calloc(1, sizeof(*umem));
	if (!umem) {
		errno = err ? -err : ENOMEM;
		return NULL;
	}
	umem->devx = ctx->devx;
	umem->addr = in->addr;
	umem->size = in->size;
	if (in->comp_mask & MLX5DV_UMEM_MASK_DMABUF)
		err = map_dmabuf(umem, in);
	else
		pin(umem, in);
	if (!err) {
		pthread_mutex_lock(&ctx->devx->lock);
		err = number_umem(umem, 1, UMEM_LIMIT);
		pthread_mutex_unlock(&ctx->devx->lock);
		if (err)
			release(umem);
	}
	if (err) {
		free(umem);
		errno = -err;
		return NULL;
	}
	return &umem->pub;
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *context, void *addr, size_t size,
					      uint32_t access)
{
	struct mlx5dv_devx_umem_in in = { .addr = addr, .size = size, .access = access };

	return reg(context, &in, true, __func__);
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg_ex(struct ibv_context *context,
						 struct mlx5dv_devx_umem_in *in)
{
	return reg(context, in, false, __func__);
}

int devx_umem_drop(struct devx_umem *umem)
{
	struct hca_table *table = umem->devx->tables[DEVX_UMEM];

	if (umem->shared.is_alias) {
		umem->shared.gone = true;
		return 0;
	}
	if (umem->users)
		return explain(EBUSY, "umem 0x%x: %u objects live in it", umem->pub.umem_id,
			       umem->users);
	free(hca_table_find(table, umem->pub.umem_id));
	hca_table_set(table, umem->pub.umem_id, NULL);
	release(umem);
	devx_export_forget(umem->shared.entry);
	umem->shared.entry = NULL;
	umem->shared.gone = true;
	return 0;
}

/* The number is that of the exporting context, unless this one has given it to another umem. */
static int number_imported(struct devx_umem *umem, uint32_t number)
{
	int err;

	pthread_mutex_lock(&umem->devx->lock);
	if (number && number < UMEM_LIMIT && !devx_find(umem->devx, DEVX_UMEM, number))
		err = number_umem(umem, number, number + 1);
	else
		err = number_umem(umem, 1, UMEM_LIMIT);
	pthread_mutex_unlock(&umem->devx->lock);
	if (err)
		release(umem);
	return err;
}

int devx_umem_import_own(struct devx_umem *umem, void *addr, size_t size, uint32_t number)
{
	void *pinned;
	int err = hca_buf_pin(addr, size, &pinned);

	if (err)
		return err;
	umem->addr = pinned;
	umem->pinned = addr;
	umem->size = size;
	return number_imported(umem, number);
}

int devx_umem_import(struct devx_umem *umem, uint64_t va, size_t size, uint32_t number)
{
	int err = hca_peer_memory_map(umem->shared.owner, va, size, (void **)&umem->addr);

	if (err)
		return err;
	umem->foreign = true;
	umem->size = size;
	return number_imported(umem, number);
}

int devx_umem_at(struct devx_cmd *c, int slot, const struct devx_ring *r, void **out)
{
	struct mlx5dv_devx_obj *stand_in;
	struct devx_umem *umem;

	/* Layouts without a valid bit are older than it: a umem that is named is used. */
	if (!r->valid && !r->id)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_NO_UMEM,
				   "the %s is in no umem; page addresses are not accepted",
				   r->what);
	stand_in = devx_find(c->devx, DEVX_UMEM, r->id);
	if (!stand_in)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_UMEM,
				   "umem 0x%x for the %s does not exist", r->id, r->what);
	umem = stand_in->umem[0];
	if (r->offset > umem->size || r->bytes > umem->size - r->offset)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_UMEM_RANGE,
				   "the %s needs 0x%llx bytes from 0x%llx on; umem 0x%x has 0x%zx",
				   r->what, (unsigned long long)r->bytes,
				   (unsigned long long)r->offset, r->id, umem->size);
	if (((uintptr_t)umem->addr + r->offset) & (r->align - 1))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_ALIGNMENT,
				   "the %s is at %p, which is no multiple of %u", r->what,
				   umem->addr + r->offset, r->align);
	c->obj->umem[slot] = umem;
	umem->users++;
	*out = umem->addr + r->offset;
	return 0;
}

/* ---- domains ---- */

int devx_alloc_pd(struct devx_cmd *c)
{
	int err = hca_pd_create(&c->devx->ctx->vb->hca, &c->obj->pd);

	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_PD);
	c->obj->number = c->obj->pd->pdn;
	ifc_set(c->out, alloc_pd_out, pd, c->obj->number);
	return 0;
}

int devx_alloc_xrcd(struct devx_cmd *c)
{
	int err = hca_xrcd_open(&c->devx->ctx->vb->hca, -1, 0, &c->obj->xrcd);

	if (!err)
		err = devx_number(c->obj, 1, 1u << 24, 1);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
	ifc_set(c->out, alloc_xrcd_out, xrcd, c->obj->number);
	return 0;
}
