/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The members that stream and datagram rsockets have in common.
 *
 * Locks, outermost first: the service lock (service.h), send_lock and recv_lock (a call that sends,
 * or receives, holds its one from beginning to end), lock (everything else, for short times).
 */
#ifndef RSOCKET_SOCKET_H
#define RSOCKET_SOCKET_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "rsocket/config.h"
#include "rsocket/table.h"
#include "rsocket/wake.h"

/* Options that are only remembered, or that other layers carry out. */
struct rs_options {
	bool reuse_addr;
	bool keepalive;
	bool oob_inline;
	bool linger_off; /* SO_LINGER is on by default */
	bool no_delay;
	bool v6_only;
	unsigned int keepalive_s;
};

struct rs_socket;

/* Functions in which streams and datagrams differ when a call waits; called with the lock held. */
struct rs_socket_ops {
	/* Handles completions that are there. */
	void (*progress)(struct rs_socket *s);
	/* From now on a completion makes a descriptor readable; which one, -1: none. */
	int (*arm)(struct rs_socket *s);
	/* The descriptor was readable: takes what made it so. */
	void (*take)(struct rs_socket *s);
	/* Events that the socket is ready for: of `events`, and errors and hang-ups in any case. */
	short (*events)(const struct rs_socket *s, short asked);
};

struct rs_socket {
	struct rs_entry entry; /* first */
	const struct rs_socket_ops *ops;
	int domain;
	_Atomic int fd_flags; /* of rfcntl(): O_NONBLOCK */
	pthread_mutex_t send_lock;
	pthread_mutex_t recv_lock;
	pthread_mutex_t lock;
	struct rs_sleepers sleepers;
	struct rs_sizes sizes;
	struct rs_options options;
};

/* Events of poll() that mean the same to rsockets. */
#define RS_READ_EVENTS  (POLLIN | POLLRDNORM)
#define RS_WRITE_EVENTS (POLLOUT | POLLWRNORM)

static inline bool rs_is_nonblocking(struct rs_socket *s, int msg_flags)
{
	return (msg_flags & MSG_DONTWAIT) || (atomic_load(&s->fd_flags) & O_NONBLOCK);
}

#endif
