/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From socket() to shutdown(). A socket becomes an rsocket when the configuration says so and rsocket()
 * succeeds. When RDMA cannot bind its address, or cannot reach the peer, the placeholder takes over.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rspreload/epoll.h"
#include "rspreload/lookup.h"
#include "rspreload/numbers.h"
#include "rspreload/real.h"
#include "rspreload/sizes.h"
#include "util/explain.h"

#define TYPE_FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

/* Verbena's own sockets, of any thread, are not for RDMA. */
static bool is_own_call(const void *caller)
{
	Dl_info info;
	size_t i;

	if (!dladdr(caller, &info))
		return false;
	for (i = 0; i < array_size(rsp.own); i++)
		if (rsp.own[i] == info.dli_fbase)
			return true;
	return false;
}

static bool is_late(int domain, int type, int protocol)
{
	return rsp.late && (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM &&
	       (!protocol || protocol == IPPROTO_TCP);
}

/* A number for the rsocket, which is closed if there is none. -1 and errno. */
static int give_number(int rs, int domain, int type, int flags)
{
	int number = rsp_numbers_open(domain, type, flags), err;

	if (number < 0) {
		err = -errno;
		goto close_rs;
	}
	if (rfcntl(rs, F_SETFL, flags & SOCK_NONBLOCK ? O_NONBLOCK : 0)) {
		err = -errno;
		goto close_number;
	}
	err = rsp_numbers_set(number, RSP_RSOCKET, rs);
	if (err)
		goto close_number;
	return number;

close_number:
	REAL(close)(number);
close_rs:
	rclose(rs);
	errno = -err;
	return -1;
}

static int late_socket(int number)
{
	if (number >= 0)
		rsp_numbers_set(number, RSP_LATE, 0);
	return number;
}

VB_API int socket(int domain, int type, int protocol)
{
	int flags = type & TYPE_FLAGS, plain = type & ~TYPE_FLAGS, rs;

	rsp_state_start();
	if (is_own_call(__builtin_return_address(0)) ||
	    !rsp_config_matches(&rsp.config, program_invocation_short_name, domain, plain,
				protocol))
		return REAL(socket)(domain, type, protocol);
	if (is_late(domain, plain, protocol))
		return late_socket(REAL(socket)(domain, type, protocol));
	rs = rsocket(domain, plain, protocol);
	if (rs < 0)
		return REAL(socket)(domain, type, protocol);
	rsp_sizes_set(rs);
	return give_number(rs, domain, plain, flags);
}

/* The placeholder gets the address that the rsocket has, and the number to itself. */
static int become_plain(int number, int rs)
{
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);

	explain_note("descriptor %d goes on as an ordinary socket: %s", number, strerror(errno));
	if (!rgetsockname(rs, (struct sockaddr *)&addr, &len) &&
	    ((addr.ss_family == AF_INET && ((struct sockaddr_in *)&addr)->sin_port) ||
	     (addr.ss_family == AF_INET6 && ((struct sockaddr_in6 *)&addr)->sin6_port)) &&
	    REAL(bind)(number, (struct sockaddr *)&addr, len))
		return -1;
	rsp_lock();
	rsp_epoll_hand_over(number);
	rs = rsp_table_clear(&rsp.table, number);
	rsp_unlock();
	if (rs >= 0)
		rclose(rs);
	return 0;
}

VB_API int bind(int number, const struct sockaddr *addr, socklen_t len)
{
	int rs = rsp_lookup(number), ret;

	if (rs < 0)
		return REAL(bind)(number, addr, len);
	ret = rbind(rs, addr, len);
	/* No adapter has the address; an interface may. */
	if (!ret || (errno != EADDRNOTAVAIL && errno != ENODEV && errno != EAFNOSUPPORT))
		return ret;
	return become_plain(number, rs) ? -1 : REAL(bind)(number, addr, len);
}

VB_API int listen(int number, int backlog)
{
	int rs, ret;
	enum rsp_kind kind = rsp_table_get(&rsp.table, number, &rs);

	if (kind == RSP_RSOCKET)
		return rlisten(rs, backlog);
	ret = REAL(listen)(number, backlog);
	if (!ret && kind == RSP_LATE)
		rsp_numbers_set(number, RSP_LATE_LISTEN, 0);
	return ret;
}

static int accept_rsocket(int number, int rs, struct sockaddr *addr, socklen_t *len, int flags)
{
	socklen_t optlen = sizeof(int);
	int domain = AF_UNIX, got;

	REAL(getsockopt)(number, SOL_SOCKET, SO_DOMAIN, &domain, &optlen);
	got = raccept(rs, addr, len);
	return got < 0 ? got : give_number(got, domain, SOCK_STREAM, flags);
}

VB_API int accept4(int number, struct sockaddr *addr, socklen_t *len, int flags)
{
	int rs, got;
	enum rsp_kind kind = rsp_table_get(&rsp.table, number, &rs);

	if (kind == RSP_RSOCKET && flags & ~TYPE_FLAGS) {
		errno = EINVAL;
		return -1;
	}
	if (kind == RSP_RSOCKET)
		return accept_rsocket(number, rs, addr, len, flags);
	got = REAL(accept4)(number, addr, len, flags);
	if (got >= 0 && kind == RSP_LATE_LISTEN)
		rsp_numbers_set(got, RSP_LATE_PASSIVE, 0);
	return got;
}

VB_API int accept(int number, struct sockaddr *addr, socklen_t *len)
{
	return accept4(number, addr, len, 0);
}

/* Errors that say something of an earlier connect(), or of a signal, not of the peer. */
static bool is_own_fault(int err)
{
	return err == EINPROGRESS || err == EALREADY || err == EISCONN || err == EINTR ||
	       err == EBADF || err == EFAULT || err == EINVAL;
}

static int connect_late(int number, const struct sockaddr *addr, socklen_t len)
{
	int ret = REAL(connect)(number, addr, len);

	if (!ret || errno == EINPROGRESS)
		rsp_numbers_set(number, RSP_LATE_ACTIVE, 0);
	return ret;
}

VB_API int connect(int number, const struct sockaddr *addr, socklen_t len)
{
	int rs;
	enum rsp_kind kind = rsp_table_get(&rsp.table, number, &rs);

	if (kind == RSP_LATE)
		return connect_late(number, addr, len);
	if (kind != RSP_RSOCKET)
		return REAL(connect)(number, addr, len);
	if (!rconnect(rs, addr, len))
		return 0;
	if (is_own_fault(errno))
		return -1;
	return become_plain(number, rs) ? -1 : REAL(connect)(number, addr, len);
}

VB_API int shutdown(int number, int how)
{
	int rs = rsp_lookup_data(number);

	return rs < 0 ? REAL(shutdown)(number, how) : rshutdown(rs, how);
}

VB_API int getpeername(int number, struct sockaddr *addr, socklen_t *len)
{
	int rs = rsp_lookup(number);

	return rs < 0 ? REAL(getpeername)(number, addr, len) : rgetpeername(rs, addr, len);
}

VB_API int getsockname(int number, struct sockaddr *addr, socklen_t *len)
{
	int rs = rsp_lookup(number);

	return rs < 0 ? REAL(getsockname)(number, addr, len) : rgetsockname(rs, addr, len);
}
