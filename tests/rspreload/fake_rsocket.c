/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_rsocket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

struct fake fake;

static struct {
	struct sockaddr_in own, peer;
	int nodelay;
} names[4096];

/* Errors are of the test's asking; -1 with errno as the calls have it. */
static int fails(int *error)
{
	fake.calls++;
	if (!*error)
		return 0;
	errno = *error;
	*error = 0;
	return -1;
}

static socklen_t unix_name(in_port_t port, struct sockaddr_un *un)
{
	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1, "fake-%d-%u",
				    (int)getpgrp(), ntohs(port)));
}

int rsocket(int domain, int type, int protocol)
{
	int rs;

	if (fails(&fake.socket_error))
		return -1;
	if (domain != AF_INET || type != SOCK_STREAM) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	rs = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (rs < 0)
		return rs;
	memset(&names[rs], 0, sizeof(names[rs]));
	names[rs].own.sin_family = AF_INET;
	fake.open++;
	return rs;
}

int rbind(int rs, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_in in;
	struct sockaddr_un un;
	socklen_t n;

	if (fails(&fake.bind_error))
		return -1;
	memcpy(&in, addr, sizeof(in));
	if (!in.sin_port)
		in.sin_port = htons((uint16_t)(20000 + rs));
	n = unix_name(in.sin_port, &un);
	if (syscall(SYS_bind, rs, &un, n))
		return -1;
	names[rs].own = in;
	return 0;
}

int rlisten(int rs, int backlog)
{
	fake.calls++;
	return (int)syscall(SYS_listen, rs, backlog);
}

int raccept(int rs, struct sockaddr *addr, socklen_t *len)
{
	int got = (int)syscall(SYS_accept4, rs, NULL, NULL, SOCK_CLOEXEC);

	fake.calls++;
	if (got < 0)
		return got;
	fake.open++;
	memset(&names[got], 0, sizeof(names[got]));
	names[got].own = names[rs].own;
	names[got].peer = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(1) };
	return addr ? rgetpeername(got, addr, len) ? -1 : got : got;
}

int rconnect(int rs, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_un un;
	struct sockaddr_in in;
	socklen_t n;

	if (fails(&fake.connect_error))
		return -1;
	memcpy(&in, addr, sizeof(in));
	n = unix_name(in.sin_port, &un);
	if (syscall(SYS_connect, rs, &un, n))
		return -1;
	names[rs].peer = in;
	return 0;
}

int rshutdown(int rs, int how)
{
	fake.calls++;
	fake.shutdowns++;
	return (int)syscall(SYS_shutdown, rs, how);
}

int rclose(int rs)
{
	fake.calls++;
	fake.open--;
	return (int)syscall(SYS_close, rs);
}

#define DATA_CALL(ret, name, call, params, ...)                                                    \
	ret name params                                                                            \
	{                                                                                          \
		fake.calls++;                                                                      \
		return (ret)syscall(call, __VA_ARGS__);                                            \
	}

DATA_CALL(ssize_t, rread, SYS_read, (int rs, void *buf, size_t len), rs, buf, len)
DATA_CALL(ssize_t, rreadv, SYS_readv, (int rs, const struct iovec *iov, int n), rs, iov, n)
DATA_CALL(ssize_t, rrecv, SYS_recvfrom, (int rs, void *buf, size_t len, int flags), rs, buf, len,
	  flags, NULL, NULL)
DATA_CALL(ssize_t, rrecvmsg, SYS_recvmsg, (int rs, struct msghdr *msg, int flags), rs, msg, flags)
DATA_CALL(ssize_t, rwrite, SYS_write, (int rs, const void *buf, size_t len), rs, buf, len)
DATA_CALL(ssize_t, rwritev, SYS_writev, (int rs, const struct iovec *iov, int n), rs, iov, n)
DATA_CALL(ssize_t, rsend, SYS_sendto, (int rs, const void *buf, size_t len, int flags), rs, buf,
	  len, flags, NULL, 0)
DATA_CALL(ssize_t, rsendmsg, SYS_sendmsg, (int rs, const struct msghdr *msg, int flags), rs, msg,
	  flags)

/* As the library does: by the program's poll(). */
int rpoll(struct pollfd *fds, nfds_t n, int timeout)
{
	fake.calls++;
	return poll(fds, n, timeout);
}

ssize_t rrecvfrom(int rs, void *buf, size_t len, int flags, struct sockaddr *addr,
		  socklen_t *addrlen)
{
	rgetpeername(rs, addr, addrlen);
	return rrecv(rs, buf, len, flags);
}

ssize_t rsendto(int rs, const void *buf, size_t len, int flags, const struct sockaddr *addr,
		socklen_t addrlen)
{
	return rsend(rs, buf, len, flags);
}

static int give_name(const struct sockaddr_in *in, struct sockaddr *addr, socklen_t *len)
{
	fake.calls++;
	memcpy(addr, in, *len < sizeof(*in) ? *len : sizeof(*in));
	*len = sizeof(*in);
	return 0;
}

int rgetpeername(int rs, struct sockaddr *addr, socklen_t *len)
{
	return give_name(&names[rs].peer, addr, len);
}

int rgetsockname(int rs, struct sockaddr *addr, socklen_t *len)
{
	return give_name(&names[rs].own, addr, len);
}

int rsetsockopt(int rs, int level, int name, const void *value, socklen_t len)
{
	fake.calls++;
	if (level == SOL_SOCKET && name == SO_REUSEADDR)
		return 0;
	if (level == IPPROTO_TCP && name == TCP_NODELAY) {
		names[rs].nodelay = *(const int *)value;
		return 0;
	}
	errno = ENOTSUP;
	return -1;
}

int rgetsockopt(int rs, int level, int name, void *value, socklen_t *len)
{
	fake.calls++;
	if (level == IPPROTO_TCP && name == TCP_NODELAY) {
		*(int *)value = names[rs].nodelay;
		return 0;
	}
	if (level == SOL_SOCKET && name == SO_ERROR) {
		*(int *)value = 0;
		return 0;
	}
	errno = ENOTSUP;
	return -1;
}

int rfcntl(int rs, int cmd, ...)
{
	va_list args;
	long arg;

	va_start(args, cmd);
	arg = cmd == F_SETFL ? va_arg(args, int) : 0;
	va_end(args);
	fake.calls++;
	return (int)syscall(SYS_fcntl, rs, cmd, arg);
}
