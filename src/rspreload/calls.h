/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that the library stands in front of. */
#ifndef RSPRELOAD_CALLS_H
#define RSPRELOAD_CALLS_H

#define RSP_CALLS(X)                                                                               \
	X(accept4)                                                                                 \
	X(bind)                                                                                    \
	X(close)                                                                                   \
	X(close_range)                                                                             \
	X(connect)                                                                                 \
	X(dup3)                                                                                    \
	X(epoll_ctl)                                                                               \
	X(epoll_pwait)                                                                             \
	X(fcntl)                                                                                   \
	X(getpeername)                                                                             \
	X(getsockname)                                                                             \
	X(getsockopt)                                                                              \
	X(ioctl)                                                                                   \
	X(listen)                                                                                  \
	X(ppoll)                                                                                   \
	X(pselect)                                                                                 \
	X(read)                                                                                    \
	X(readv)                                                                                   \
	X(recvfrom)                                                                                \
	X(recvmmsg)                                                                                \
	X(recvmsg)                                                                                 \
	X(select)                                                                                  \
	X(sendfile)                                                                                \
	X(sendmmsg)                                                                                \
	X(sendmsg)                                                                                 \
	X(sendto)                                                                                  \
	X(setsockopt)                                                                              \
	X(shutdown)                                                                                \
	X(socket)                                                                                  \
	X(write)                                                                                   \
	X(writev)

enum rsp_call {
#define RSP_CALL_ENUM(name) RSP_CALL_##name,
	RSP_CALLS(RSP_CALL_ENUM)
#undef RSP_CALL_ENUM
		RSP_CALL_COUNT,
};

#endif
