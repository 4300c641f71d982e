/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where rings and doorbell records come from: the program's own allocators when it gave any (a
 * parent domain's first, then the context's), else whole pages of ours. All of it is zeroed.
 *
 * Doorbell records of ours are a cache line each, many to a page.
 */
#ifndef MLX5_BUF_H
#define MLX5_BUF_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct mlx5_context;
struct vb_pd;

/* mlx5dv_set_context_attr(MLX5DV_CTX_ATTR_BUF_ALLOCATORS) */
struct mlx5_allocators {
	void *(*alloc)(size_t size, void *data);
	void (*free)(void *ptr, void *data);
	void *data;
};

struct mlx5_record_page;

struct mlx5_records {
	pthread_mutex_t lock;
	struct mlx5_record_page *pages;
};

enum mlx5_buf_origin {
	MLX5_BUF_NONE,
	MLX5_BUF_PAGES,
	MLX5_BUF_RECORD,
	MLX5_BUF_CONTEXT, /* the context's allocators */
	MLX5_BUF_PARENT,  /* the parent domain's */
};

struct mlx5_buf {
	void *addr;
	size_t size;
	enum mlx5_buf_origin origin;
	struct vb_pd *parent;
	uint64_t type; /* MLX5DV_RES_TYPE_... */
};

/* 0 or -ENOMEM. `parent` may be NULL or any domain. Size 0 gives a buffer without memory. */
int mlx5_buf_alloc(struct mlx5_context *ctx, struct vb_pd *parent, size_t size, uint64_t type,
		   struct mlx5_buf *buf);
/* A record of two words. */
int mlx5_record_alloc(struct mlx5_context *ctx, struct vb_pd *parent, struct mlx5_buf *buf);
/* Either kind. */
void mlx5_buf_free(struct mlx5_context *ctx, struct mlx5_buf *buf);

void mlx5_records_init(struct mlx5_records *records);
void mlx5_records_fini(struct mlx5_records *records);

#endif
