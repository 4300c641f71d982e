/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoll instances that watch rsockets. The kernel's instance goes on watching everything else; the
 * rsockets are kept here, and epoll_wait() waits for both by rpoll(). All under the library's lock.
 *
 * An instance inside of poll() or of another instance shows only what the kernel watches.
 */
#ifndef RSPRELOAD_EPOLL_H
#define RSPRELOAD_EPOLL_H

/* The instance is about to be closed. Under the lock. */
void rsp_epoll_close(int epfd);

/* The number is about to be closed: no instance watches it any more. Under the lock. */
void rsp_epoll_forget(int number);

/* The number is the kernel's from now on, and so is watching it. Under the lock. */
void rsp_epoll_hand_over(int number);

/*
 * The program has received (EPOLLIN) or sent (EPOLLOUT): what was reported once to an edge-triggered
 * watch may be reported again. Keeps errno.
 */
void rsp_epoll_touch(int number, unsigned int events);

#endif
