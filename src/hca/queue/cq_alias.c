/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An alias is a mapping of the process's share memfd, registered for minor faults: faults at a page
 * that is in the file and has no entry in the page table. Closing a page removes its entry
 * (MADV_DONTNEED), opening it puts the entry back (UFFDIO_CONTINUE); the contents stay in the file.
 */
#include "hca/queue/cq_alias.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hca/hca.h"
#include "hca/memory/buf.h"
#include "hca/queue/uffd.h"

static uintptr_t page_size(void)
{
	return (uintptr_t)sysconf(_SC_PAGESIZE);
}

static char *page_of(uintptr_t address)
{
	return (char *)(address & ~(page_size() - 1));
}

/* The first page of the alias, and the length of all. */
static char *pages_of(const struct hca_cq_alias *alias, size_t *length)
{
	char *start = page_of((uintptr_t)alias->addr);
	char *end = page_of((uintptr_t)alias->addr + alias->length + page_size() - 1);

	*length = (size_t)(end - start);
	return start;
}

/* Rings have their pages to themselves. */
static size_t whole_pages(size_t length)
{
	return (length + page_size() - 1) & ~(page_size() - 1);
}

/* If the page cannot be opened, the alias becomes an ordinary mapping: no reader may be stuck. */
static void open_page(struct hca_cq_alias *alias, char *page)
{
	size_t length;
	char *start = pages_of(alias, &length);

	if (!uffd_continue(page, page_size()))
		uffd_unregister(start, length);
}

bool cq_alias_faulted(uintptr_t address)
{
	struct hca_cq_alias *a;

	LIST_FOREACH(a, &hca.queue.cq_alias.list, entry) {
		size_t length;
		uintptr_t start = (uintptr_t)pages_of(a, &length);

		if (address - start >= length)
			continue;
		/* The kernel removes entries as well, when memory is short. */
		if (page_of(address) != a->closed)
			open_page(a, page_of(address));
		return true;
	}
	return false;
}

bool cq_alias_close(struct hca_cq_alias *alias, size_t offset)
{
	char *page;

	/* A ring that has just been resized may be longer than the alias. */
	if (offset >= alias->length || !alias->registered)
		return false;
	page = page_of((uintptr_t)(alias->addr + offset));
	if (alias->closed == page)
		return true;
	if (alias->closed)
		open_page(alias, alias->closed);
	alias->closed = NULL;
	/* Fails for locked memory. */
	if (madvise(page, page_size(), MADV_DONTNEED))
		return false;
	alias->closed = page;
	return true;
}

void cq_alias_open_all(void)
{
	struct hca_cq_alias *a;

	LIST_FOREACH(a, &hca.queue.cq_alias.list, entry) {
		if (!a->closed)
			continue;
		open_page(a, a->closed);
		a->closed = NULL;
	}
}

/* ---- traps ---- */

void cq_alias_trap(struct hca_cq_alias *alias, bool on)
{
	char *before = atomic_load_explicit(&alias->trapped, memory_order_relaxed);
	char *page = on && alias->trappable ? cq_alias_next_page(alias) : NULL;

	if (page == before)
		return;
	if (before)
		mprotect(before, page_size(), PROT_READ | PROT_WRITE);
	if (page && mprotect(page, page_size(), PROT_NONE))
		page = NULL;
	atomic_store_explicit(&alias->trapped, page, memory_order_relaxed);
}

/* An entry of the list of places; entries stay, and those without an alias are used again. */
struct cq_alias_place {
	_Atomic(struct hca_cq_alias *) alias; /* NULL: none */
	struct cq_alias_place *next;
};

/* Lock held. */
static bool add_place(struct hca_cq_alias *alias)
{
	struct cq_alias_place *first =
		atomic_load_explicit(&hca.queue.cq_alias.places, memory_order_relaxed);
	struct cq_alias_place *place = first;

	while (place && atomic_load_explicit(&place->alias, memory_order_relaxed))
		place = place->next;
	if (!place) {
		place = calloc(1, sizeof(*place));
		if (!place)
			return false;
		place->next = first;
		/* [CA1] pairs with cq_alias_find(): the entry before its pointer */
		atomic_store_explicit(&hca.queue.cq_alias.places, place, memory_order_release);
	}
	/* [CA2] pairs with cq_alias_find(): the alias before its pointer */
	atomic_store_explicit(&place->alias, alias, memory_order_release);
	return true;
}

/* Lock held. */
static void remove_place(const struct hca_cq_alias *alias)
{
	struct cq_alias_place *place =
		atomic_load_explicit(&hca.queue.cq_alias.places, memory_order_relaxed);

	for (; place; place = place->next)
		if (atomic_load_explicit(&place->alias, memory_order_relaxed) == alias)
			atomic_store_explicit(&place->alias, NULL, memory_order_relaxed);
}

