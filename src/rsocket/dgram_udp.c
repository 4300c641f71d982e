/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/dgram_udp.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "rsocket/dgram_dest.h"
#include "rsocket/dgram_qp.h"

/* Messages that are read before other handlers have their turn. */
#define READ_BATCH 64

/* The peer's address and the own queue pair stay as they are while the socket is open. */
ssize_t rs_dgram_udp_send(const struct rs_dgram *d, const struct rs_dest *dest, enum rs_udp_op op,
			  struct rs_iov *iov, bool nonblock)
{
	uint8_t buf[RS_UDP_HEADER_MAX + RS_DGRAM_ROOM];
	const size_t header =
		rs_udp_header_encode(op, dest->qp->id->qp->qp_num, &dest->qp->local, buf);
	const size_t len = iov ? iov->left : 0;

	if (len)
		rs_iov_gather(iov, buf + header, len);
	if (sendto(d->base.entry.fd, buf, header + len,
		   MSG_NOSIGNAL | (nonblock ? MSG_DONTWAIT : 0), &dest->addr.sa,
		   rs_addr_len(&dest->addr)) < 0)
		return -errno;
	return len;
}

/* A datagram that came here is read like one that came to a queue pair. */
static void queue_copy(struct rs_dgram *d, const uint8_t *data, size_t len,
		       const union rs_addr *from)
{
	struct rs_dgram_msg *msg;

	if (d->copies >= d->base.sizes.recv_queue)
		return;
	msg = malloc(sizeof(*msg) + len);
	if (!msg)
		return;
	*msg = (struct rs_dgram_msg){ .data = (uint8_t *)(msg + 1), .len = len, .from = *from };
	memcpy(msg + 1, data, len);
	d->copies++;
	STAILQ_INSERT_TAIL(&d->received, msg, link);
	rs_wake_others(&d->base.sleepers, -1);
}

static void handle(struct rs_dgram *d, const uint8_t *data, size_t len, const union rs_addr *from)
{
	struct rs_dest *dest = NULL;
	enum rs_udp_op op;
	uint32_t qpn;
	int header = rs_udp_header_decode(data, len, from->sa.sa_family, &op, &qpn);

	if (header < 0)
		return;
	pthread_mutex_lock(&d->base.lock);
	if (!d->closed && !rs_dest_get(d, from, &dest)) {
		rs_dest_set_qpn(dest, qpn);
		if (op == RS_UDP_DATA)
			queue_copy(d, data + header, len - header, from);
	}
	pthread_mutex_unlock(&d->base.lock);
	/* If the answer is lost, the next datagram is answered again. */
	if (dest && op == RS_UDP_DATA)
		rs_dgram_udp_send(d, dest, RS_UDP_CTRL, NULL, true);
}

void rs_dgram_udp_ready(struct rs_watch *watch)
{
	struct rs_dgram *d = (struct rs_dgram *)((char *)watch - offsetof(struct rs_dgram, watch));
	uint8_t buf[RS_UDP_HEADER_MAX + RS_DGRAM_ROOM];

	for (int i = 0; i < READ_BATCH; i++) {
		struct sockaddr_storage name;
		socklen_t name_len = sizeof(name);
		union rs_addr from;
		ssize_t len = recvfrom(watch->fd, buf, sizeof(buf), MSG_DONTWAIT,
				       (struct sockaddr *)&name, &name_len);

		if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		/* Other errors report an ICMP message about a datagram that was sent; reading has cleared them. */
		if (len >= 0 && !rs_addr_set(&from, (struct sockaddr *)&name, name_len))
			handle(d, buf, len, &from);
	}
}
