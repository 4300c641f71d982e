/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/handshake_msg.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/directory.h"

#define HELLO_MAGIC   0x6c6e6b76u
#define HELLO_VERSION 2u

int handshake_send(int sock, struct handshake_msg *m, const int *fds, size_t count)
{
	union {
		char bytes[CMSG_SPACE(HELLO_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec data = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *c;

	m->magic = HELLO_MAGIC;
	m->version = HELLO_VERSION;
	m->from = fabric_self();
	if (count) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

void handshake_close_fds(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/*
 * False: there were more than HELLO_FDS. The buffer may have room for one more, as the kernel rounds its
 * length up.
 */
static bool take_fds(struct msghdr *msg, int *fds, size_t *count)
{
	struct cmsghdr *c;
	bool fit = true;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < here; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (*count < HELLO_FDS) {
				fds[(*count)++] = fd;
			} else {
				close(fd);
				fit = false;
			}
		}
	}
	return fit;
}

int handshake_receive(int sock, struct handshake_msg *m, int fds[HELLO_FDS], size_t *count)
{
	union {
		char bytes[CMSG_SPACE(HELLO_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec data = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr msg = { .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	ssize_t n;

	memset(m, 0, sizeof(*m));
	*count = 0;
	n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (!n)
		return -EPIPE;
	if (!take_fds(&msg, fds, count) || n != sizeof(*m) ||
	    (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || m->magic != HELLO_MAGIC ||
	    m->version != HELLO_VERSION) {
		handshake_close_fds(fds, *count);
		*count = 0;
		return -EPROTO;
	}
	return 0;
}
