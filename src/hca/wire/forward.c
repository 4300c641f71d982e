/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the packets that wait to be passed on. Lock: queue_lock, outside of a link's send lock.
 */
#include "hca/wire/forward.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/link.h"
#include "util/forksafe.h"

#define WAITING_MOST (4u << 20) /* bytes */

struct waiting {
	struct waiting *next;
	fabric_id_t owner;
	uint32_t len;
	uint8_t record[]; /* as it goes into the ring */
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(queue_lock, FORKSAFE_OBJECT);
static struct waiting *first, **last = &first;
static size_t tx_wait_bytes;

/* A record is a header, what is known of the packet, and its payload. */
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
	struct waiting *w;

	if (tx_wait_bytes + len > WAITING_MOST)
		return;
	w = malloc(sizeof(*w) + len);
	if (!w)
		return;
	*w = (struct waiting){ .owner = owner, .len = len };
	fill(w->record, f, data);
	*last = w;
	last = &w->next;
	tx_wait_bytes += len;
}

static bool waits_for(fabric_id_t owner)
{
	for (const struct waiting *w = first; w; w = w->next)
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
		return; /* lost; the sender will send again when it is told to care */
	pthread_mutex_lock(&queue_lock);
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
	pthread_mutex_unlock(&queue_lock);
	/* It may have come up between the look and the lock. */
	if (!peer) {
		peer = hca_peer_find(owner, &wait);
		if (peer)
			send_waiting(peer);
	}
}

static void take_out(struct waiting **at)
{
	struct waiting *w = *at;

	*at = w->next;
	if (last == &w->next)
		last = at;
	tx_wait_bytes -= w->len;
	free(w);
}

/* The link has come up, or has room again. */
static void send_waiting(struct hca_peer *peer)
{
	struct waiting **at = &first;

	pthread_mutex_lock(&queue_lock);
	if (first) {
		fabric_link_tx_lock(peer->link);
		while (*at) {
			char *record;

			if ((*at)->owner != peer->id) {
				at = &(*at)->next;
				continue;
			}
			record = reserve(peer->link, (*at)->len);
			if (!record)
				break;
			memcpy(record, (*at)->record, (*at)->len);
			fabric_link_publish(peer->link);
			take_out(at);
		}
		fabric_link_tx_unlock(peer->link);
	}
	pthread_mutex_unlock(&queue_lock);
}

static void drop_waiting(fabric_id_t owner)
{
	struct waiting **at = &first;

	pthread_mutex_lock(&queue_lock);
	while (*at) {
		if ((*at)->owner == owner)
			take_out(at);
		else
			at = &(*at)->next;
	}
	pthread_mutex_unlock(&queue_lock);
}

const struct peer_listener forward_peer_listener = {
	.up = send_waiting,
	.room = send_waiting,
	.gone = drop_waiting,
};

/* The parent's packets are the parent's to pass on. */
void forward_forked(void)
{
	while (first)
		take_out(&first);
}
