/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Public calls: a socket's life, its names and its options.
 */
#include <errno.h>
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rsocket/connect.h"
#include "rsocket/dgram_socket.h"
#include "rsocket/listen.h"
#include "rsocket/lookup.h"
#include "rsocket/option.h"
#include "rsocket/progress.h"
#include "rsocket/repoll.h"
#include "rsocket/result.h"
#include "rsocket/shutdown.h"
#include "rsocket/start.h"
#include "rsocket/state.h"
#include "rsocket/stream_event.h"
#include "rsocket/wait.h"
#include "util/explain.h"

static ssize_t leave(struct rs_socket *s, ssize_t result)
{
	rs_table_put(&s->entry);
	return rs_result(result);
}

/* A descriptor whose number is the socket's; nothing is ever written to it. */
static int give_fd(struct rs_stream *s)
{
	int fd = eventfd(0, EFD_CLOEXEC), err;

	if (fd < 0)
		return explain(errno, "no descriptor for an rsocket");
	err = rs_table_add(&s->base.entry, fd);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int open_stream(int domain, int flags)
{
	struct rs_stream *s;
	int fd, err = rs_start();

	if (err)
		return err;
	s = rs_stream_create(NULL, &rs_stream_ops);
	if (!s)
		return explain(ENOMEM, "no memory for an rsocket");
	s->base.domain = domain;
	s->base.fd_flags = flags;
	s->owner.event = rs_stream_event;
	if (rdma_create_id(rs_state.channel, &s->id, &s->owner, RDMA_PS_TCP)) {
		err = -errno;
		goto free_socket;
	}
	fd = give_fd(s);
	if (fd >= 0)
		return fd;
	err = fd;
	rdma_destroy_id(s->id);
free_socket:
	rs_stream_destroy(s);
	return err;
}

static bool is_supported(int domain, int kind, int protocol)
{
	if (domain != AF_INET && domain != AF_INET6 && domain != AF_IB)
		return false;
	if (kind == SOCK_STREAM)
		return !protocol || protocol == IPPROTO_TCP;
	return kind == SOCK_DGRAM && domain != AF_IB && (!protocol || protocol == IPPROTO_UDP);
}

VB_API int rsocket(int domain, int type, int protocol)
{
	const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
	const int flags = type & SOCK_NONBLOCK ? O_NONBLOCK : 0;

	if (!is_supported(domain, kind, protocol))
		return rs_result(explain(ENOTSUP,
					 "no rsocket of domain %d, type %d and protocol %d", domain,
					 type, protocol));
	return rs_result(kind == SOCK_DGRAM ? rs_dgram_open(domain, flags)
					    : open_stream(domain, flags));
}

static int bind_stream(struct rs_stream *s, const struct sockaddr *addr, socklen_t addrlen)
{
	struct sockaddr_storage copy = { 0 };
	int err = 0;

	if (!addr || addrlen < sizeof(addr->sa_family) || addrlen > sizeof(copy))
		return explain(EINVAL, "rbind has an address of %u bytes", addrlen);
	memcpy(&copy, addr, addrlen);
	pthread_mutex_lock(&s->base.lock);
	if (s->phase != RS_NEW)
		err = explain(EINVAL, "the rsocket has an address already");
	else if (rdma_bind_addr(s->id, (struct sockaddr *)&copy))
		err = -errno;
	else
		rs_stream_enter(s, RS_BOUND);
	pthread_mutex_unlock(&s->base.lock);
	return err;
}

VB_API int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rs_socket *s;
	int err = rs_socket_get(socket, &s);

	if (err)
		return rs_result(err);
	return leave(s, rs_as_dgram(s) ? rs_dgram_bind(rs_as_dgram(s), addr, addrlen)
				       : bind_stream(rs_as_stream(s), addr, addrlen));
}

VB_API int rlisten(int socket, int backlog)
{
	struct rs_stream *s;
	int err = rs_stream_get(socket, &s);

	if (err)
		return rs_result(err);
	pthread_mutex_lock(&s->base.lock);
	err = rs_listen_start(s, backlog);
	pthread_mutex_unlock(&s->base.lock);
	return leave(&s->base, err);
}

/* A connected socket from the queue. */
static int take_accepted(struct rs_stream *listener, struct rs_stream **out)
{
	bool held = false;
	int err = 0;

	pthread_mutex_lock(&listener->base.lock);
	if (listener->phase == RS_LISTENING)
		err = rs_wait_until(&listener->base, rs_is_nonblocking(&listener->base, 0),
				    rs_can_accept);
	if (!err && listener->phase != RS_LISTENING)
		err = explain(EINVAL, "the rsocket does not listen");
	if (!err) {
		*out = rs_listen_take(listener);
		held = listener->held_count;
	}
	pthread_mutex_unlock(&listener->base.lock);
	if (held)
		rs_listen_admit(listener);
	return err;
}

static void copy_addr(const struct sockaddr *from, int domain, struct sockaddr *to, socklen_t *len)
{
	struct sockaddr_storage addr = { .ss_family = domain };
	socklen_t size = sizeof(struct sockaddr_in6);

	if (from->sa_family == AF_INET || (!from->sa_family && domain == AF_INET))
		size = sizeof(struct sockaddr_in);
	if (from->sa_family == AF_IB)
		size = sizeof(struct sockaddr_ib);
	if (from->sa_family)
		memcpy(&addr, from, size);
	memcpy(to, &addr, *len < size ? *len : size);
	*len = size;
}

