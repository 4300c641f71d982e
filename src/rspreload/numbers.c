/* SPDX-License-Identifier: BSD-2-Clause */
#include "rspreload/numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/rsocket.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rspreload/epoll.h"
#include "rspreload/lookup.h"
#include "rspreload/real.h"

int rsp_numbers_open(int domain, int type, int flags)
{
	int number = REAL(socket)(domain, type | flags, 0);

	/* The kernel has no sockets of AF_IB. */
	return number < 0 ? REAL(socket)(AF_UNIX, type | flags, 0) : number;
}

int rsp_numbers_set(int number, enum rsp_kind kind, int rs)
{
	int err;

	rsp_lock();
	err = rsp_table_reserve(&rsp.table, number);
	if (!err && kind == RSP_RSOCKET)
		err = rsp_table_reserve(&rsp.table, rs);
	if (!err)
		rsp_table_set(&rsp.table, number, kind, rs);
	rsp_unlock();
	return err;
}

/* copy is open already, and was not one of ours before. */
static int share(int number, int copy)
{
	enum rsp_kind kind;
	int rs, err;

	if (copy < 0)
		return copy;
	kind = rsp_table_get(&rsp.table, number, &rs);
	/* A copy of an epoll instance watches what the kernel knows of. */
	if (kind == RSP_NONE || kind == RSP_EPOLL)
		return copy;
	err = rsp_numbers_set(copy, kind, rs);
	if (!err)
		return copy;
	REAL(close)(copy);
	errno = -err;
	return -1;
}

int rsp_numbers_copy(int number, int cmd, int least)
{
	rsp_lookup_data(number);
	return share(number, REAL(fcntl)(number, cmd, least));
}

/* Takes the number out of the table: the result of closing what stood behind it. */
static int drop(int number)
{
	enum rsp_kind kind;
	int rs;

	kind = rsp_table_get(&rsp.table, number, &rs);
	if (likely(kind == RSP_NONE))
		return 0;
	rsp_lock();
	if (kind == RSP_EPOLL)
		rsp_epoll_close(number);
	else
		rsp_epoll_forget(number);
	rs = rsp_table_clear(&rsp.table, number);
	rsp_unlock();
	return rs < 0 ? 0 : rclose(rs);
}

VB_API int close(int number)
{
	int ret = drop(number), err = errno;

	if (REAL(close)(number))
		return -1;
	errno = err;
	return ret;
}

static void drop_range(unsigned int first, unsigned int last)
{
	for (; first <= last && first < RSP_MAX_NUMBER; first++)
		drop((int)first);
}

VB_API int close_range(unsigned int first, unsigned int last, int flags)
{
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		drop_range(first, last);
	return REAL(close_range)(first, last, flags);
}

VB_API void closefrom(int first)
{
	close_range(first < 0 ? 0 : (unsigned int)first, ~0U, 0);
}

VB_API int dup(int number)
{
	return rsp_numbers_copy(number, F_DUPFD, 0);
}

static int dup_to(int number, int copy, int flags)
{
	rsp_lookup_data(number);
	/* The kernel refuses a bad number before it closes the old file; so does this. */
	if (REAL(fcntl)(number, F_GETFD) < 0)
		return -1;
	drop(copy);
	return share(number, REAL(dup3)(number, copy, flags));
}

VB_API int dup2(int number, int copy)
{
	if (number == copy)
		return REAL(fcntl)(number, F_GETFD) < 0 ? -1 : copy;
	return dup_to(number, copy, 0);
}

VB_API int dup3(int number, int copy, int flags)
{
	return number == copy ? REAL(dup3)(number, copy, flags) : dup_to(number, copy, flags);
}
