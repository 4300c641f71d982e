/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/dgram_io.h"

#include <errno.h>
#include <string.h>

#include "rsocket/dgram_dest.h"
#include "rsocket/dgram_qp.h"
#include "rsocket/dgram_udp.h"
#include "rsocket/wait.h"
#include "util/explain.h"

static bool sender_has_room(const struct rs_socket *s)
{
	const struct rs_dgram *d = (const struct rs_dgram *)s;

	return d->sender->free_count || d->closed;
}

/* With base.lock held. */
static int send_ud(struct rs_dgram *d, const struct rs_dest *dest, struct rs_iov *iov,
		   bool nonblock)
{
	struct rs_dgram_qp *qp = dest->qp;
	const size_t len = iov->left;
	uint8_t *slot;
	int err;

	d->sender = qp;
	err = rs_wait_until(&d->base, nonblock, sender_has_room);
	if (err)
		return err;
	if (d->closed)
		return -EBADF;
	slot = rs_dgram_qp_slot(qp);
	memcpy(slot, qp->header, qp->header_len);
	rs_iov_gather(iov, slot + qp->header_len, len);
	return rs_dgram_qp_send(qp, slot, qp->header_len + len, dest->ah, dest->qpn);
}

static int find_dest(struct rs_dgram *d, const union rs_addr *to, struct rs_dest **dest)
{
	if (to)
		return rs_dest_get(d, to, dest);
	if (!d->connected)
		return explain(EDESTADDRREQ,
			       "the rsocket is not connected, and there is no address");
	*dest = d->peer;
	return 0;
}

/* Datagrams that are longer than a packet of the queue pair's port also take the UDP socket. */
ssize_t rs_dgram_send(struct rs_dgram *d, struct rs_iov *iov, int msg_flags,
		      const union rs_addr *to)
{
	const bool nonblock = rs_is_nonblocking(&d->base, msg_flags);
	const size_t len = iov->left;
	struct rs_dest *dest;
	bool by_udp;
	int err;

	if (len > RS_DGRAM_ROOM - RS_UDP_HEADER_MAX)
		return explain(EMSGSIZE, "a datagram of %zu bytes; %d fit", len,
			       RS_DGRAM_ROOM - RS_UDP_HEADER_MAX);
	pthread_mutex_lock(&d->base.lock);
	err = find_dest(d, to, &dest);
	by_udp = !err && (!dest->ah || dest->qp->header_len + len > dest->qp->mtu);
	if (!err && !by_udp)
		err = send_ud(d, dest, iov, nonblock);
	pthread_mutex_unlock(&d->base.lock);
	if (err)
		return err;
	return by_udp ? rs_dgram_udp_send(d, dest, RS_UDP_DATA, iov, nonblock) : (ssize_t)len;
}

static bool has_received(const struct rs_socket *s)
{
	const struct rs_dgram *d = (const struct rs_dgram *)s;

	return !STAILQ_EMPTY(&d->received) || d->closed;
}

ssize_t rs_dgram_recv(struct rs_dgram *d, struct rs_iov *iov, int msg_flags, union rs_addr *from,
		      bool *truncated)
{
	struct rs_dgram_msg *msg;
	ssize_t result;

	pthread_mutex_lock(&d->base.lock);
	result = rs_wait_until(&d->base, rs_is_nonblocking(&d->base, msg_flags), has_received);
	if (!result && d->closed)
		result = -EBADF;
	if (!result) {
		msg = STAILQ_FIRST(&d->received);
		*from = msg->from;
		*truncated = msg->len > iov->left;
		result = *truncated ? iov->left : msg->len;
		rs_iov_scatter(iov, msg->data, result);
		if (msg_flags & MSG_TRUNC)
			result = msg->len;
		if (!(msg_flags & MSG_PEEK)) {
			STAILQ_REMOVE_HEAD(&d->received, link);
			rs_dgram_msg_drop(d, msg);
		}
	}
	pthread_mutex_unlock(&d->base.lock);
	return result;
}
