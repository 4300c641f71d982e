/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A page of the peer is at the offset of its memfd that is its address there. A page that the peer
 * does not share reads as zeros; the caller knows which addresses are shared.
 */
#include "fabric/share_view.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/memfd.h"
#include "fabric/share_state.h"

static bool is_self(const struct stat *st)
{
	struct share_state *state = share_lock();
	bool self;

	if (!state)
		return false;
	self = state->fd >= 0 && st->st_ino == state->ino && st->st_dev == state->dev;
	share_unlock(state);
	return self;
}

int share_view_init(struct share_view *view, int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	/* If the file could shrink, an access would raise SIGBUS. */
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) ||
	    (uint64_t)st.st_size != SHARE_SPACE)
		return -EPROTO;
	*view = (struct share_view){ .fd = fd, .self = is_self(&st) };
	return 0;
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* The mapping is whole pages, and starts where peer_va's page does. */
static size_t mapped_size(uint64_t va, size_t len)
{
	size_t page = page_size();

	return ((va & (page - 1)) + len + page - 1) & ~(page - 1);
}

void *share_view_map(struct share_view *view, uint64_t peer_va, size_t len)
{
	uint64_t in_page = peer_va & (page_size() - 1);
	void *p = NULL;
	size_t bytes;

	if (!len || peer_va >= SHARE_SPACE || len > SHARE_SPACE - peer_va) {
		errno = EINVAL;
		return NULL;
	}
	/* share.c would take a second mapping for memory that the program moved with mremap(). */
	if (view->self)
		return (void *)(uintptr_t)peer_va;
	bytes = mapped_size(peer_va, len);
	if (fabric_memfd_map(view->fd, peer_va - in_page, bytes, &p)) {
		errno = ENOMEM;
		return NULL;
	}
	/* Links to peers do not survive a fork. */
	madvise(p, bytes, MADV_DONTFORK);
	view->mapped += bytes;
	return (char *)p + in_page;
}

void share_view_unmap(struct share_view *view, void *local, size_t len)
{
	uintptr_t in_page = (uintptr_t)local & (page_size() - 1);
	size_t bytes = mapped_size((uintptr_t)local, len);

	if (view->self)
		return;
	munmap((char *)local - in_page, bytes);
	view->mapped -= bytes;
}

void share_view_fini(struct share_view *view)
{
	view->fd = -1;
}
