/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Public calls that move data, or wait for it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <string.h>

#include "rsocket/dgram_io.h"
#include "rsocket/dgram_socket.h"
#include "rsocket/iomap.h"
#include "rsocket/iov.h"
#include "rsocket/lookup.h"
#include "rsocket/poll.h"
#include "rsocket/result.h"
#include "rsocket/stream_recv.h"
#include "rsocket/stream_send.h"
#include "util/explain.h"

/* A datagram's sender; a stream has its peer, which is not reported. */
struct source {
	union rs_addr from; /* family 0: none */
	bool truncated;
};

static ssize_t receive(int socket, const struct iovec *vec, size_t count, int flags,
		       struct source *source)
{
	struct rs_socket *s;
	struct rs_iov iov;
	ssize_t result = rs_socket_get(socket, &s);

	*source = (struct source){ 0 };
	if (result)
		return result;
	result = rs_iov_init(&iov, vec, count);
	if (!result) {
		pthread_mutex_lock(&s->recv_lock);
		result = rs_as_dgram(s) ? rs_dgram_recv(rs_as_dgram(s), &iov, flags, &source->from,
							&source->truncated)
					: rs_stream_recv(rs_as_stream(s), &iov, flags);
		pthread_mutex_unlock(&s->recv_lock);
	}
	rs_table_put(&s->entry);
	return result;
}

static ssize_t transmit_to(struct rs_socket *s, struct rs_iov *iov, int flags,
			   const struct sockaddr *to, socklen_t to_len)
{
	union rs_addr addr;
	int err;

	if (rs_as_stream(s)) {
		if (to || to_len)
			return explain(EISCONN, "a stream sends to its peer alone");
		return rs_stream_send(rs_as_stream(s), iov, flags);
	}
	err = to ? rs_addr_set(&addr, to, to_len) : 0;
	if (!err)
		err = rs_dgram_start(rs_as_dgram(s));
	return err ? err : rs_dgram_send(rs_as_dgram(s), iov, flags, to ? &addr : NULL);
}

static ssize_t transmit(int socket, const struct iovec *vec, size_t count, int flags,
			const struct sockaddr *to, socklen_t to_len)
{
	struct rs_socket *s;
	struct rs_iov iov;
	ssize_t result = rs_socket_get(socket, &s);

	if (result)
		return result;
	result = rs_iov_init(&iov, vec, count);
	if (!result) {
		pthread_mutex_lock(&s->send_lock);
		result = transmit_to(s, &iov, flags, to, to_len);
		pthread_mutex_unlock(&s->send_lock);
	}
	rs_table_put(&s->entry);
	return result;
}

static void report_source(const struct source *source, struct sockaddr *addr, socklen_t *addrlen)
{
	const socklen_t len = source->from.sa.sa_family ? rs_addr_len(&source->from) : 0;

	memcpy(addr, &source->from, *addrlen < len ? *addrlen : len);
	*addrlen = len;
}

VB_API ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	const struct iovec vec = { .iov_base = buf, .iov_len = len };
	struct source source;

	return rs_result(receive(socket, &vec, 1, flags, &source));
}

VB_API ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr,
			 socklen_t *addrlen)
{
	const struct iovec vec = { .iov_base = buf, .iov_len = len };
	struct source source;
	const ssize_t result = receive(socket, &vec, 1, flags, &source);

	if (result >= 0 && src_addr && addrlen) {
		if (source.from.sa.sa_family)
			report_source(&source, src_addr, addrlen);
		else
			rgetpeername(socket, src_addr, addrlen);
	}
	return rs_result(result);
}

VB_API ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	struct source source;
	ssize_t result;

	if (!msg)
		return rs_result(explain(EFAULT, "rrecvmsg has no message header"));
	if (msg->msg_control && msg->msg_controllen)
		return rs_result(explain(ENOTSUP, "rsockets have no control messages"));
	result = receive(socket, msg->msg_iov, msg->msg_iovlen, flags, &source);
	if (result >= 0) {
		msg->msg_flags = source.truncated ? MSG_TRUNC : 0;
		if (msg->msg_name)
			report_source(&source, msg->msg_name, &msg->msg_namelen);
	}
	return rs_result(result);
}

VB_API ssize_t rread(int socket, void *buf, size_t count)
{
	return rrecv(socket, buf, count, 0);
}

VB_API ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	struct source source;

	return rs_result(receive(socket, iov, iovcnt, 0, &source));
}

VB_API ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	const struct iovec vec = { .iov_base = (void *)buf, .iov_len = len };

	return rs_result(transmit(socket, &vec, 1, flags, NULL, 0));
}

VB_API ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		       const struct sockaddr *dest_addr, socklen_t addrlen)
{
	const struct iovec vec = { .iov_base = (void *)buf, .iov_len = len };

	return rs_result(transmit(socket, &vec, 1, flags, dest_addr, addrlen));
}

VB_API ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (!msg)
		return rs_result(explain(EFAULT, "rsendmsg has no message header"));
	if (msg->msg_control && msg->msg_controllen)
		return rs_result(explain(ENOTSUP, "rsockets have no control messages"));
	return rs_result(transmit(socket, msg->msg_iov, msg->msg_iovlen, flags, msg->msg_name,
				  msg->msg_name ? msg->msg_namelen : 0));
}

VB_API ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsend(socket, buf, count, 0);
}

VB_API ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	return rs_result(transmit(socket, iov, iovcnt, 0, NULL, 0));
}

VB_API int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	return rs_result(rs_poll(fds, nfds, timeout, NULL));
}

VB_API off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	uint64_t at = offset;
	struct rs_stream *s;
	int err = rs_stream_get(socket, &s);

	(void)flags;
	if (err)
		return rs_result(err);
	pthread_mutex_lock(&s->base.lock);
	err = rs_iomap_open(s, buf, len, prot, &at);
	pthread_mutex_unlock(&s->base.lock);
	rs_table_put(&s->base.entry);
	return err ? rs_result(err) : (off_t)at;
}

VB_API int riounmap(int socket, void *buf, size_t len)
{
	struct rs_stream *s;
	int err = rs_stream_get(socket, &s);

	if (err)
		return rs_result(err);
	pthread_mutex_lock(&s->base.lock);
	err = rs_iomap_remove(s, buf, len);
	pthread_mutex_unlock(&s->base.lock);
	rs_table_put(&s->base.entry);
	return rs_result(err);
}

VB_API size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	const struct iovec vec = { .iov_base = (void *)buf, .iov_len = count };
	struct rs_stream *s;
	struct rs_iov iov;
	ssize_t result = rs_stream_get(socket, &s);

	if (result)
		return rs_result(result);
	result = rs_iov_init(&iov, &vec, 1);
	if (!result) {
		pthread_mutex_lock(&s->base.send_lock);
		result = rs_stream_write_at(s, &iov, offset, flags);
		pthread_mutex_unlock(&s->base.send_lock);
	}
	rs_table_put(&s->base.entry);
	return rs_result(result);
}
