/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of rings and doorbell records.
 */
#include "verbs/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/explain.h"
#include "verbs/objects.h"

#define HUGE_SIZE        ((size_t)2 << 20)
#define RECORD_SIZE      64u
#define RECORDS_PER_PAGE (VB_PAGE_SIZE / RECORD_SIZE)

struct vb_record_page {
	LIST_ENTRY(vb_record_page) link; /* in memory->partial while a record is free */
	uint64_t used;                   /* a bit per record */
	uint8_t *base;
};

_Static_assert(RECORDS_PER_PAGE == 64, "a word of bits has one for each");

void verbena_memory_init(struct vb_memory *memory)
{
	*memory = (struct vb_memory){ 0 };
	pthread_mutex_init(&memory->lock, NULL);
}

static void free_page(struct vb_record_page *page)
{
	LIST_REMOVE(page, link);
	munmap(page->base, VB_PAGE_SIZE);
	free(page);
}

void verbena_memory_fini(struct vb_memory *memory)
{
	struct vb_record_page *page, *next;

	/* All objects of the context are destroyed, so no page is full. */
	for (page = LIST_FIRST(&memory->partial); page; page = next) {
		next = LIST_NEXT(page, link);
		free_page(page);
	}
	while (memory->spare_count)
		munmap(memory->spare[--memory->spare_count], VB_PAGE_SIZE);
	pthread_mutex_destroy(&memory->lock);
}

static void *map_pages(size_t size, int flags)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
			  -1, 0);

	return addr == MAP_FAILED ? NULL : addr;
}

static struct vb_record_page *add_page(struct vb_memory *memory)
{
	struct vb_record_page *page = malloc(sizeof(*page));

	if (!page)
		return NULL;
	page->base = map_pages(VB_PAGE_SIZE, 0);
	if (!page->base) {
		free(page);
		return NULL;
	}
	page->used = 0;
	LIST_INSERT_HEAD(&memory->partial, page, link);
	return page;
}

static void *take_record(struct vb_memory *memory, struct vb_record_page **from)
{
	struct vb_record_page *page;
	uint8_t *record = NULL;

	pthread_mutex_lock(&memory->lock);
	page = LIST_FIRST(&memory->partial);
	if (!page)
		page = add_page(memory);
	if (page) {
		int bit = __builtin_ctzll(~page->used);

		page->used |= 1ull << bit;
		if (page->used == UINT64_MAX)
			LIST_REMOVE(page, link);
		record = page->base + bit * RECORD_SIZE;
		memset(record, 0, RECORD_SIZE);
	}
	pthread_mutex_unlock(&memory->lock);
	*from = page;
	return record;
}

static void put_record(struct vb_memory *memory, struct vb_record_page *page, const uint8_t *record)
{
	pthread_mutex_lock(&memory->lock);
	if (page->used == UINT64_MAX)
		LIST_INSERT_HEAD(&memory->partial, page, link);
	page->used &= ~(1ull << (record - page->base) / RECORD_SIZE);
	/* One page stays, for a program that makes and destroys one object after the other. */
	if (!page->used && (LIST_FIRST(&memory->partial) != page || LIST_NEXT(page, link)))
		free_page(page);
	pthread_mutex_unlock(&memory->lock);
}

/* True when an allocator of the program was called, successfully or not. */
static bool ask_program(struct vb_memory *memory, struct vb_pd *parent, size_t align, uint64_t type,
			struct vb_buf *buf)
{
	if (parent && parent->alloc) {
		void *addr = parent->alloc(&parent->pd, parent->pd_context, buf->size, align, type);

		if (addr != IBV_ALLOCATOR_USE_DEFAULT) {
			buf->addr = addr;
			buf->origin = VB_BUF_PARENT;
			buf->parent.pd = parent;
			buf->parent.type = type;
			return true;
		}
	}
	if (memory->allocators.alloc && memory->allocators.free) {
		buf->addr = memory->allocators.alloc(buf->size, memory->allocators.data);
		buf->origin = VB_BUF_CONTEXT;
		buf->context.free = memory->allocators.free;
		buf->context.data = memory->allocators.data;
		return true;
	}
	return false;
}

