/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbell pages. All lists here are guarded by the lock of doorbell_watch.c, under which pages are looked
 * at, put to sleep and woken.
 *
 * Asleep means write protected through userfaultfd. A store then waits in the kernel until the
 * service thread has read of it and lifted the protection of its page, so none is missed; what was
 * stored before the protection took hold is found by the look that follows it. Where userfaultfd is
 * not to be had, pages never sleep, and doorbell_watch.c looks ever more rarely instead.
 */
#include "hca/queue/uar.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/service.h"
#include "hca/hca.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/queue/cq_priv.h"
#include "hca/queue/cq_alias.h"

/* Newer than the headers of some distributions. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

#ifndef UFFD_FEATURE_EXACT_ADDRESS
#define UFFD_FEATURE_EXACT_ADDRESS (1 << 11)
#endif

#ifndef UFFD_FEATURE_MINOR_SHMEM
#define UFFD_FEATURE_MINOR_SHMEM (1 << 10)
#endif

/* The same value as before may have been stored; this long after it could be, it was. */
#define LAND_NS 1000000u

static struct hca_uar *pages;
static struct hca_eq **eqs;
static size_t eq_count, eq_room;
static int uffd = -1;
static bool asked; /* there is no use in asking for a descriptor again */
static bool minor; /* it can tell of readers, too */

/* ---- write protection ---- */

/* Who is made to wait again before he could store could wait for ever. */
static bool has_landed(const struct hca_uar *uar, uint64_t now_ns)
{
	return __atomic_load_n(uar->awaited, __ATOMIC_RELAXED) != uar->before ||
	       now_ns > uar->opened_ns + LAND_NS;
}

static bool note_rung(uintptr_t address)
{
	for (struct hca_uar *u = pages; u; u = u->next)
		if (address - (uintptr_t)u->page < HCA_UAR_SIZE) {
			u->rung = true;
			u->awaited = (uint64_t *)(address & ~7ul);
			u->before = __atomic_load_n(u->awaited, __ATOMIC_RELAXED);
			return true;
		}
	return false;
}

static void touched(void *arg, uint32_t events)
{
	bool rung = false, read_on = false;
	struct uffd_msg msg;

	(void)arg;
	(void)events;
	doorbell_watch_lock();
	while (read(uffd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg)) {
		if (msg.event != UFFD_EVENT_PAGEFAULT)
			continue;
		if (note_rung(msg.arg.pagefault.address))
			rung = true;
		else
			read_on |= cq_alias_touched(msg.arg.pagefault.address);
	}
	doorbell_watch_unlock();
	/* In this order: what was rung shuts views. */
	if (rung)
		doorbell_watch_rung();
	if (read_on)
		doorbell_watch_read();
}

static int open_with(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void open_guard(void)
{
	if (asked)
		return;
	asked = true;
	uffd = open_with(UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_EXACT_ADDRESS |
			 UFFD_FEATURE_MINOR_SHMEM);
	minor = uffd >= 0;
	if (uffd < 0)
		uffd = open_with(UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_EXACT_ADDRESS);
	if (uffd < 0)
		uffd = open_with(UFFD_FEATURE_PAGEFAULT_FLAG_WP);
	if (uffd >= 0 && fabric_service_add_fd(uffd, EPOLLIN, touched, NULL)) {
		close(uffd);
		uffd = -1;
		minor = false;
	}
}

static void guard(struct hca_uar *uar)
{
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)uar->page, .len = HCA_UAR_SIZE },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	if (uffd >= 0 && !ioctl(uffd, UFFDIO_REGISTER, &reg))
		uar->guarded = true;
}

static bool protect(struct hca_uar *uar, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { .start = (uintptr_t)uar->page, .len = HCA_UAR_SIZE },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};
	int err;

	do
		err = ioctl(uffd, UFFDIO_WRITEPROTECT, &wp);
	while (err && errno == EAGAIN);
	return !err;
}

static void wake(struct hca_uar *uar)
{
	struct uffdio_range range = { .start = (uintptr_t)uar->page, .len = HCA_UAR_SIZE };

	uar->rung = false;
	if (!uar->asleep)
		return;
	/* Should it fail, nobody may stay behind in the kernel: then the page has no guard any more. */
	if (!protect(uar, false)) {
		ioctl(uffd, UFFDIO_UNREGISTER, &range);
		uar->guarded = false;
	}
	uar->asleep = false;
	uar->opened_ns = fabric_now_ns();
}

void uar_wake(void)
{
	for (struct hca_uar *u = pages; u; u = u->next)
		wake(u);
}

void uar_wake_rung(void)
{
	for (struct hca_uar *u = pages; u; u = u->next)
		if (u->rung)
			wake(u);
}

bool uar_sleep(void)
{
	uint64_t now_ns = fabric_now_ns();
	bool fine = pages && !uar_find_guests();

	for (struct hca_uar *u = pages; u && fine; u = u->next)
		fine = u->asleep || !u->awaited || has_landed(u, now_ns);
	for (struct hca_uar *u = pages; u && fine; u = u->next) {
		if (!u->asleep && (!u->guarded || !protect(u, true)))
			fine = false;
		else
			u->asleep = true;
		u->awaited = NULL;
	}
	/* [U1] pairs with the kernel's change of the protection: stores before it are seen below */
	for (struct hca_uar *u = pages; u && fine; u = u->next)
		if (u->format->uar_rung(u->page)) {
			fine = false;
			wake(u);
		}
	return fine;
}

int uar_minor_guard(void)
{
	open_guard();
	return minor ? uffd : -1;
}

/* ---- registers ---- */

