/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbell pages: uar.h has the states. No store to a closed page is missed: it waits in the kernel
 * until the service thread has read of it and opened the page. A store that came before the page was
 * closed is found in the register by the look that follows ([U1]), through the adapter's own mapping.
 */
#include "hca/queue/uar.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "hca/hca.h"
#include "hca/queue/spin_policy.h"
#include "hca/queue/uar_place.h"
#include "hca/queue/uffd.h"
#include "util/explain.h"
#include "util/file_limit.h"

/* A store that does not change its word cannot be seen: it counts as done after this time. */
#define STORE_NS 1000000u

/* ---- closing and opening ---- */

/*
 * The store for which the page was opened has been carried out. A page that is closed before could
 * keep its thread in the kernel for ever.
 */
static bool store_is_done(const struct hca_uar *uar, uint64_t now_ns)
{
	return __atomic_load_n(uar->awaited, __ATOMIC_RELAXED) != uar->awaited_old ||
	       now_ns > uar->opened_ns + STORE_NS;
}

bool uar_store_faulted(uintptr_t address)
{
	struct hca_uar *u;

	LIST_FOREACH(u, &hca.queue.uar.pages, entry)
		if (address - (uintptr_t)u->page < HCA_UAR_SIZE) {
			u->store_waits = true;
			u->awaited =
				(uint64_t *)(u->regs + ((address - (uintptr_t)u->page) & ~7ul));
			u->awaited_old = __atomic_load_n(u->awaited, __ATOMIC_RELAXED);
			return true;
		}
	return false;
}

static void open_page(struct hca_uar *uar)
{
	uar->store_waits = false;
	if (!uar->closed)
		return;
	/* If it cannot be opened, the page is not caught any more: no thread may be stuck. */
	if (uar->trapped) {
		mprotect(uar->page, HCA_UAR_SIZE, PROT_READ | PROT_WRITE);
	} else if (!uffd_protect(uar->page, HCA_UAR_SIZE, false)) {
		uffd_unregister(uar->page, HCA_UAR_SIZE);
		uar->registered = false;
		uar->catchable = uar->trappable;
	}
	uar->closed = uar->trapped = false;
	uar->opened_ns = hca_now_ns();
}

void uar_open_faulted(void)
{
	struct hca_uar *u;

	LIST_FOREACH(u, &hca.queue.uar.pages, entry)
		if (u->store_waits)
			open_page(u);
}

void uar_open(struct hca_uar *uar)
{
	uar->awaited = NULL;
	open_page(uar);
}

bool uar_all_catchable(void)
{
	struct hca_uar *u;

	LIST_FOREACH(u, &hca.queue.uar.pages, entry)
		if (!u->catchable)
			return false;
	return true;
}

static bool may_close(void)
{
	uint64_t now_ns = hca_now_ns();
	struct hca_uar *u;

	if (LIST_EMPTY(&hca.queue.uar.pages) || uar_check_shown())
		return false;
	LIST_FOREACH(u, &hca.queue.uar.pages, entry)
		if (!u->closed && u->awaited && !store_is_done(u, now_ns))
			return false;
	return true;
}

/*
 * A program whose stores are signals never waits for the service thread; but where more threads run than there are
 * processors, it is one that waits in the kernel now and then that gets a processor soon.
 */
static bool protect(struct hca_uar *uar)
{
	uar->trapped = uar->trappable && (!uar->registered || spin_is_room(hca_now_ns()));
	return uar->trapped ? !mprotect(uar->page, HCA_UAR_SIZE, PROT_READ)
			    : uffd_protect(uar->page, HCA_UAR_SIZE, true);
}

static bool close_page(struct hca_uar *uar)
{
	uar->awaited = NULL;
	if (!uar->closed)
		uar->closed = uar->catchable && protect(uar);
	return uar->closed;
}

bool uar_close_all(void)
{
	struct hca_uar *u;

	if (!may_close())
		return false;
	LIST_FOREACH(u, &hca.queue.uar.pages, entry)
		if (!close_page(u))
			return false;
	/* [U1] pairs with the kernel's change of the protection: the caller's look sees stores before it */
	return true;
}