static int finish(struct vb_buf *buf)
{
	if (!buf->addr) {
		buf->origin = VB_BUF_NONE;
		return explain(ENOMEM, "no memory for a ring or record of %zu bytes", buf->size);
	}
	if (buf->origin == VB_BUF_PARENT || buf->origin == VB_BUF_CONTEXT)
		memset(buf->addr, 0, buf->size);
	return 0;
}

/* A zeroed page, or NULL. */
static void *take_spare(struct vb_memory *memory)
{
	void *page = NULL;

	pthread_mutex_lock(&memory->lock);
	if (memory->spare_count)
		page = memory->spare[--memory->spare_count];
	pthread_mutex_unlock(&memory->lock);
	if (page)
		memset(page, 0, VB_PAGE_SIZE);
	return page;
}

static bool keep_spare(struct vb_memory *memory, void *page)
{
	bool kept;

	pthread_mutex_lock(&memory->lock);
	kept = memory->spare_count < VB_SPARE_PAGES;
	if (kept)
		memory->spare[memory->spare_count++] = page;
	pthread_mutex_unlock(&memory->lock);
	return kept;
}

static void map_ring(struct vb_memory *memory, struct vb_buf *buf, enum vb_pages pages)
{
	size_t huge = (buf->size + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1);

	if (pages == VB_PAGES_ANY && buf->size == VB_PAGE_SIZE)
		buf->addr = take_spare(memory);
	if (buf->addr)
		return;
	if (pages != VB_PAGES_ANY)
		buf->addr = map_pages(huge, MAP_HUGETLB);
	if (buf->addr)
		buf->size = huge;
	else if (pages != VB_PAGES_HUGE)
		buf->addr = map_pages(buf->size, 0);
}

int verbena_buf_alloc(struct vb_memory *memory, struct vb_pd *parent, size_t size, uint64_t type,
		      struct vb_buf *buf)
{
	*buf = (struct vb_buf){ .size = (size + VB_PAGE_SIZE - 1) & ~(size_t)(VB_PAGE_SIZE - 1) };
	if (!size)
		return 0;
	if (!ask_program(memory, parent, VB_PAGE_SIZE, type, buf)) {
		map_ring(memory, buf, memory->pages_for ? memory->pages_for(type) : VB_PAGES_ANY);
		buf->origin = VB_BUF_PAGES;
	}
	return finish(buf);
}

int verbena_record_alloc(struct vb_memory *memory, struct vb_pd *parent, uint64_t type,
			 struct vb_buf *buf)
{
	*buf = (struct vb_buf){ .size = 2 * sizeof(uint32_t) };
	if (!ask_program(memory, parent, buf->size, type, buf)) {
		buf->addr = take_record(memory, &buf->page);
		buf->origin = VB_BUF_RECORD;
	}
	return finish(buf);
}

void verbena_buf_free(struct vb_memory *memory, struct vb_buf *buf)
{
	struct vb_pd *pd;

	switch (buf->origin) {
	case VB_BUF_PAGES:
		if (buf->size != VB_PAGE_SIZE || !keep_spare(memory, buf->addr))
			munmap(buf->addr, buf->size);
		break;
	case VB_BUF_RECORD:
		put_record(memory, buf->page, buf->addr);
		break;
	case VB_BUF_CONTEXT:
		buf->context.free(buf->addr, buf->context.data);
		break;
	case VB_BUF_PARENT:
		pd = buf->parent.pd;
		pd->free(&pd->pd, pd->pd_context, buf->addr, buf->parent.type);
		break;
	case VB_BUF_NONE:
		break;
	}
	buf->addr = NULL;
	buf->origin = VB_BUF_NONE;
}
