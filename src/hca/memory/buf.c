/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for programs is allocated in the process's share memfd; plain pages where sharing is off.
 * A second mapping of a program's memory is a mapping of that memfd.
 */
#include "hca/memory/buf.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/share.h"
#include "fabric/share_alloc.h"
#include "util/copy.h"

/* The thread sanitizer sees no order between what is done to one page at two addresses. */
#if VB_TSAN
#define IS_TSAN 1
#else
#define IS_TSAN 0
#endif

int hca_buf_alloc(uint64_t length, void **out)
{
	void *buf = share_alloc(length);

	if (!buf)
		return -ENOMEM;
	*out = buf;
	return 0;
}

void hca_buf_free(void *buf)
{
	share_free(buf);
}

static size_t span(const void *addr, size_t length, uintptr_t *start)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	*start = (uintptr_t)addr & ~(page - 1);
	return (((uintptr_t)addr + length + page - 1) & ~(page - 1)) - *start;
}

int hca_buf_pin(void *addr, size_t length, void **out)
{
	uintptr_t start;
	size_t bytes = span(addr, length, &start);
	char *pinned;
	int err = IS_TSAN ? -EOPNOTSUPP : share_range_pin(addr, length);

	if (err)
		return err;
	/* The offset of a page in the share memfd is its address. */
	pinned = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, share_fd(), (off_t)start);
	if (pinned == MAP_FAILED) {
		share_range_unpin(addr, length);
		return -ENOMEM;
	}
	madvise(pinned, bytes, MADV_DONTFORK);
	*out = pinned + ((uintptr_t)addr - start);
	return 0;
}

void hca_buf_unpin(void *addr, size_t length, void *pinned)
{
	uintptr_t start, at;
	size_t bytes = span(addr, length, &start);

	span(pinned, length, &at);
	munmap((void *)at, bytes);
	share_range_unpin(addr, length);
}
