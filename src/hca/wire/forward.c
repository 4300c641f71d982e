/* SPDX-License-Identifier: BSD-2-Clause */
/* forward.lock guards the packets that wait; it is outside of a link's send lock. */
#include "hca/wire/forward.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/link.h"
#include "hca/hca.h"
#include "hca/peers/peer.h"

#define MAX_WAITING (4u << 20) /* bytes */

struct forward_waiting {
	TAILQ_ENTRY(forward_waiting) entry;
	fabric_id_t owner;
	uint32_t len;
	uint8_t record[]; /* as it goes into the ring */
};

/* A record is a header, a struct forward, and the payload. */
static void fill(void *record, const struct forward *f, const uint8_t *data)
{
	struct roce_pkt head = { .op = ROCE_PKT_FORWARD, .len = sizeof(*f) + f->pkt.len };
	char *at = record;

	memcpy(at, &head, ROCE_PKT_RECORD);
	memcpy(at + ROCE_PKT_RECORD, f, sizeof(*f));
	memcpy(at + ROCE_PKT_RECORD + sizeof(*f), data, f->pkt.len);
}

static void keep(fabric_id_t owner, uint32_t len, const struct forward *f, const uint8_t *data)
{
	struct forward_waiting *w;

	if (hca.wire.forward.bytes + len > MAX_WAITING)
		return;
	w = malloc(sizeof(*w) + len);
	if (!w)
		return;
	*w = (struct forward_waiting){ .owner = owner, .len = len };
	fill(w->record, f, data);
	TAILQ_INSERT_TAIL(&hca.wire.forward.waiting, w, entry);
	hca.wire.forward.bytes += len;
}

static bool waits_for(fabric_id_t owner)
{
	const struct forward_waiting *w;

	TAILQ_FOREACH(w, &hca.wire.forward.waiting, entry)
		if (w->owner == owner)
			return true;
	return false;
}

/* Send lock held. */
static char *reserve(struct fabric_link *link, uint32_t len)
{
	char *record = fabric_link_reserve(link, len);

	if (!record)
		fabric_link_want_room(link);
	return record;
}

static void send_waiting(struct hca_peer *peer);

void forward_send(fabric_id_t owner, const struct forward *f, const uint8_t *data)
{
	uint32_t len = ROCE_PKT_RECORD + sizeof(*f) + f->pkt.len;
	struct hca_peer *peer;
	char *record = NULL;
	bool wait;

	peer = hca_peer_find(owner, &wait);
	if (peer ? len > fabric_link_max(peer->link) : !wait)
		return; /* lost, as on any network */
	pthread_mutex_lock(&hca.wire.forward.lock);
	if (peer && !waits_for(owner)) {
		fabric_link_tx_lock(peer->link);
		record = reserve(peer->link, len);
		if (record) {
			fill(record, f, data);
			fabric_link_publish(peer->link);
		}
		fabric_link_tx_unlock(peer->link);
	}
	if (!record)
		keep(owner, len, f, data);
	pthread_mutex_unlock(&hca.wire.forward.lock);
	/* The link may have come up before the packet was kept. */
	if (!peer) {
		peer = hca_peer_find(owner, &wait);
		if (peer)
			send_waiting(peer);
	}
}

static void remove_waiting(struct forward_waiting *w)
{
	TAILQ_REMOVE(&hca.wire.forward.waiting, w, entry);
	hca.wire.forward.bytes -= w->len;
	free(w);
}

/* The link is up, or has room again. */
static void send_waiting(struct hca_peer *peer)
{
	struct forward_waiting *w, *next;
	char *record;

	pthread_mutex_lock(&hca.wire.forward.lock);
	if (TAILQ_EMPTY(&hca.wire.forward.waiting))
		goto unlock;
	fabric_link_tx_lock(peer->link);
	for (w = TAILQ_FIRST(&hca.wire.forward.waiting); w; w = next) {
		next = TAILQ_NEXT(w, entry);
		if (w->owner != peer->id)
			continue;
		record = reserve(peer->link, w->len);
		if (!record)
			break;
		memcpy(record, w->record, w->len);
		fabric_link_publish(peer->link);
		remove_waiting(w);
	}
	fabric_link_tx_unlock(peer->link);
unlock:
	pthread_mutex_unlock(&hca.wire.forward.lock);
}

static void drop_waiting(fabric_id_t owner)
{
	struct forward_waiting *w, *next;

	pthread_mutex_lock(&hca.wire.forward.lock);
	for (w = TAILQ_FIRST(&hca.wire.forward.waiting); w; w = next) {
		next = TAILQ_NEXT(w, entry);
		if (w->owner == owner)
			remove_waiting(w);
	}
	pthread_mutex_unlock(&hca.wire.forward.lock);
}

const struct peer_listener forward_peer_listener = {
	.up = send_waiting,
	.room = send_waiting,
	.gone = drop_waiting,
};

void forward_free_inherited(void)
{
	struct forward_waiting *w, *next;

	for (w = TAILQ_FIRST(&hca.wire.forward.waiting); w; w = next) {
		next = TAILQ_NEXT(w, entry);
		remove_waiting(w);
	}
}
