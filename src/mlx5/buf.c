/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of rings and doorbell records.
 */
#include "mlx5/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mlx5/mlx5.h"
#include "util/explain.h"

#define RECORD_SIZE      64u
#define RECORDS_PER_PAGE (MLX5_PAGE_SIZE / RECORD_SIZE)

struct mlx5_record_page {
	struct mlx5_record_page *next;
	uint64_t used; /* a bit per record */
	uint8_t *base;
};

_Static_assert(RECORDS_PER_PAGE == 64, "a word of bits has one for each");

void mlx5_records_init(struct mlx5_records *records)
{
	pthread_mutex_init(&records->lock, NULL);
}

void mlx5_records_fini(struct mlx5_records *records)
{
	while (records->pages) {
		struct mlx5_record_page *page = records->pages;

		records->pages = page->next;
		munmap(page->base, MLX5_PAGE_SIZE);
		free(page);
	}
	pthread_mutex_destroy(&records->lock);
}

static void *map_pages(size_t size)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return addr == MAP_FAILED ? NULL : addr;
}

static struct mlx5_record_page *add_record_page(struct mlx5_records *records)
{
	struct mlx5_record_page *page = malloc(sizeof(*page));

	if (!page)
		return NULL;
	page->base = map_pages(MLX5_PAGE_SIZE);
	if (!page->base) {
		free(page);
		return NULL;
	}
	page->used = 0;
	page->next = records->pages;
	records->pages = page;
	return page;
}

static void *take_record(struct mlx5_records *records)
{
	struct mlx5_record_page *page;
	uint8_t *record = NULL;

	pthread_mutex_lock(&records->lock);
	for (page = records->pages; page && page->used == UINT64_MAX; page = page->next)
		;
	if (!page)
		page = add_record_page(records);
	if (page) {
		int bit = __builtin_ctzll(~page->used);

		page->used |= 1ull << bit;
		record = page->base + bit * RECORD_SIZE;
		memset(record, 0, RECORD_SIZE);
	}
	pthread_mutex_unlock(&records->lock);
	return record;
}

static void put_record(struct mlx5_records *records, uint8_t *record)
{
	struct mlx5_record_page **link, *page;

	pthread_mutex_lock(&records->lock);
	for (link = &records->pages; (page = *link); link = &page->next) {
		if (record < page->base || record >= page->base + MLX5_PAGE_SIZE)
			continue;
		page->used &= ~(1ull << (record - page->base) / RECORD_SIZE);
		if (!page->used) {
			*link = page->next;
			munmap(page->base, MLX5_PAGE_SIZE);
			free(page);
		}
		break;
	}
	pthread_mutex_unlock(&records->lock);
}

/* True when the program's allocators decided, one way or the other. */
static bool ask_program(struct mlx5_context *ctx, struct vb_pd *parent, size_t size, size_t align,
			struct mlx5_buf *buf)
{
	if (parent && parent->alloc) {
		void *addr = parent->alloc(&parent->pd, parent->pd_context, size, align, buf->type);

		if (addr != IBV_ALLOCATOR_USE_DEFAULT) {
			buf->addr = addr;
			buf->origin = MLX5_BUF_PARENT;
			buf->parent = parent;
			return true;
		}
	}
	if (ctx->allocators.alloc) {
		buf->addr = ctx->allocators.alloc(size, ctx->allocators.data);
		buf->origin = MLX5_BUF_CONTEXT;
		return true;
	}
	return false;
}

static int finish(struct mlx5_buf *buf)
{
	if (!buf->addr) {
		buf->origin = MLX5_BUF_NONE;
		return explain(ENOMEM, "no memory for a ring or record of %zu bytes", buf->size);
	}
	if (buf->origin == MLX5_BUF_PARENT || buf->origin == MLX5_BUF_CONTEXT)
		memset(buf->addr, 0, buf->size);
	return 0;
}

int mlx5_buf_alloc(struct mlx5_context *ctx, struct vb_pd *parent, size_t size, uint64_t type,
		   struct mlx5_buf *buf)
{
	*buf = (struct mlx5_buf){ .size = size, .type = type };
	if (!size)
		return 0;
	if (!ask_program(ctx, parent, size, MLX5_PAGE_SIZE, buf)) {
		buf->size = (size + MLX5_PAGE_SIZE - 1) & ~(size_t)(MLX5_PAGE_SIZE - 1);
		buf->addr = map_pages(buf->size);
		buf->origin = MLX5_BUF_PAGES;
	}
	return finish(buf);
}

int mlx5_record_alloc(struct mlx5_context *ctx, struct vb_pd *parent, struct mlx5_buf *buf)
{
	*buf = (struct mlx5_buf){ .size = 2 * sizeof(uint32_t), .type = MLX5DV_RES_TYPE_DBR };
	if (!ask_program(ctx, parent, buf->size, buf->size, buf)) {
		buf->addr = take_record(&ctx->records);
		buf->origin = MLX5_BUF_RECORD;
	}
	return finish(buf);
}

void mlx5_buf_free(struct mlx5_context *ctx, struct mlx5_buf *buf)
{
	switch (buf->origin) {
	case MLX5_BUF_PAGES:
		munmap(buf->addr, buf->size);
		break;
	case MLX5_BUF_RECORD:
		put_record(&ctx->records, buf->addr);
		break;
	case MLX5_BUF_CONTEXT:
		ctx->allocators.free(buf->addr, ctx->allocators.data);
		break;
	case MLX5_BUF_PARENT:
		buf->parent->free(&buf->parent->pd, buf->parent->pd_context, buf->addr, buf->type);
		break;
	case MLX5_BUF_NONE:
		break;
	}
	buf->addr = NULL;
	buf->origin = MLX5_BUF_NONE;
}
