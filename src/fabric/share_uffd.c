/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that access a blocked page sleep in the kernel until the page is mapped anew. The
 * descriptor stays open for the life of the process, because closing it visits every mapping. Its
 * events are not read: the thread that blocks a range also ends the block.
 */
#include "fabric/share_uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric/share_sys.h"

/* Newer than the headers of some distributions. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#define NEW_UFFD _IO(0xaa, 0) /* on /dev/userfaultfd, Linux 6.1 */

#define WANTED (UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM)

/* A descriptor that also catches faults of the kernel, if this process may have one. */
static int new_uffd(bool *kernel)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK), dev;

	*kernel = true;
	if (fd >= 0)
		return fd;
	if (errno == ENOSYS)
		return -ENOSYS;
	dev = share_sys_open("/dev/userfaultfd", O_RDWR);
	if (dev >= 0) {
		fd = ioctl(dev, NEW_UFFD, O_CLOEXEC | O_NONBLOCK);
		share_sys_close(dev);
		if (fd >= 0)
			return fd;
	}
	*kernel = false;
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	return fd < 0 ? -errno : fd;
}

static int open_with(uint64_t *features, bool *kernel)
{
	struct uffdio_api api = { .api = UFFD_API, .features = *features };
	int fd = new_uffd(kernel), err;

	if (fd < 0)
		return fd;
	err = share_sys_ioctl(fd, UFFDIO_API, &api);
	if (err) {
		share_sys_close(fd);
		return err;
	}
	*features = api.features;
	return fd;
}

int share_uffd_ready(struct share_state *state)
{
	uint64_t features = 0, wanted;
	int fd;

	if (state->uffd >= 0)
		return 0;
	if (state->uffd_tried)
		return -EOPNOTSUPP;
	state->uffd_tried = true;
	/* UFFDIO_API without features tells which ones there are, once per descriptor. */
	fd = open_with(&features, &state->uffd_kernel);
	if (fd < 0)
		return -EOPNOTSUPP;
	share_sys_close(fd);
	wanted = features & WANTED;
	if (!(wanted & UFFD_FEATURE_PAGEFAULT_FLAG_WP))
		return -EOPNOTSUPP;
	fd = open_with(&wanted, &state->uffd_kernel);
	if (fd < 0)
		return -EOPNOTSUPP;
	state->uffd_shmem = features & UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
	state->uffd = fd;
	return 0;
}

void share_uffd_close(struct share_state *state)
{
	if (state->uffd >= 0)
		share_sys_close(state->uffd);
	state->uffd = -1;
	state->uffd_tried = false;
}

static int block(struct share_state *state, uintptr_t start, size_t len, bool writes)
{
	struct uffdio_register reg = {
		.range = { .start = start, .len = len },
		.mode = UFFDIO_REGISTER_MODE_MISSING | (writes ? UFFDIO_REGISTER_MODE_WP : 0),
	};
	struct uffdio_writeprotect protect = {
		.range = { .start = start, .len = len },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};
	int err = share_sys_ioctl(state->uffd, UFFDIO_REGISTER, &reg);

	if (err || !writes)
		return err;
	do {
		err = share_sys_ioctl(state->uffd, UFFDIO_WRITEPROTECT, &protect);
	} while (err == -EAGAIN);
	if (err)
		share_uffd_unblock(state, start, len);
	return err;
}

int share_uffd_block(struct share_state *state, uintptr_t start, size_t len, bool writes)
{
	int err = block(state, start, len, writes);

	/* The program may have closed the descriptor, as one that it does not know. */
	if (err != -EBADF && err != -ENOTTY)
		return err;
	state->uffd = -1;
	state->uffd_tried = false;
	err = share_uffd_ready(state);
	return err ? err : block(state, start, len, writes);
}

void share_uffd_wake(struct share_state *state, uintptr_t start, size_t len)
{
	struct uffdio_range range = { .start = start, .len = len };

	share_sys_ioctl(state->uffd, UFFDIO_WAKE, &range);
}

void share_uffd_unblock(struct share_state *state, uintptr_t start, size_t len)
{
	struct uffdio_range range = { .start = start, .len = len };

	/* Takes the protection off and wakes. */
	share_sys_ioctl(state->uffd, UFFDIO_UNREGISTER, &range);
}
