/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data. An edge-triggered epoll instance hears of each call (epoll.h). A mask of SIGPIPE is the
 * rsocket's affair.
 */
#include <errno.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "rspreload/epoll.h"
#include "rspreload/lookup.h"
#include "rspreload/real.h"

void __chk_fail(void) __attribute__((noreturn));
ssize_t __read_chk(int number, void *buf, size_t len, size_t room);
ssize_t __recv_chk(int number, void *buf, size_t len, size_t room, int flags);
ssize_t __recvfrom_chk(int number, void *buf, size_t len, size_t room, int flags,
		       struct sockaddr *addr, socklen_t *addrlen);

static void touch(int number, unsigned int events)
{
	struct rsp_slot *slot = rsp_table_slot(&rsp.table, number);

	if (slot && atomic_load_explicit(&slot->edge, memory_order_relaxed))
		rsp_epoll_touch(number, events);
}

static ssize_t received(int number, ssize_t n)
{
	touch(number, EPOLLIN | EPOLLRDNORM | EPOLLPRI);
	return n;
}

static ssize_t sent(int number, ssize_t n)
{
	touch(number, EPOLLOUT | EPOLLWRNORM);
	return n;
}

VB_API ssize_t read(int number, void *buf, size_t len)
{
	int rs = rsp_lookup_data(number);

	return rs < 0 ? REAL(read)(number, buf, len) : received(number, rread(rs, buf, len));
}

VB_API ssize_t __read_chk(int number, void *buf, size_t len, size_t room)
{
	if (len > room)
		__chk_fail();
	return read(number, buf, len);
}

VB_API ssize_t readv(int number, const struct iovec *iov, int n)
{
	int rs = rsp_lookup_data(number);

	return rs < 0 ? REAL(readv)(number, iov, n) : received(number, rreadv(rs, iov, n));
}

VB_API ssize_t recvfrom(int number, void *buf, size_t len, int flags, struct sockaddr *addr,
			socklen_t *addrlen)
{
	int rs = rsp_lookup_data(number);

	if (rs < 0)
		return REAL(recvfrom)(number, buf, len, flags, addr, addrlen);
	if (!addr)
		return received(number, rrecv(rs, buf, len, flags));
	return received(number, rrecvfrom(rs, buf, len, flags, addr, addrlen));
}

VB_API ssize_t __recvfrom_chk(int number, void *buf, size_t len, size_t room, int flags,
			      struct sockaddr *addr, socklen_t *addrlen)
{
	if (len > room)
		__chk_fail();
	return recvfrom(number, buf, len, flags, addr, addrlen);
}

VB_API ssize_t recv(int number, void *buf, size_t len, int flags)
{
	return recvfrom(number, buf, len, flags, NULL, NULL);
}

VB_API ssize_t __recv_chk(int number, void *buf, size_t len, size_t room, int flags)
{
	if (len > room)
		__chk_fail();
	return recv(number, buf, len, flags);
}

VB_API ssize_t recvmsg(int number, struct msghdr *msg, int flags)
{
	int rs = rsp_lookup_data(number);

	return rs < 0 ? REAL(recvmsg)(number, msg, flags)
		      : received(number, rrecvmsg(rs, msg, flags));
}

/* One message: the program asks again for the others. */
VB_API int recvmmsg(int number, struct mmsghdr *msgs, unsigned int n, int flags,
		    struct timespec *timeout)
{
	ssize_t len;

	if (rsp_lookup_data(number) < 0)
		return REAL(recvmmsg)(number, msgs, n, flags, timeout);
	if (!n)
		return 0;
	len = recvmsg(number, &msgs->msg_hdr, flags & ~MSG_WAITFORONE);
	if (len < 0)
		return -1;
	msgs->msg_len = (unsigned int)len;
	return 1;
}

VB_API ssize_t write(int number, const void *buf, size_t len)
{
	int rs = rsp_lookup_data(number);

	return rs < 0 ? REAL(write)(number, buf, len) : sent(number, rwrite(rs, buf, len));
}

VB_API ssize_t writev(int number, const struct iovec *iov, int n)
{
	int rs = rsp_lookup_data(number);

	return rs < 0 ? REAL(writev)(number, iov, n) : sent(number, rwritev(rs, iov, n));
}

VB_API ssize_t sendto(int number, const void *buf, size_t len, int flags,
		      const struct sockaddr *addr, socklen_t addrlen)
{
	int rs = rsp_lookup_data(number);

	if (rs < 0)
		return REAL(sendto)(number, buf, len, flags, addr, addrlen);
	if (!addr)
		return sent(number, rsend(rs, buf, len, flags));
	return sent(number, rsendto(rs, buf, len, flags, addr, addrlen));
}

VB_API ssize_t send(int number, const void *buf, size_t len, int flags)
{
	return sendto(number, buf, len, flags, NULL, 0);
}

VB_API ssize_t sendmsg(int number, const struct msghdr *msg, int flags)
{
	int rs = rsp_lookup_data(number);

	return rs < 0 ? REAL(sendmsg)(number, msg, flags) : sent(number, rsendmsg(rs, msg, flags));
}

VB_API int sendmmsg(int number, struct mmsghdr *msgs, unsigned int n, int flags)
{
	unsigned int i;
	ssize_t len;

	if (rsp_lookup_data(number) < 0)
		return REAL(sendmmsg)(number, msgs, n, flags);
	for (i = 0; i < n; i++) {
		len = sendmsg(number, &msgs[i].msg_hdr, flags);
		if (len < 0)
			return i ? (int)i : -1;
		msgs[i].msg_len = (unsigned int)len;
	}
	return (int)n;
}

/* How much of a file sendfile() reads at a time. */
#define FILE_PIECE (256U << 10)

/* From *at, which moves by what was sent; -1 and errno if nothing was. */
static ssize_t send_file(int number, int rs, int file, off_t *at, size_t count, char *piece)
{
	ssize_t n, done = 0, got;

	while (count) {
		got = pread(file, piece, count < FILE_PIECE ? count : FILE_PIECE, *at);
		if (got <= 0)
			return done ? done : got;
		n = sent(number, rwrite(rs, piece, (size_t)got));
		if (n < 0)
			return done ? done : n;
		*at += n;
		done += n;
		count -= (size_t)n;
		if (n < got)
			break;
	}
	return done;
}

VB_API ssize_t sendfile(int number, int file, off_t *offset, size_t count)
{
	int rs = rsp_lookup_data(number);
	ssize_t ret;
	char *piece;
	off_t at;

	if (rs < 0)
		return REAL(sendfile)(number, file, offset, count);
	at = offset ? *offset : lseek(file, 0, SEEK_CUR);
	if (at < 0)
		return -1;
	piece = malloc(FILE_PIECE);
	if (!piece) {
		errno = ENOMEM;
		return -1;
	}
	ret = send_file(number, rs, file, &at, count, piece);
	free(piece);
	if (offset)
		*offset = at;
	else if (ret > 0)
		lseek(file, at, SEEK_SET);
	return ret;
}

_Static_assert(sizeof(off_t) == sizeof(off64_t), "sendfile64() is sendfile()");

VB_API ssize_t sendfile64(int number, int file, off64_t *offset, size_t count)
{
	return sendfile(number, file, (off_t *)offset, count);
}
