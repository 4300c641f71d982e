/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of rings and doorbell records, for the drivers: from the program's allocators if it gave any
 * (a parent domain's first, then the context's), else whole pages of the library. All of it is zeroed.
 *
 * Records of the library are a cache line each, many to a page.
 */
#ifndef VERBS_MEMORY_H
#define VERBS_MEMORY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/api.h"

struct vb_pd;
struct vb_record_page;

#define VB_PAGE_SIZE   4096u
#define VB_SPARE_PAGES 16

/* As mlx5dv_set_context_attr() and mlx4dv_set_context_attr() give them. */
struct vb_allocators {
	void *(*alloc)(size_t size, void *data);
	void (*free)(void *ptr, void *data);
	void *data;
};

/* The kind of pages for a ring. */
enum vb_pages {
	VB_PAGES_ANY,
	VB_PAGES_PREFER_HUGE,
	VB_PAGES_HUGE, /* or -ENOMEM */
};

/* One per context. The program sets allocators before it makes objects, so they need no lock. */
struct vb_memory {
	struct vb_allocators allocators;
	enum vb_pages (*pages_for)(uint64_t type); /* set by the driver; NULL: any */
	pthread_mutex_t lock;                      /* of the records and spare pages */
	LIST_HEAD(, vb_record_page) partial;       /* pages of records with room */
	/* Pages of rings that were freed: small rings, as of connections, come and go. */
	void *spare[VB_SPARE_PAGES];
	unsigned int spare_count;
};

enum vb_buf_origin {
	VB_BUF_NONE,
	VB_BUF_PAGES,
	VB_BUF_RECORD,
	VB_BUF_CONTEXT, /* the context's allocators */
	VB_BUF_PARENT,  /* the parent domain's */
};

/* Every ring has two: what is needed to free the memory depends on its origin. */
struct vb_buf {
	void *addr;
	size_t size;
	enum vb_buf_origin origin;
	union {
		struct vb_record_page *page; /* VB_BUF_RECORD */
		struct {
			void (*free)(void *ptr, void *data);
			void *data;
		} context; /* VB_BUF_CONTEXT; the program may set other allocators later */
		struct {
			struct vb_pd *pd;
			uint64_t type;
		} parent; /* VB_BUF_PARENT */
	};
};

VB_API void verbena_memory_init(struct vb_memory *memory);
VB_API void verbena_memory_fini(struct vb_memory *memory);

/*
 * 0 or -ENOMEM. `parent` may be NULL or any domain; `type` is for its allocators, as the driver's
 * direct verbs number them. Size 0 gives a buffer without memory.
 */
VB_API int verbena_buf_alloc(struct vb_memory *memory, struct vb_pd *parent, size_t size,
			     uint64_t type, struct vb_buf *buf);
/* A record of two words. */
VB_API int verbena_record_alloc(struct vb_memory *memory, struct vb_pd *parent, uint64_t type,
				struct vb_buf *buf);
/* Frees either kind. */
VB_API void verbena_buf_free(struct vb_memory *memory, struct vb_buf *buf);

#endif
