/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that sleeps until the kernel reports a change of interfaces or addresses, so that a
 * program which waits in ibv_get_async_event(), and asks for nothing else, still hears of it.
 *
 * port.c starts it, under its lock, with the first open context; it stays for the life of the
 * process. A child of fork() has no such thread until it opens a context of its own.
 */
#include "hca/watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "hca/port.h"

static bool running; /* under port.c's lock */

static void *run(void *arg)
{
	struct pollfd pfd = { .fd = (int)(intptr_t)arg, .events = POLLIN };

	/* A program that closes every descriptor closes this one, and with it the watch. */
	while ((poll(&pfd, 1, -1) >= 0 || errno == EINTR) && !(pfd.revents & POLLNVAL))
		hca_port_refresh(); /* drains lost reports (POLLERR) like all others */
	return NULL;
}

int hca_watch_start(int fd)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (running)
		return 0;
	err = pthread_attr_init(&attr);
	if (err)
		return -err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, run, (void *)(intptr_t)fd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		return -err;
	running = true;
	return 0;
}

void hca_watch_forget(void)
{
	running = false;
}
