/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mappings are made at first use and kept until the key names other memory or the peer is gone.
 * Looked up without a lock inside an epoch section; map_lock guards changes.
 */
#include "hca/peers/peer_map.h"

#include <pthread.h>
#include <stdlib.h>

#include "fabric/service.h"
#include "fabric/share_view.h"
#include "fabric/epoch.h"

static void unmap_later(void *arg)
{
	struct hca_mapping *m = arg;

	/* Threads that found the mapping before it was replaced are inside an epoch section. The peer
	 * is not freed meanwhile: that happens on this thread. */
	epoch_wait();
	pthread_mutex_lock(&m->peer->map_lock);
	share_view_unmap(&m->peer->view, m->base, m->length);
	pthread_mutex_unlock(&m->peer->map_lock);
	free(m);
}

static struct hca_mapping *make_mapping(struct hca_peer *peer, const struct hca_mr_entry *entry,
					uint32_t key)
{
	struct hca_mapping *m = malloc(sizeof(*m));

	if (!m)
		return NULL;
	m->key = key;
	m->peer = peer;
	m->va = entry->va;
	m->length = entry->length;
	m->base = share_view_map(&peer->view, m->va, m->length);
	if (!m->base) {
		free(m);
		return NULL;
	}
	return m;
}

char *peer_map_new(struct hca_peer *peer, const struct hca_mr_entry *entry, uint32_t key)
{
	struct hca_mapping *m, *old;

	if (!peer->can_map || !(entry->flags & HCA_MR_SHARED))
		return NULL;
	pthread_mutex_lock(&peer->map_lock);
	old = hca_table_find(&peer->mappings, key >> 8);
	if (old && hca_mapping_is_of(old, entry, key)) {
		m = old;
	} else {
		m = make_mapping(peer, entry, key);
		if (m && hca_table_set(&peer->mappings, key >> 8, m)) {
			share_view_unmap(&peer->view, m->base, m->length);
			free(m);
			m = NULL;
		} else if (m && old && fabric_service_run(unmap_later, old)) {
			/* Threads may still use it: it stays until the peer is gone. */
			old->next = peer->stale;
			peer->stale = old;
		}
	}
	pthread_mutex_unlock(&peer->map_lock);
	return m ? m->base : NULL;
}

static void drop_stale(struct hca_peer *peer)
{
	struct hca_mapping *m;

	while ((m = peer->stale)) {
		peer->stale = m->next;
		share_view_unmap(&peer->view, m->base, m->length);
		free(m);
	}
}

void peer_unmap_all(struct hca_peer *peer)
{
	drop_stale(peer);
	for (uint32_t i = 0; i < HCA_TABLE_HALF; i++) {
		_Atomic(void *) *leaf = atomic_load(&peer->mappings.top[i]);

		for (uint32_t k = 0; leaf && k < HCA_TABLE_HALF; k++) {
			struct hca_mapping *m = atomic_load(&leaf[k]);

			if (m) {
				share_view_unmap(&peer->view, m->base, m->length);
				free(m);
			}
		}
		free((void *)leaf);
	}
}