VB_API int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_stream *listener, *s;
	int fd, err = rs_stream_get(socket, &listener);

	if (err)
		return rs_result(err);
	err = take_accepted(listener, &s);
	if (err)
		return leave(&listener->base, err);
	if (addr && addrlen)
		copy_addr(rdma_get_peer_addr(s->id), s->base.domain, addr, addrlen);
	fd = give_fd(s);
	if (fd < 0) {
		pthread_mutex_lock(&s->base.lock);
		rs_stream_enter(s, RS_CLOSED);
		pthread_mutex_unlock(&s->base.lock);
		rs_listen_discard(s);
	}
	return leave(&listener->base, fd);
}

static int connect_stream(struct rs_stream *s, const struct sockaddr *addr, socklen_t addrlen)
{
	int err;

	switch (s->phase) {
	case RS_NEW:
	case RS_BOUND:
		err = rs_connect_start(s, addr, addrlen);
		break;
	case RS_LISTENING:
		return explain(EINVAL, "the rsocket listens; it cannot connect");
	case RS_FAILED:
	case RS_DISCONNECTED:
	case RS_BROKEN:
		return explain(ENOTCONN, "the rsocket's connection has failed or ended");
	default:
		err = 0;
		break;
	}
	if (!err)
		err = rs_wait_until(&s->base, rs_is_nonblocking(&s->base, 0), rs_is_opened);
	if (err == -EAGAIN)
		return -EINPROGRESS;
	return !err && s->phase == RS_FAILED ? -s->error : err;
}

VB_API int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rs_socket *s;
	int err = rs_socket_get(socket, &s);

	if (err)
		return rs_result(err);
	if (rs_as_dgram(s))
		return leave(s, rs_dgram_connect(rs_as_dgram(s), addr, addrlen));
	pthread_mutex_lock(&s->lock);
	err = connect_stream(rs_as_stream(s), addr, addrlen);
	pthread_mutex_unlock(&s->lock);
	return leave(s, err);
}

/* A datagram socket has no connection to shut down. */
VB_API int rshutdown(int socket, int how)
{
	struct rs_socket *s;
	int err = rs_socket_get(socket, &s);

	if (err)
		return rs_result(err);
	return leave(s, rs_as_stream(s) ? rs_shutdown(rs_as_stream(s), how) : 0);
}

VB_API int rclose(int socket)
{
	struct rs_entry *entry = rs_table_remove(socket);

	if (!entry)
		return rs_result(explain(EBADF, "descriptor %d is no rsocket", socket));
	if (entry->kind == RS_EPOLL)
		rs_repoll_close(entry);
	else if (entry->kind == RS_DGRAM)
		rs_dgram_close(rs_to_dgram(entry));
	else
		rs_stream_close(rs_to_stream(entry));
	return 0;
}

static int stream_name(struct rs_stream *s, bool peer, struct sockaddr *addr, socklen_t *addrlen)
{
	int err = 0;

	pthread_mutex_lock(&s->base.lock);
	if (peer && s->phase < RS_CONNECTED)
		err = explain(ENOTCONN, "the rsocket is not connected");
	else
		copy_addr(peer ? rdma_get_peer_addr(s->id) : rdma_get_local_addr(s->id),
			  s->base.domain, addr, addrlen);
	pthread_mutex_unlock(&s->base.lock);
	return err;
}

static int dgram_name(int fd, bool peer, struct sockaddr *addr, socklen_t *addrlen)
{
	return (peer ? getpeername : getsockname)(fd, addr, addrlen) ? -errno : 0;
}

static int get_name(int socket, bool peer, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_socket *s;
	int err = rs_socket_get(socket, &s);

	if (err)
		return rs_result(err);
	if (!addr || !addrlen)
		return leave(s, explain(EFAULT, "there is nowhere to put the address"));
	return leave(s, rs_as_dgram(s) ? dgram_name(socket, peer, addr, addrlen)
				       : stream_name(rs_as_stream(s), peer, addr, addrlen));
}

VB_API int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return get_name(socket, true, addr, addrlen);
}

VB_API int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return get_name(socket, false, addr, addrlen);
}

VB_API int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	struct rs_socket *s;
	int err = rs_socket_get(socket, &s);

	if (err)
		return rs_result(err);
	pthread_mutex_lock(&s->send_lock);
	err = rs_as_dgram(s) ? rs_dgram_option_set(rs_as_dgram(s), level, optname, optval, optlen)
			     : rs_option_set(rs_as_stream(s), level, optname, optval, optlen);
	pthread_mutex_unlock(&s->send_lock);
	return leave(s, err);
}

VB_API int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	struct rs_socket *s;
	int err = rs_socket_get(socket, &s);

	if (err)
		return rs_result(err);
	return leave(s,
		     rs_as_dgram(s)
			     ? rs_dgram_option_get(rs_as_dgram(s), level, optname, optval, optlen)
			     : rs_option_get(rs_as_stream(s), level, optname, optval, optlen));
}

VB_API int rfcntl(int socket, int cmd, ...)
{
	struct rs_socket *s;
	va_list args;
	int result = rs_socket_get(socket, &s);

	if (result)
		return rs_result(result);
	va_start(args, cmd);
	switch (cmd) {
	case F_GETFL:
		result = atomic_load(&s->fd_flags);
		break;
	case F_SETFL:
		atomic_store(&s->fd_flags, va_arg(args, int));
		break;
	default:
		result = explain(ENOTSUP, "rfcntl knows F_GETFL and F_SETFL, not %d", cmd);
		break;
	}
	va_end(args);
	return leave(s, result);
}
