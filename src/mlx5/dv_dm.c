/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory by direct verbs, and the doorbell areas of virtio queues (VAR).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hca/memory/dm.h"
#include "hca/memory/dm_op.h"
#include "hca/peers/rpc.h"
#include "hca/queue/uar.h"
#include "mlx5/devx_share.h"
#include "mlx5/dv.h"
#include "mlx5/objects.h"
#include "mlx5/state.h"
#include "util/explain.h"
#include "util/file_limit.h"

struct ibv_dm *mlx5dv_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr,
			       struct mlx5dv_alloc_dm_attr *extra)
{
	if (!mlx5_dv_context(context, __func__))
		return NULL;
	if (extra->comp_mask)
		return explain_null(EINVAL, "mlx5dv_alloc_dm: comp_mask 0x%llx; no bit is known",
				    (unsigned long long)extra->comp_mask);
	if (extra->type != MLX5DV_DM_TYPE_MEMIC)
		return explain_null(
			EOPNOTSUPP,
			"mlx5dv_alloc_dm: type %d; only MLX5DV_DM_TYPE_MEMIC is offered: "
			"rules are not kept in the adapter's memory",
			extra->type);
	return ibv_alloc_dm(context, attr);
}

void *mlx5dv_dm_map_op_addr(struct ibv_dm *dm, uint8_t op)
{
	void *addr;
	int err;

	if (!mlx5_dv_context(dm->context, __func__))
		return NULL;
	err = hca_dm_op_map(to_dm(dm)->hca, op, &addr);
	if (err) {
		errno = -err;
		return NULL;
	}
	return addr;
}

/* ---- VAR ---- */

/*
 * In the file behind cmd_fd, whose start has other uses. Processes that share a context share the file: each has
 * pages of its own, by its slot, before those of doorbell pages (hca/queue/uar.c).
 */
#define FIRST_PAGE 0x10000u
#define PAGES      MLX5_VAR_PAGES
#define END_PAGE   (FIRST_PAGE + FABRIC_SLOTS * PAGES)

_Static_assert(END_PAGE <= HCA_UAR_FIRST_SLOT << 24, "doorbell pages begin there");

struct var {
	struct mlx5dv_var pub;
	uint32_t page; /* PAGES: imported, reserved by the exporter */
};

/* The exported form of a VAR. */
struct var_export {
	uint64_t mmap_off;
	uint32_t page_id;
	uint32_t length;
};

static int alloc_page(uint32_t *page)
{
	uint64_t *used = mlx5_state.var_used;
	int err = -ENOSPC;

	pthread_mutex_lock(&mlx5_state.lock);
	for (uint32_t i = 0; err && i < PAGES; i++)
		if (!(used[i / 64] >> (i % 64) & 1)) {
			used[i / 64] |= 1ull << (i % 64);
			*page = i;
			err = 0;
		}
	pthread_mutex_unlock(&mlx5_state.lock);
	return err ? explain(ENOSPC, "mlx5dv_alloc_var: all %u areas are taken", PAGES) : 0;
}

static void free_page(uint32_t page)
{
	pthread_mutex_lock(&mlx5_state.lock);
	mlx5_state.var_used[page / 64] &= ~(1ull << (page % 64));
	pthread_mutex_unlock(&mlx5_state.lock);
}

/* Extends the file up to the area; holes take no memory. */
static int extend_file(int fd, off_t end)
{
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	err = st.st_size < end ? file_resize(fd, end) : 0;
	if (err == -EFBIG)
		return explain(
			EFBIG,
			"mlx5dv_alloc_var: the limit of file sizes (ulimit -f) does not allow "
			"a mapping at offset 0x%llx",
			(unsigned long long)end);
	return err;
}

static int make_var(struct ibv_context *context, struct var **out)
{
	uint32_t first = FIRST_PAGE + fabric_id_slot(hca_rpc_self()) * PAGES;
	struct var *var = calloc(1, sizeof(*var));
	int err;

	if (!var)
		return -ENOMEM;
	err = alloc_page(&var->page);
	if (err)
		goto free_var;
	var->pub = (struct mlx5dv_var){
		.page_id = first + var->page,
		.length = MLX5_PAGE_SIZE,
		.mmap_off = (off_t)(first + var->page) * MLX5_PAGE_SIZE,
	};
	err = extend_file(context->cmd_fd, var->pub.mmap_off + MLX5_PAGE_SIZE);
	if (err)
		goto free_page;
	*out = var;
	return 0;
free_page:
	free_page(var->page);
free_var:
	free(var);
	return err;
}

struct mlx5dv_var *mlx5dv_alloc_var(struct ibv_context *context, uint32_t flags)
{
	struct var *var;
	int err;

	if (!mlx5_dv_context(context, __func__))
		return NULL;
	if (flags & ~MLX5DV_VAR_ALLOC_FLAG_TLP)
		return explain_null(EOPNOTSUPP, "mlx5dv_alloc_var: flags 0x%x; 0x%x is known",
				    flags, MLX5DV_VAR_ALLOC_FLAG_TLP);
	/* As the kernel answers where tlp_device_emulation_manager is 0. */
	if (flags)
		return explain_null(EOPNOTSUPP,
				    "mlx5dv_alloc_var: MLX5DV_VAR_ALLOC_FLAG_TLP is for adapters "
				    "that manage the emulation of PCIe devices; this one does not");
	err = make_var(context, &var);
	if (err) {
		errno = -err;
		return NULL;
	}
	return &var->pub;
}

void mlx5dv_free_var(struct mlx5dv_var *pub)
{
	struct var *var = container_of(pub, struct var, pub);

	if (var->page < PAGES)
		free_page(var->page);
	free(var);
}

int mlx5dv_var_export(struct mlx5dv_var *var, void *data)
{
	const struct var_export exported = { .mmap_off = (uint64_t)var->mmap_off,
					     .page_id = var->page_id,
					     .length = var->length };

	memcpy(data, &exported, sizeof(exported));
	return 0;
}

struct mlx5dv_var *mlx5dv_var_import(struct ibv_context *context, void *data)
{
	struct var_export exported;
	struct var *var;

	if (!mlx5_dv_context(context, __func__))
		return NULL;
	memcpy(&exported, data, sizeof(exported));
	if (exported.page_id < FIRST_PAGE || exported.page_id >= END_PAGE ||
	    exported.mmap_off != (uint64_t)exported.page_id * MLX5_PAGE_SIZE)
		return explain_null(EINVAL, "mlx5dv_var_import: page 0x%x is not of a VAR",
				    exported.page_id);
	var = calloc(1, sizeof(*var));
	if (!var)
		return NULL;
	var->page = PAGES;
	var->pub = (struct mlx5dv_var){ .page_id = exported.page_id,
					.length = exported.length,
					.mmap_off = (off_t)exported.mmap_off };
	return &var->pub;
}

void mlx5dv_var_unimport(struct mlx5dv_var *pub)
{
	free(container_of(pub, struct var, pub));
}

void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes, size_t len)
{
	const struct mlx5dv_export_sizes known = {
		.var_attrs_size = sizeof(struct var_export),
		.devx_umem_attrs_size = DEVX_UMEM_EXPORT_BYTES,
		.devx_obj_attrs_size = DEVX_OBJ_EXPORT_BYTES,
	};

	memset(sizes, 0, len);
	memcpy(sizes, &known, len < sizeof(known) ? len : sizeof(known));
}
