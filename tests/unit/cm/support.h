/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the connection manager share. */
#ifndef TESTS_CM_SUPPORT_H
#define TESTS_CM_SUPPORT_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <infiniband/ib.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "util/explain.h"

/* -1, this errno, and a sentence that says why. */
#define assert_refused(call, error)                                                                \
	do {                                                                                       \
		explain_note("nothing was explained");                                             \
		errno = 0;                                                                         \
		assert_int_equal((call), -1);                                                      \
		assert_int_equal(errno, (error));                                                  \
		assert_string_not_equal(explain_last(), "nothing was explained");                  \
	} while (0)

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_ib ib;
	};
};

static inline struct sockaddr *ip(struct address *addr, const char *text, int port)
{
	memset(addr, 0, sizeof(*addr));
	if (strchr(text, ':')) {
		addr->in6.sin6_family = AF_INET6;
		addr->in6.sin6_port = htons(port);
		inet_pton(AF_INET6, text, &addr->in6.sin6_addr);
	} else {
		addr->in.sin_family = AF_INET;
		addr->in.sin_port = htons(port);
		inet_pton(AF_INET, text, &addr->in.sin_addr);
	}
	return &addr->any;
}

static inline int readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Event files, which channels have; the service thread opens and closes sockets as it likes. */
static inline int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[64];
	int count = 0;

	while ((entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[len > 0 ? len : 0] = 0;
		count += !strcmp(target, "anon_inode:[eventfd]");
	}
	closedir(dir);
	return count;
}

/* Takes one event, checks it and gives it back. */
static inline void expect_event(struct rdma_event_channel *channel, struct rdma_cm_id *id,
				enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event;

	assert_true(readable(channel->fd));
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_string_equal(rdma_event_str(event->event), rdma_event_str(type));
	assert_int_equal(event->status, status);
	assert_ptr_equal(event->id, id);
	assert_null(event->listen_id);
	assert_int_equal(rdma_ack_cm_event(event), 0);
}

#endif