struct hca_cq_alias *cq_alias_find(uintptr_t address)
{
	/* [CA1] */
	struct cq_alias_place *place =
		atomic_load_explicit(&hca.queue.cq_alias.places, memory_order_acquire);

	for (; place; place = place->next) {
		/* [CA2] */
		struct hca_cq_alias *alias =
			atomic_load_explicit(&place->alias, memory_order_acquire);
		size_t length;

		if (alias && address - (uintptr_t)pages_of(alias, &length) < length)
			return alias;
	}
	return NULL;
}

/* Lock held. */
static int enlist(struct hca_cq_alias *alias, struct hca_cq_alias **slot)
{
	size_t length;
	char *start = pages_of(alias, &length);

	if (*slot)
		return -EEXIST; /* another thread was faster */
	alias->trappable = atomic_load(&hca.queue.doorbell_trap.on) && add_place(alias);
	alias->registered = uffd_register_minor(start, length);
	if (!alias->trappable && !alias->registered)
		return -EOPNOTSUPP;
	LIST_INSERT_HEAD(&hca.queue.cq_alias.list, alias, entry);
	alias->listed = true;
	alias->slot = slot;
	*slot = alias;
	return 0;
}

int cq_alias_create(struct hca_cq_alias **slot, void *ring, size_t length, size_t entry_size,
		    const uint32_t *producer)
{
	struct hca_cq_alias *alias = calloc(1, sizeof(*alias));
	size_t pages_length;
	void *addr;
	char *start;
	int err;

	if (!alias)
		return -ENOMEM;
	alias->ring = ring;
	alias->length = length;
	alias->entry_size = entry_size;
	alias->page_size = page_size();
	alias->producer = producer;
	err = hca_buf_pin(ring, whole_pages(length), &addr);
	if (err)
		goto free;
	alias->addr = addr;
	start = pages_of(alias, &pages_length);
	/* Without its entry, the first read of each page would be a fault. */
	madvise(start, pages_length, MADV_POPULATE_WRITE);
	pthread_mutex_lock(&hca.queue.watch_lock);
	err = enlist(alias, slot);
	pthread_mutex_unlock(&hca.queue.watch_lock);
	if (!err)
		return 0;
	hca_buf_unpin(ring, whole_pages(length), addr);
free:
	free(alias);
	return err == -EEXIST ? 0 : err;
}

void cq_alias_forget(struct hca_cq_alias **slot)
{
	pthread_mutex_lock(&hca.queue.watch_lock);
	if (*slot) {
		(*slot)->slot = NULL;
		(*slot)->producer = NULL;
	}
	*slot = NULL;
	pthread_mutex_unlock(&hca.queue.watch_lock);
}

static void forget_place(_Atomic(struct hca_cq_alias *) *place, const struct hca_cq_alias *alias)
{
	if (atomic_load_explicit(place, memory_order_relaxed) == alias)
		atomic_store_explicit(place, NULL, memory_order_relaxed);
}

/* Lock held. */
static void forget(const struct hca_cq_alias *alias)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;

	forget_place(&t->trapped, alias);
	forget_place(&t->opened, alias);
	forget_place(&t->pair[0], alias);
	forget_place(&t->pair[1], alias);
	remove_place(alias);
}

static void free_alias(struct epoch_node *node)
{
	free(container_of(node, struct hca_cq_alias, epoch));
}

void hca_cq_alias_destroy(struct hca_cq_alias *alias)
{
	bool listed;
	size_t length;
	char *start = pages_of(alias, &length);

	pthread_mutex_lock(&hca.queue.watch_lock);
	forget(alias);
	if (alias->slot)
		*alias->slot = NULL;
	listed = alias->listed;
	alias->listed = false;
	if (listed) {
		LIST_REMOVE(alias, entry);
		if (alias->registered)
			uffd_unregister(start, length);
	}
	pthread_mutex_unlock(&hca.queue.watch_lock);
	if (listed)
		hca_buf_unpin(alias->ring, whole_pages(alias->length), alias->addr);
	/* A signal handler of another thread may have found it. */
	if (alias->trappable)
		epoch_retire(&alias->epoch, free_alias);
	else
		free(alias);
}

void cq_alias_forked(void)
{
	struct hca_cq_alias *a;

	LIST_FOREACH(a, &hca.queue.cq_alias.list, entry) {
		forget(a);
		atomic_store_explicit(&a->trapped, NULL, memory_order_relaxed);
		a->listed = false;
	}
	LIST_INIT(&hca.queue.cq_alias.list);
}
