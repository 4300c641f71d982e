/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rselect(), by way of a poll.
 */
#include <errno.h>
#include <rdma/rsocket.h>
#include <stdbool.h>
#include <stdlib.h>

#include "rsocket/poll.h"
#include "rsocket/result.h"
#include "util/explain.h"

/* Which events of poll() belong to which set, as the kernel's select() has it. */
#define READ_READY   (POLLIN | POLLRDNORM | POLLHUP | POLLERR)
#define WRITE_READY  (POLLOUT | POLLWRNORM | POLLERR)
#define EXCEPT_READY POLLPRI

static bool is_in(int fd, const fd_set *set)
{
	return set && FD_ISSET(fd, set);
}

static nfds_t to_poll(int nfds, struct pollfd *fds, const fd_set *reads, const fd_set *writes,
		      const fd_set *excepts)
{
	nfds_t count = 0;

	for (int fd = 0; fd < nfds; fd++) {
		const short events = (is_in(fd, reads) ? POLLIN : 0) |
				     (is_in(fd, writes) ? POLLOUT : 0) |
				     (is_in(fd, excepts) ? POLLPRI : 0);

		if (events)
			fds[count++] = (struct pollfd){ .fd = fd, .events = events };
	}
	return count;
}

static int to_set(const struct pollfd *fds, nfds_t count, short asked, short ready, fd_set *set)
{
	int found = 0;

	if (!set)
		return 0;
	FD_ZERO(set);
	for (nfds_t i = 0; i < count; i++) {
		if ((fds[i].events & asked) && (fds[i].revents & ready)) {
			FD_SET(fds[i].fd, set);
			found++;
		}
	}
	return found;
}

static int timeout_ms(const struct timeval *timeout)
{
	if (!timeout)
		return -1;
	if (timeout->tv_sec > 2000000)
		return 2000000000;
	return timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000;
}

static bool has_bad_fd(const struct pollfd *fds, nfds_t count)
{
	for (nfds_t i = 0; i < count; i++)
		if (fds[i].revents & POLLNVAL)
			return true;
	return false;
}

VB_API int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		   struct timeval *timeout)
{
	struct pollfd *fds;
	nfds_t count;
	int ready;

	if (nfds < 0 || nfds > FD_SETSIZE)
		return rs_result(explain(EINVAL, "rselect takes 0 to %d descriptors, not %d",
					 FD_SETSIZE, nfds));
	fds = calloc(nfds + 1, sizeof(*fds));
	if (!fds)
		return rs_result(explain(ENOMEM, "no memory for %d descriptors", nfds));
	count = to_poll(nfds, fds, readfds, writefds, exceptfds);
	ready = rs_poll(fds, count, timeout_ms(timeout), NULL);
	if (ready >= 0 && has_bad_fd(fds, count))
		ready = explain(EBADF, "a descriptor of rselect is not open");
	if (ready >= 0)
		ready = to_set(fds, count, POLLIN, READ_READY, readfds) +
			to_set(fds, count, POLLOUT, WRITE_READY, writefds) +
			to_set(fds, count, POLLPRI, EXCEPT_READY, exceptfds);
	free(fds);
	return rs_result(ready);
}
