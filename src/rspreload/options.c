/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options and flags. The placeholder gets each one, too: so it can become the socket itself when RDMA
 * cannot reach the peer, and it answers for options that rsockets do not have.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "rspreload/lookup.h"
#include "rspreload/numbers.h"
#include "rspreload/real.h"

/* Timeouts would not be kept: a program that wants them has to know. */
static bool placeholder_may_answer(int level, int name)
{
	if (errno != EOPNOTSUPP && errno != ENOPROTOOPT)
		return false;
	if (level == SOL_SOCKET)
		return name != SO_RCVTIMEO && name != SO_SNDTIMEO && name != SO_ERROR;
	return level != SOL_RDMA;
}

VB_API int setsockopt(int number, int level, int name, const void *value, socklen_t len)
{
	int rs = rsp_lookup(number), ret;

	if (rs < 0)
		return REAL(setsockopt)(number, level, name, value, len);
	ret = rsetsockopt(rs, level, name, value, len);
	if (ret)
		return placeholder_may_answer(level, name)
			       ? REAL(setsockopt)(number, level, name, value, len)
			       : ret;
	REAL(setsockopt)(number, level, name, value, len);
	return 0;
}

VB_API int getsockopt(int number, int level, int name, void *value, socklen_t *len)
{
	int rs = rsp_lookup(number), ret;

	if (rs < 0)
		return REAL(getsockopt)(number, level, name, value, len);
	ret = rgetsockopt(rs, level, name, value, len);
	if (!ret || !placeholder_may_answer(level, name))
		return ret;
	return REAL(getsockopt)(number, level, name, value, len);
}

static int set_flags(int number, int rs, int flags)
{
	if (rfcntl(rs, F_SETFL, flags & O_NONBLOCK))
		return -1;
	return REAL(fcntl)(number, F_SETFL, flags);
}

/* Every argument of fcntl() fits a long. */
static int control(int number, int cmd, long arg)
{
	int rs;

	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)
		return rsp_numbers_copy(number, cmd, (int)arg);
	rs = rsp_lookup(number);
	if (rs >= 0 && cmd == F_SETFL)
		return set_flags(number, rs, (int)arg);
	return REAL(fcntl)(number, cmd, arg);
}

VB_API int fcntl(int number, int cmd, ...)
{
	va_list args;
	long arg;

	va_start(args, cmd);
	arg = va_arg(args, long);
	va_end(args);
	return control(number, cmd, arg);
}

VB_API int fcntl64(int number, int cmd, ...)
{
	va_list args;
	long arg;

	va_start(args, cmd);
	arg = va_arg(args, long);
	va_end(args);
	return control(number, cmd, arg);
}

VB_API int ioctl(int number, unsigned long request, ...)
{
	int rs = rsp_lookup(number), flags;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (rs < 0 || request != FIONBIO)
		return REAL(ioctl)(number, request, arg);
	flags = REAL(fcntl)(number, F_GETFL);
	return set_flags(number, rs, *(int *)arg ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}
