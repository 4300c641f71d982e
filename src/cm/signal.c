/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/signal.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/explain.h"

#define BATCH 16 /* more signals than one message raises */

static void write_fd(int fd)
{
	if (eventfd_write(fd, 1))
		explain_note("descriptor %d of an event channel does not take the event; was it "
			     "closed by hand?",
			     fd);
}

/* Takes one from the list, and returns its descriptor. */
static int take(struct cm_signals *signals)
{
	struct cm_signal *signal = LIST_FIRST(&signals->pending);

	LIST_REMOVE(signal, entry);
	signal->is_pending = false;
	signal->unread++;
	return signal->fd;
}

void cm_signal_raise(struct cm_signals *signals, struct cm_signal *signal)
{
	if (signal->is_pending)
		return;
	signal->is_pending = true;
	LIST_INSERT_HEAD(&signals->pending, signal, entry);
}

static void forget(struct cm_signal *signal)
{
	if (signal->is_pending)
		LIST_REMOVE(signal, entry);
	signal->is_pending = false;
}

/* Never blocks: the program may have read the descriptor itself. False: there is nothing to read. */
static bool read_count(int fd, eventfd_t *count)
{
	struct iovec into = { .iov_base = count, .iov_len = sizeof(*count) };
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	ssize_t n = preadv2(fd, &into, 1, -1, RWF_NOWAIT);

	if (n < 0 && errno != EAGAIN) /* Linux before 5.8, or a seccomp filter */
		return poll(&readable, 1, 0) == 1 && !eventfd_read(fd, count);
	return n == sizeof(*count);
}

static void read_fd(struct cm_signal *signal)
{
	eventfd_t count;

	if (!read_count(signal->fd, &count))
		return;
	signal->unread = count < signal->unread ? signal->unread - (unsigned int)count : 0;
}

/* Until the threads that have released cm.lock, but have not written yet, have done so. */
static void wait_for_writers(struct cm_signals *signals)
{
	pthread_mutex_lock(&signals->write_lock);
	pthread_mutex_unlock(&signals->write_lock);
}

void cm_signal_clear(struct cm_signals *signals, struct cm_signal *signal)
{
	forget(signal);
	if (signal->unread)
		read_fd(signal);
	if (!signal->unread)
		return;
	wait_for_writers(signals);
	read_fd(signal);
	signal->unread = 0;
}

void cm_signal_close(struct cm_signals *signals, struct cm_signal *signal)
{
	forget(signal);
	wait_for_writers(signals);
	close(signal->fd);
}

void cm_signals_flush(struct cm_signals *signals, pthread_mutex_t *lock)
{
	int fds[BATCH], count = 0;

	while (!LIST_EMPTY(&signals->pending) && count < BATCH)
		fds[count++] = take(signals);
	while (!LIST_EMPTY(&signals->pending))
		write_fd(take(signals));
	pthread_mutex_lock(&signals->write_lock);
	pthread_mutex_unlock(lock);
	for (int i = 0; i < count; i++)
		write_fd(fds[i]);
	pthread_mutex_unlock(&signals->write_lock);
}