/* ---- registers ---- */

bool uar_look(void (*ring_cq)(uint32_t cqn, uint32_t word))
{
	struct uar_user *user;
	struct hca_uar *u;
	uint32_t cqn, word;
	bool found = false;

	LIST_FOREACH(u, &hca.queue.uar.pages, entry) {
		uint8_t *shown = uar_shown(u);

		if (u->format->uar_take_cq(u->regs, &cqn, &word)) {
			ring_cq(cqn, word);
			found = true;
		}
		if (unlikely(shown) && u->format->uar_take_cq(shown, &cqn, &word)) {
			ring_cq(cqn, word);
			found = true;
		}
	}
	LIST_FOREACH(u, &hca.queue.uar.pages, entry)
		LIST_FOREACH(user, &u->users, entry)
			found |= user->look(user);
	return found;
}

bool uar_any(void)
{
	return !LIST_EMPTY(&hca.queue.uar.pages);
}

void uar_add_user(struct hca_uar *uar, struct uar_user *user)
{
	LIST_INSERT_HEAD(&uar->users, user, entry);
}

void uar_remove_user(struct uar_user *user)
{
	LIST_REMOVE(user, entry);
}

/* ---- shown pages ---- */

bool uar_has_untouched(void)
{
	struct hca_uar *u;

	LIST_FOREACH(u, &hca.queue.uar.pages, entry)
		if (u->shown && !uar_shown(u))
			return true;
	return false;
}

/* A page that has been faulted in means that a program has mapped and used it. */
bool uar_check_shown(void)
{
	unsigned char resident = 0;
	struct hca_uar *u;
	bool any = false;

	LIST_FOREACH(u, &hca.queue.uar.pages, entry) {
		if (u->shown && !uar_shown(u) && !mincore(u->shown, HCA_UAR_SIZE, &resident) &&
		    resident & 1)
			atomic_store_explicit(&u->shown_touched, true, memory_order_relaxed);
		any |= uar_shown(u) != NULL;
	}
	return any;
}

/* Processes that share the context share its file; ids of pages are unique in one process only. */
static off_t offset_of(const struct hca_uar *uar)
{
	uint64_t slot = fabric_id_slot(fabric_self()) + HCA_UAR_FIRST_SLOT;

	return (off_t)((slot << 24 | uar->id) * HCA_UAR_SIZE);
}

