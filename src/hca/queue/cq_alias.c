/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views of completion queues. The list and all shutting and opening are under the lock of doorbell_watch.c,
 * which also reads the descriptor that tells of readers (uar.c).
 *
 * A view is a mapping of the process's share memfd, registered for minor faults: a page without an
 * entry in the page table that is there in the file. Shutting takes the entry away, opening puts it
 * back; the contents are in the file and do not move.
 */
#include "hca/queue/cq_alias.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hca/memory/buf.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/queue/cq.h"
#include "hca/memory/mr.h"
#include "hca/queue/uar.h"

static struct hca_cq_alias *views;

static uintptr_t page_size(void)
{
	return (uintptr_t)sysconf(_SC_PAGESIZE);
}

static struct uffdio_range pages_of(const struct hca_cq_alias *view)
{
	uintptr_t page = page_size(), start = (uintptr_t)view->addr & ~(page - 1);
	uintptr_t end = ((uintptr_t)view->addr + view->length + page - 1) & ~(page - 1);

	return (struct uffdio_range){ .start = start, .len = end - start };
}

/* Should it fail, nobody may stay behind in the kernel: then the view is an ordinary mapping. */
static void let_in(struct hca_cq_alias *view, char *page)
{
	struct uffdio_continue go_on = { .range = { .start = (uintptr_t)page,
						    .len = page_size() } };
	struct uffdio_range all = pages_of(view);
	int fd = uar_minor_guard();

	if (!ioctl(fd, UFFDIO_CONTINUE, &go_on))
		return;
	/* Somebody else has been let in meanwhile. */
	if (errno == EEXIST && !ioctl(fd, UFFDIO_WAKE, &go_on.range))
		return;
	ioctl(fd, UFFDIO_UNREGISTER, &all);
}

bool cq_alias_touched(uintptr_t address)
{
	char *page = (char *)(address & ~(page_size() - 1));

	for (struct hca_cq_alias *v = views; v; v = v->next) {
		struct uffdio_range all = pages_of(v);

		if (address - all.start >= all.len)
			continue;
		/* The kernel takes entries away as well, when memory is short. */
		if (page != v->shut)
			let_in(v, page);
		return true;
	}
	return false;
}

bool cq_alias_shut(struct hca_cq *cq)
{
	struct hca_cq_alias *view = cq->view;
	size_t at = (size_t)(cq->pi & (cq->size - 1)) * cq->entry_size;
	uintptr_t page;

	/* A ring that has just been exchanged may be longer than the view. */
	if (!view || at >= view->length)
		return false;
	page = (uintptr_t)(view->addr + at) & ~(page_size() - 1);
	if (view->shut == (char *)page)
		return true;
	if (view->shut)
		let_in(view, view->shut);
	view->shut = NULL;
	/* Refused for locked memory. */
	if (madvise((void *)page, page_size(), MADV_DONTNEED))
		return false;
	view->shut = (char *)page;
	return true;
}

void cq_alias_open(void)
{
	for (struct hca_cq_alias *v = views; v; v = v->next)
		if (v->shut) {
			let_in(v, v->shut);
			v->shut = NULL;
		}
}

/* Lock held. */
static int enlist(struct hca_cq *cq, struct hca_cq_alias *view)
{
	struct uffdio_register reg = { .range = pages_of(view),
				       .mode = UFFDIO_REGISTER_MODE_MINOR };

	if (uar_minor_guard() < 0 || ioctl(uar_minor_guard(), UFFDIO_REGISTER, &reg))
		return -EOPNOTSUPP;
	view->next = views;
	view->at = &views;
	if (views)
		views->at = &view->next;
	views = view;
	view->cq = cq;
	cq->view = view;
	return 0;
}

int hca_cq_alias_create(struct hca_cq *cq, struct hca_cq_alias **out)
{
	struct hca_cq_alias *view = calloc(1, sizeof(*view));
	struct uffdio_range all;
	void *addr;
	int err;

	if (!view)
		return -ENOMEM;
	view->ring = cq->buf;
	view->length = (size_t)cq->size * cq->entry_size;
	err = hca_buf_pin(view->ring, view->length, &addr);
	if (err)
		goto free_view;
	view->addr = addr;
	all = pages_of(view);
	/* Else the first reader of each page would have to be let in. */
	madvise((void *)(uintptr_t)all.start, all.len, MADV_POPULATE_WRITE);
	doorbell_watch_lock();
	/* Another thread may have been faster. */
	err = cq->view ? -EEXIST : enlist(cq, view);
	if (!err || err == -EEXIST)
		*out = cq->view;
	doorbell_watch_unlock();
	if (!err)
		return 0;
	hca_buf_unpin(view->ring, view->length, addr);
free_view:
	free(view);
	return err == -EEXIST ? 0 : err;
}

void cq_alias_forget_cq(struct hca_cq *cq)
{
	doorbell_watch_lock();
	if (cq->view)
		cq->view->cq = NULL;
	cq->view = NULL;
	doorbell_watch_unlock();
}

void hca_cq_alias_destroy(struct hca_cq_alias *view)
{
	struct uffdio_range all = pages_of(view);

	doorbell_watch_lock();
	if (view->at) {
		if (view->cq)
			view->cq->view = NULL;
		*view->at = view->next;
		if (view->next)
			view->next->at = view->at;
		ioctl(uar_minor_guard(), UFFDIO_UNREGISTER, &all);
	}
	doorbell_watch_unlock();
	/* Without a place in the list it is the parent's: the child of a fork does not have it. */
	if (view->at)
		hca_buf_unpin(view->ring, view->length, view->addr);
	free(view);
}

void cq_alias_forked(void)
{
	struct hca_cq_alias *next;

	for (; views; views = next) {
		next = views->next;
		views->at = NULL;
	}
}
