/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/link_carrier.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "fabric/link.h"
#include "hca/transport/blocked_list.h"
#include "hca/transport/observer.h"
#include "hca/transport/qp_types.h"

static void block(struct qp *qp, struct hca_peer *peer)
{
	pthread_mutex_lock(&peer->map_lock);
	blocked_list_add(&peer->blocked, qp);
	pthread_mutex_unlock(&peer->map_lock);
	atomic_store_explicit(&hca.transport.tx_wait_for, peer->id, memory_order_relaxed);
}

void link_carrier_block(struct qp *qp, struct hca_peer *peer)
{
	fabric_link_want_room(peer->link);
	block(qp, peer);
}

static int send_record(struct qp *qp, struct hca_peer *peer, struct roce_pkt *pkt,
		       const struct hca_list *list, uint64_t off, const struct roce_ref *refs)
{
	uint32_t extra = pkt->flags & ROCE_PKT_BY_REF ? pkt->refs * sizeof(*refs) : pkt->len;
	struct fabric_link *link = peer->link;
	const struct observer *observer;
	char *record;

	fabric_link_tx_lock(link);
	record = fabric_link_reserve(link, ROCE_PKT_RECORD + extra);
	if (unlikely(!record)) {
		bool up = fabric_link_state(link) == FABRIC_LINK_UP;

		if (up) {
			fabric_link_want_room(link);
			block(qp, peer);
		}
		fabric_link_tx_unlock(link);
		return up ? -EAGAIN : -ENOTCONN;
	}
	memcpy(record, pkt, ROCE_PKT_RECORD);
	if (pkt->flags & ROCE_PKT_BY_REF) {
		memcpy(record + ROCE_PKT_RECORD, refs, extra);
	} else if (unlikely(pkt->len &&
			    !hca_mem_copy_out(list, off, record + ROCE_PKT_RECORD, pkt->len))) {
		fabric_link_cancel(link);
		fabric_link_tx_unlock(link);
		return -EFAULT;
	}
	fabric_link_publish(link);
	fabric_link_tx_unlock(link);
	observer = observer_get();
	if (unlikely(observer) && observer->sent)
		observer->sent(qp, pkt, list, off);
	return 0;
}

/* A record leaves as soon as it is published, and links lose nothing. */
static void nothing(struct qp *qp)
{
}

static bool no_unread(struct qp *qp)
{
	return false;
}

const struct carrier link_carrier = {
	.send = send_record,
	.flush = nothing,
	.request_sent = nothing,
	.datagram_sent = nothing,
	.has_unread = no_unread,
};