static int show(struct hca_uar *uar, int fd)
{
	off_t at = offset_of(uar);
	struct stat st;
	uint8_t *page;
	int err;

	if (fstat(fd, &st))
		return -errno;
	/* Holes of a file take no memory. */
	err = st.st_size < at + (off_t)HCA_UAR_SIZE ? file_resize(fd, at + HCA_UAR_SIZE) : 0;
	if (err == -EFBIG)
		return explain(EFBIG,
			       "a doorbell page cannot be mapped by its offset: the limit of "
			       "file sizes (ulimit -f) does not allow it");
	if (err)
		return err;
	page = mmap(NULL, HCA_UAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
	if (page == MAP_FAILED)
		return -errno;
	uar->shown_at = at;
	uar->shown = page;
	return 0;
}

int hca_uar_show(struct hca_uar *uar, int fd, off_t *out)
{
	int err = hca.ops->join(); /* for the id of this process */

	if (err)
		return err;
	pthread_mutex_lock(&hca.queue.watch_lock);
	if (!uar->shown)
		err = show(uar, fd);
	pthread_mutex_unlock(&hca.queue.watch_lock);
	if (!err)
		*out = uar->shown_at;
	return err;
}

/* ---- life ---- */

/*
 * The thread sanitizer sees no order between a store to one mapping of a page and a load from the other, and a
 * store that waits holds a lock of the sanitizer. Pages have one mapping there, and stores are not caught.
 */
#define HAS_ONE_MAPPING VB_TSAN

/* A page that is shared with no other process, so that it can be mapped twice. */
static int map(struct hca_uar *uar, void *where, int flags)
{
	uint8_t *page = mmap(where, HCA_UAR_SIZE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS | flags, -1, 0);
	uint8_t *regs;

	if (page == MAP_FAILED)
		return -ENOMEM;
	/* An old size of 0: a second mapping of the same page. Valgrind and qemu-user do not know that. */
	regs = HAS_ONE_MAPPING ? page : mremap(page, 0, HCA_UAR_SIZE, MREMAP_MAYMOVE);
	if (regs == MAP_FAILED)
		regs = page;
	/* The child of a fork has pages of its own (uar_forked()). */
	if (madvise(page, HCA_UAR_SIZE, MADV_DONTFORK) ||
	    madvise(regs, HCA_UAR_SIZE, MADV_DONTFORK))
		goto unmap_regs;
	/* Only a page that is there can be protected. */
	*(volatile uint64_t *)page = 0;
	uar->page = page;
	uar->regs = regs;
	return 0;
unmap_regs:
	if (regs != page)
		munmap(regs, HCA_UAR_SIZE);
	munmap(page, HCA_UAR_SIZE);
	return -ENOMEM;
}

int hca_uar_create(const struct hca_format *format, struct hca_uar **out)
{
	struct hca_uar *uar = calloc(1, sizeof(*uar));
	uint32_t *last = &hca.queue.uar.last_id;

	if (!uar)
		return -ENOMEM;
	if (map(uar, NULL, 0)) {
		free(uar);
		return -ENOMEM;
	}
	uar->format = format;
	LIST_INIT(&uar->users);
	pthread_mutex_lock(&hca.queue.watch_lock);
	/* 24 bits, and 0 is none. An id is used again after 16 million others. */
	*last = *last >= 0xffffff ? 1 : *last + 1;
	uar->id = *last;
	LIST_INSERT_HEAD(&hca.queue.uar.all, uar, all_entry);
	pthread_mutex_unlock(&hca.queue.watch_lock);
	*out = uar;
	return 0;
}

void uar_enlist(struct hca_uar *uar)
{
	if (uar->watched || !uar->regs)
		return;
	uar->trappable = atomic_load(&hca.queue.doorbell_trap.on) && uar->regs != uar->page &&
			 !uar_place_add(uar, (uintptr_t)uar->page);
	uar->registered = uar->regs != uar->page && uffd_register_stores(uar->page, HCA_UAR_SIZE);
	uar->catchable = uar->trappable || uar->registered;
	uar->watched = true;
	LIST_INSERT_HEAD(&hca.queue.uar.pages, uar, entry);
}

static void free_uar(struct epoch_node *node)
{
	free(container_of(node, struct hca_uar, epoch));
}

void hca_uar_destroy(struct hca_uar *uar)
{
	struct uar_user *user;

	pthread_mutex_lock(&hca.queue.watch_lock);
	LIST_REMOVE(uar, all_entry);
	if (uar->watched)
		LIST_REMOVE(uar, entry);
	while ((user = LIST_FIRST(&uar->users))) {
		LIST_REMOVE(user, entry);
		user->page_gone(user);
	}
	open_page(uar);
	if (uar->trappable)
		uar_place_remove(uar, (uintptr_t)uar->page);
	pthread_mutex_unlock(&hca.queue.watch_lock);
	if (uar->regs && uar->regs != uar->page)
		munmap(uar->regs, HCA_UAR_SIZE);
	if (uar->page)
		munmap(uar->page, HCA_UAR_SIZE);
	if (uar->shown)
		munmap(uar->shown, HCA_UAR_SIZE);
	/* A signal handler of another thread may have found it. */
	if (uar->trappable)
		epoch_retire(&uar->epoch, free_uar);
	else
		free(uar);
}

void uar_forked(void)
{
	struct hca_uar *u;

	LIST_FOREACH(u, &hca.queue.uar.all, all_entry) {
		if (u->trappable)
			uar_place_remove(u, (uintptr_t)u->page);
		u->watched = u->closed = u->catchable = u->trappable = u->registered = u->trapped =
			u->store_waits = false;
		u->awaited = NULL;
		if (map(u, u->page, MAP_FIXED_NOREPLACE))
			u->page = u->regs = NULL;
	}
	LIST_INIT(&hca.queue.uar.pages);
}
