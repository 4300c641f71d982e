/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/dgram_socket.h"

#include <errno.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rsocket/dgram_dest.h"
#include "rsocket/dgram_qp.h"
#include "rsocket/dgram_udp.h"
#include "rsocket/option.h"
#include "rsocket/service.h"
#include "rsocket/start.h"
#include "rsocket/state.h"
#include "rsocket/wait.h"
#include "util/explain.h"

static struct rs_dgram *to_dgram(struct rs_socket *s)
{
	return (struct rs_dgram *)s;
}

static void progress(struct rs_socket *s)
{
	struct rs_dgram_qp *qp;

	LIST_FOREACH(qp, &to_dgram(s)->qps, link)
		rs_dgram_qp_poll(to_dgram(s), qp);
}

static int arm(struct rs_socket *s)
{
	struct rs_dgram_qp *qp;

	LIST_FOREACH(qp, &to_dgram(s)->qps, link)
		rs_dgram_qp_arm(qp);
	return to_dgram(s)->epoll;
}

static void take(struct rs_socket *s)
{
	struct rs_dgram_qp *qp;

	LIST_FOREACH(qp, &to_dgram(s)->qps, link)
		rs_dgram_qp_take(qp);
}

static short events(const struct rs_socket *s, short asked)
{
	const struct rs_dgram *d = (const struct rs_dgram *)s;
	short ready = 0;

	(void)asked;
	if (d->closed)
		return POLLNVAL;
	if (!STAILQ_EMPTY(&d->received))
		ready |= RS_READ_EVENTS;
	if (!d->connected || d->peer->qp->free_count)
		ready |= RS_WRITE_EVENTS;
	return ready;
}

static const struct rs_socket_ops dgram_ops = {
	.progress = progress,
	.arm = arm,
	.take = take,
	.events = events,
};

static struct rs_dgram *create(int domain, int fd_flags)
{
	struct rs_dgram *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->base.entry.kind = RS_DGRAM;
	d->base.ops = &dgram_ops;
	d->base.domain = domain;
	d->base.fd_flags = fd_flags;
	d->base.sizes = rs_state.config.sizes;
	pthread_mutex_init(&d->base.send_lock, NULL);
	pthread_mutex_init(&d->base.recv_lock, NULL);
	pthread_mutex_init(&d->base.lock, NULL);
	STAILQ_INIT(&d->received);
	return d;
}

static void destroy(struct rs_dgram *d)
{
	pthread_mutex_destroy(&d->base.send_lock);
	pthread_mutex_destroy(&d->base.recv_lock);
	pthread_mutex_destroy(&d->base.lock);
	free(d);
}

int rs_dgram_open(int domain, int fd_flags)
{
	struct rs_dgram *d;
	int fd, err = rs_start();

	if (err)
		return err;
	d = create(domain, fd_flags);
	if (!d)
		return explain(ENOMEM, "no memory for an rsocket");
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (d->epoll < 0) {
		err = explain(errno, "no epoll instance for a datagram rsocket");
		goto free_socket;
	}
	fd = socket(domain, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		err = explain(errno, "no UDP socket for a datagram rsocket");
		goto close_epoll;
	}
	err = rs_table_add(&d->base.entry, fd);
	if (!err)
		return fd;
	close(fd);
close_epoll:
	close(d->epoll);
free_socket:
	destroy(d);
	return err;
}

int rs_dgram_start(struct rs_dgram *d)
{
	int err = 0;

	pthread_mutex_lock(&d->base.lock);
	if (!d->started) {
		d->watch = (struct rs_watch){ .fd = d->base.entry.fd, .ready = rs_dgram_udp_ready };
		err = rs_service_watch(&d->watch);
		d->started = !err;
	}
	pthread_mutex_unlock(&d->base.lock);
	return err;
}

int rs_dgram_bind(struct rs_dgram *d, const struct sockaddr *addr, socklen_t len)
{
	if (bind(d->base.entry.fd, addr, len))
		return explain(errno, "the UDP socket cannot be bound: %s", strerror(errno));
	return rs_dgram_start(d);
}

int rs_dgram_connect(struct rs_dgram *d, const struct sockaddr *addr, socklen_t len)
{
	union rs_addr to;
	int err = rs_addr_set(&to, addr, len);

	if (!err)
		err = rs_dgram_start(d);
	if (err)
		return err;
	if (connect(d->base.entry.fd, addr, len))
		return explain(errno, "the UDP socket cannot be connected: %s", strerror(errno));
	pthread_mutex_lock(&d->base.lock);
	err = rs_dest_get(d, &to, &d->peer);
	d->connected = !err;
	pthread_mutex_unlock(&d->base.lock);
	return err;
}

static bool all_sent(const struct rs_socket *s)
{
	const struct rs_dgram *d = (const struct rs_dgram *)s;
	const struct rs_dgram_qp *qp;

	LIST_FOREACH(qp, &d->qps, link)
		if (qp->free_count != qp->send_slots)
			return false;
	return true;
}

static void drop_received(struct rs_dgram *d)
{
	struct rs_dgram_msg *msg;

	while ((msg = STAILQ_FIRST(&d->received))) {
		STAILQ_REMOVE_HEAD(&d->received, link);
		rs_dgram_msg_drop(d, msg);
	}
}

void rs_dgram_close(struct rs_dgram *d)
{
	const int fd = d->base.entry.fd;
	struct rs_dgram_qp *qp;

	if (d->started)
		rs_service_unwatch(&d->watch);
	pthread_mutex_lock(&d->base.lock);
	while (rs_wait_until(&d->base, false, all_sent) == -EINTR)
		;
	d->closed = true;
	rs_wake_others(&d->base.sleepers, -1);
	pthread_mutex_unlock(&d->base.lock);
	rs_table_wait_unused(&d->base.entry);
	drop_received(d);
	rs_dest_destroy_all(d);
	while ((qp = LIST_FIRST(&d->qps)))
		rs_dgram_qp_destroy(d, qp);
	close(d->epoll);
	destroy(d);
	close(fd);
}

int rs_dgram_option_set(struct rs_dgram *d, int level, int name, const void *value, socklen_t len)
{
	int err = 0;

	pthread_mutex_lock(&d->base.lock);
	if (level == SOL_RDMA && name != RDMA_ROUTE && name != RDMA_IOMAPSIZE) {
		err = !LIST_EMPTY(&d->qps)
			      ? explain(EINVAL, "the sizes are fixed: there are queue pairs")
			      : rs_option_set_size(&d->base.sizes, name, value, len);
	} else if (setsockopt(d->base.entry.fd, level, name, value, len)) {
		err = -errno;
	} else if (level == SOL_SOCKET && LIST_EMPTY(&d->qps)) {
		if (name == SO_RCVBUF)
			d->base.sizes.recv_buf = 2 * *(const uint32_t *)value;
		else if (name == SO_SNDBUF)
			d->base.sizes.send_buf = 2 * *(const uint32_t *)value;
	}
	pthread_mutex_unlock(&d->base.lock);
	return err;
}

int rs_dgram_option_get(struct rs_dgram *d, int level, int name, void *value, socklen_t *len)
{
	const struct rs_sizes *sizes = &d->base.sizes;

	if (level == SOL_RDMA)
		return rs_option_get_size(sizes, name, value, len);
	if (getsockopt(d->base.entry.fd, level, name, value, len))
		return -errno;
	if (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_SNDBUF))
		*(int *)value = name == SO_RCVBUF ? sizes->recv_buf : sizes->send_buf;
	return 0;
}
