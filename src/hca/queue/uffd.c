/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/queue/uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric/service.h"
#include "hca/hca.h"
#include "util/valgrind.h"

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

static struct uffdio_range range_of(void *start, size_t length)
{
	return (struct uffdio_range){ .start = (uintptr_t)start, .len = length };
}

static int open_with(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd;

	/* Under valgrind a thread that waits for a closed page lets no other one run. */
	if (valgrind_is_running())
		return -1;
	/* glibc has no function for it */
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void uffd_open(void (*readable)(void *arg, uint32_t events))
{
	const uint64_t stores = UFFD_FEATURE_PAGEFAULT_FLAG_WP, exact = UFFD_FEATURE_EXACT_ADDRESS;
	struct uffd_state *u = &hca.queue.uffd;

	if (u->tried)
		return;
	u->tried = true;
	u->fd = open_with(stores | exact | UFFD_FEATURE_MINOR_SHMEM);
	u->has_minor = u->fd >= 0;
	if (u->fd < 0)
		u->fd = open_with(stores | exact);
	if (u->fd < 0)
		u->fd = open_with(stores);
	if (u->fd >= 0 && fabric_service_add_fd(u->fd, EPOLLIN, readable, NULL)) {
		close(u->fd);
		u->fd = -1;
		u->has_minor = false;
	}
}

bool uffd_next(uintptr_t *address)
{
	struct uffd_msg msg;

	while (read(hca.queue.uffd.fd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg)) {
		if (msg.event != UFFD_EVENT_PAGEFAULT)
			continue;
		*address = msg.arg.pagefault.address;
		return true;
	}
	return false;
}

bool uffd_register_stores(void *start, size_t length)
{
	struct uffdio_register reg = { .range = range_of(start, length),
				       .mode = UFFDIO_REGISTER_MODE_WP };

	return hca.queue.uffd.fd >= 0 && !ioctl(hca.queue.uffd.fd, UFFDIO_REGISTER, &reg);
}

bool uffd_protect(void *start, size_t length, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = range_of(start, length),
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};
	int err;

	do
		err = ioctl(hca.queue.uffd.fd, UFFDIO_WRITEPROTECT, &wp);
	while (err && errno == EAGAIN);
	return !err;
}

bool uffd_register_minor(void *start, size_t length)
{
	struct uffdio_register reg = { .range = range_of(start, length),
				       .mode = UFFDIO_REGISTER_MODE_MINOR };

	return hca.queue.uffd.has_minor && !ioctl(hca.queue.uffd.fd, UFFDIO_REGISTER, &reg);
}

bool uffd_continue(void *page, size_t length)
{
	struct uffdio_continue entry = { .range = range_of(page, length) };

	if (!ioctl(hca.queue.uffd.fd, UFFDIO_CONTINUE, &entry))
		return true;
	/* The page has its entry already: wake the threads that faulted before. */
	return errno == EEXIST && !ioctl(hca.queue.uffd.fd, UFFDIO_WAKE, &entry.range);
}

void uffd_unregister(void *start, size_t length)
{
	struct uffdio_range range = range_of(start, length);

	ioctl(hca.queue.uffd.fd, UFFDIO_UNREGISTER, &range);
}

void uffd_forked(void)
{
	if (hca.queue.uffd.fd >= 0)
		close(hca.queue.uffd.fd);
	hca.queue.uffd = (struct uffd_state)UFFD_STATE_INIT;
}
