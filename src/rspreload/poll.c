/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * poll() and select() with rsockets among the descriptors: rpoll() takes both kinds. A signal mask is
 * set around rpoll(), not atomically with it: a signal that comes in between is not noticed until the
 * wait ends by something else.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>

#include "rspreload/lookup.h"
#include "rspreload/real.h"

/* Of libc, for the checks of _FORTIFY_SOURCE. */
void __chk_fail(void) __attribute__((noreturn));
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t room);

#define FEW 64

/* An accepted connection has to move now: no data comes before. A connecting one need not. */
static int rsocket_to_wait_for(int number)
{
	int rs;
	enum rsp_kind kind = rsp_table_get(&rsp.table, number, &rs);

	return kind == RSP_LATE_ACTIVE ? -1 : rsp_lookup_data(number);
}

static int to_ms(const struct timespec *timeout)
{
	int64_t ms;

	if (!timeout)
		return -1;
	ms = timeout->tv_sec * INT64_C(1000) + (timeout->tv_nsec + 999999) / 1000000;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

static int masked_rpoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
			const sigset_t *mask)
{
	sigset_t old;
	int ret;

	if (mask)
		pthread_sigmask(SIG_SETMASK, mask, &old);
	ret = rpoll(fds, n, to_ms(timeout));
	if (mask)
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

/* Copies fds with rsockets for numbers. Whether there is any. */
static bool translate(const struct pollfd *fds, nfds_t n, struct pollfd *copy)
{
	bool any = false;
	nfds_t i;
	int rs;

	for (i = 0; i < n; i++) {
		copy[i] = fds[i];
		copy[i].revents = 0;
		rs = fds[i].fd < 0 ? -1 : rsocket_to_wait_for(fds[i].fd);
		if (rs < 0)
			continue;
		copy[i].fd = rs;
		any = true;
	}
	return any;
}

VB_API int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd few[FEW], *copy = few;
	nfds_t i;
	int ret;

	if (n > FEW)
		copy = malloc(n * sizeof(*copy));
	if (!copy) {
		errno = ENOMEM;
		return -1;
	}
	if (translate(fds, n, copy)) {
		ret = masked_rpoll(copy, n, timeout, mask);
		for (i = 0; i < n && ret >= 0; i++)
			fds[i].revents = copy[i].revents;
	} else {
		ret = REAL(ppoll)(fds, n, timeout, mask);
	}
	if (copy != few)
		free(copy);
	return ret;
}

VB_API int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct timespec ts = { .tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1000000L };

	return ppoll(fds, n, timeout < 0 ? NULL : &ts, NULL);
}

VB_API int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return poll(fds, n, timeout);
}

VB_API int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		       const sigset_t *mask, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return ppoll(fds, n, timeout, mask);
}

/* Sets may be longer than an fd_set; a set may be missing. */
static bool is_in(const fd_set *set, int number)
{
	return set && ((const unsigned long *)set)[number / __NFDBITS] >> number % __NFDBITS & 1;
}

static int put(fd_set *set, int number, bool in)
{
	unsigned long *word = (unsigned long *)set + number / __NFDBITS;

	if (!set)
		return 0;
	if (in)
		*word |= 1UL << number % __NFDBITS;
	else
		*word &= ~(1UL << number % __NFDBITS);
	return in;
}

struct sets {
	int n;
	fd_set *in, *out, *special;
};

static short events_of(const struct sets *sets, int number)
{
	return (short)((is_in(sets->in, number) ? POLLIN : 0) |
		       (is_in(sets->out, number) ? POLLOUT : 0) |
		       (is_in(sets->special, number) ? POLLPRI : 0));
}

static bool has_rsocket(const struct sets *sets)
{
	int number;

	for (number = 0; number < sets->n; number++)
		if (events_of(sets, number) && rsocket_to_wait_for(number) >= 0)
			return true;
	return false;
}

/* fds has an element for every number, in order, of which numbers in no set are left out. */
static void sets_to_fds(const struct sets *sets, struct pollfd *fds)
{
	int number, rs;

	for (number = 0; number < sets->n; number++) {
		fds[number] = (struct pollfd){ .fd = -1, .events = events_of(sets, number) };
		if (!fds[number].events)
			continue;
		rs = rsocket_to_wait_for(number);
		fds[number].fd = rs < 0 ? number : rs;
	}
}

static int fds_to_sets(const struct pollfd *fds, struct sets *sets)
{
	int number, count = 0;
	short events, now;

	for (number = 0; number < sets->n; number++) {
		events = fds[number].events;
		now = fds[number].revents;
		if (now & POLLNVAL) {
			errno = EBADF;
			return -1;
		}
		count += put(sets->in, number,
			     events & POLLIN && now & (POLLIN | POLLHUP | POLLERR));
		count += put(sets->out, number, events & POLLOUT && now & (POLLOUT | POLLERR));
		count += put(sets->special, number, events & POLLPRI && now & POLLPRI);
	}
	return count;
}

static int select_by_rpoll(struct sets *sets, const struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd *fds = malloc((size_t)sets->n * sizeof(*fds));
	int ret;

	if (!fds) {
		errno = ENOMEM;
		return -1;
	}
	sets_to_fds(sets, fds);
	ret = masked_rpoll(fds, (nfds_t)sets->n, timeout, mask);
	if (ret >= 0)
		ret = fds_to_sets(fds, sets);
	free(fds);
	return ret;
}

VB_API int pselect(int n, fd_set *in, fd_set *out, fd_set *special, const struct timespec *timeout,
		   const sigset_t *mask)
{
	struct sets sets = { .n = n, .in = in, .out = out, .special = special };

	if (n <= 0 || !has_rsocket(&sets))
		return REAL(pselect)(n, in, out, special, timeout, mask);
	return select_by_rpoll(&sets, timeout, mask);
}

/* The remaining time is not written back to *timeout, which POSIX leaves open and Linux does. */
VB_API int select(int n, fd_set *in, fd_set *out, fd_set *special, struct timeval *timeout)
{
	struct sets sets = { .n = n, .in = in, .out = out, .special = special };
	struct timespec ts;

	if (n <= 0 || !has_rsocket(&sets))
		return REAL(select)(n, in, out, special, timeout);
	if (timeout)
		TIMEVAL_TO_TIMESPEC(timeout, &ts);
	return select_by_rpoll(&sets, timeout ? &ts : NULL, NULL);
}