/* Nothing can have been rung on a page that sleeps, and we could not empty its registers. */
bool uar_look(void)
{
	uint32_t cqn, word;
	bool found = false;

	for (struct hca_uar *u = pages; u; u = u->next) {
		uint8_t *shown = uar_shown(u);

		if ((!u->asleep && u->format->uar_take_cq(u->page, &cqn, &word)) ||
		    (shown && u->format->uar_take_cq(shown, &cqn, &word))) {
			doorbell_watch_ring_cq(cqn, word);
			found = true;
		}
	}
	for (size_t i = 0; i < eq_count; i++)
		found |= hca_eq_look(eqs[i]);
	return found;
}

bool uar_any(void)
{
	return pages;
}

int uar_watch_eq(struct hca_eq *eq)
{
	int err = 0;

	doorbell_watch_lock();
	if (eq_count == eq_room) {
		size_t room = eq_room ? 2 * eq_room : 8;
		struct hca_eq **more = realloc(eqs, room * sizeof(struct hca_eq *));

		if (more) {
			eqs = more;
			eq_room = room;
		} else {
			err = -ENOMEM;
		}
	}
	if (!err)
		eqs[eq_count++] = eq;
	doorbell_watch_unlock();
	return err;
}

/* What was rung for it goes with it: a register that is never emptied would keep its page awake. */
void uar_forget_eq(struct hca_eq *eq)
{
	doorbell_watch_lock();
	hca_eq_look(eq); /* nothing, when the page sleeps */
	if (eq->uar)
		atomic_fetch_sub(&eq->uar->eqs, 1);
	for (size_t i = 0; i < eq_count; i++)
		if (eqs[i] == eq) {
			eqs[i] = eqs[--eq_count];
			break;
		}
	doorbell_watch_unlock();
}

/* ---- pages in the context's file ---- */

bool uar_expects_guests(void)
{
	struct hca_uar *u = pages;

	while (u && (!u->shown || uar_shown(u)))
		u = u->next;
	return u;
}

/* A hole that somebody has read or written is none any more. */
bool uar_find_guests(void)
{
	unsigned char there = 0;
	bool any = false;

	for (struct hca_uar *u = pages; u; u = u->next) {
		if (u->shown && !uar_shown(u) && !mincore(u->shown, HCA_UAR_SIZE, &there) &&
		    there & 1)
			atomic_store_explicit(&u->has_guest, true, memory_order_relaxed);
		any |= uar_shown(u) != NULL;
	}
	return any;
}

/* Processes that share the context share its file; numbers of pages are a process's own. */
static off_t place_of(const struct hca_uar *uar)
{
	uint64_t slot = fabric_id_slot(fabric_self()) + 1;

	return (off_t)((slot << 24 | uar->id) * HCA_UAR_SIZE);
}

static int show(struct hca_uar *uar, int fd)
{
	off_t at = place_of(uar);
	struct stat st;
	uint8_t *page;

	if (fstat(fd, &st))
		return -errno;
	/* A file with holes costs nothing. */
	if (st.st_size < at + (off_t)HCA_UAR_SIZE && ftruncate(fd, at + HCA_UAR_SIZE))
		return -errno;
	page = mmap(NULL, HCA_UAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
	if (page == MAP_FAILED)
		return -errno;
	uar->shown_at = at;
	uar->shown = page;
	return 0;
}

int hca_uar_show(struct hca_uar *uar, int fd, off_t *out)
{
	int err = hca.ops->join(); /* for the number of this process */

	if (err)
		return err;
	doorbell_watch_lock();
	if (!uar->shown)
		err = show(uar, fd);
	doorbell_watch_unlock();
	if (!err)
		*out = uar->shown_at;
	return err;
}

/* ---- life ---- */

int hca_uar_create(const struct hca_format *format, struct hca_uar **out)
{
	static uint32_t last;
	struct hca_uar *uar = calloc(1, sizeof(*uar));

	if (!uar)
		return -ENOMEM;
	uar->page = mmap(NULL, HCA_UAR_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (uar->page == MAP_FAILED) {
		free(uar);
		return -ENOMEM;
	}
	/* A page that is not there cannot be protected. */
	*(volatile uint64_t *)uar->page = 0;
	uar->format = format;
	doorbell_watch_lock();
	/* 24 bits, and 0 is none. A number comes again after 16 million others. */
	last = last >= 0xffffff ? 1 : last + 1;
	uar->id = last;
	doorbell_watch_unlock();
	*out = uar;
	return 0;
}

void hca_uar_watch(struct hca_uar *uar)
{
	doorbell_watch_lock();
	if (!uar->watched) {
		open_guard();
		guard(uar);
		uar->watched = true;
		uar->next = pages;
		pages = uar;
	}
	doorbell_watch_unlock();
	doorbell_watch_wake();
}

void hca_uar_destroy(struct hca_uar *uar)
{
	doorbell_watch_lock();
	for (struct hca_uar **at = &pages; *at; at = &(*at)->next)
		if (*at == uar) {
			*at = uar->next;
			break;
		}
	for (size_t i = 0; i < eq_count; i++)
		hca_eq_orphan(eqs[i], uar);
	wake(uar);
	doorbell_watch_unlock();
	munmap(uar->page, HCA_UAR_SIZE);
	if (uar->shown)
		munmap(uar->shown, HCA_UAR_SIZE);
	free(uar);
}

/* The child's pages are copies without a guard, and nobody in it looks at the parent's objects. */
void uar_forked(void)
{
	for (struct hca_uar *u = pages; u; u = u->next)
		u->watched = u->asleep = u->guarded = u->rung = false;
	pages = NULL;
	eq_count = 0;
	if (uffd >= 0)
		close(uffd);
	uffd = -1;
	asked = minor = false;
}
