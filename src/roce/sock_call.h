/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that move datagrams. libc's functions of these names are cancellation points: a thread that
 * is cancelled in ibv_post_send() or ibv_poll_cq() would leave queue pairs and sockets locked. The thread
 * sanitizer has to see them, though: a datagram orders what its sender did before what its receiver does.
 */
#ifndef ROCE_SOCK_CALL_H
#define ROCE_SOCK_CALL_H

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/api.h"

static inline ssize_t roce_sendto(int fd, const void *data, size_t len, int flags,
				  const struct sockaddr *to, socklen_t to_len)
{
#if VB_TSAN
	return sendto(fd, data, len, flags, to, to_len);
#else
	return syscall(SYS_sendto, fd, data, len, flags, to, to_len);
#endif
}

static inline ssize_t roce_sendmsg(int fd, const struct msghdr *msg, int flags)
{
#if VB_TSAN
	return sendmsg(fd, msg, flags);
#else
	return syscall(SYS_sendmsg, fd, msg, flags);
#endif
}

static inline int roce_sendmmsg(int fd, struct mmsghdr *msg, unsigned int count, int flags)
{
#if VB_TSAN
	return sendmmsg(fd, msg, count, flags);
#else
	return (int)syscall(SYS_sendmmsg, fd, msg, count, flags);
#endif
}

static inline ssize_t roce_recvmsg(int fd, struct msghdr *msg, int flags)
{
#if VB_TSAN
	return recvmsg(fd, msg, flags);
#else
	return syscall(SYS_recvmsg, fd, msg, flags);
#endif
}

static inline int roce_recvmmsg(int fd, struct mmsghdr *msg, unsigned int count, int flags)
{
#if VB_TSAN
	return recvmmsg(fd, msg, count, flags, NULL);
#else
	return (int)syscall(SYS_recvmmsg, fd, msg, count, flags, NULL);
#endif
}

#endif
