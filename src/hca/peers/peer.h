/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that this one is linked to, itself included: finding them, waiting for them, and
 * their regions, mapped here.
 */
#ifndef HCA_PEER_H
#define HCA_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/link.h"
#include "fabric/share_view.h"
#include "hca/peers/ack_list.h"
#include "fabric/epoch.h"
#include "hca/peers/segment.h"
#include "hca/device/table.h"

struct hca_peer;
struct qp;

/*
 * Rooms above hear of processes that come and go: struct hca lists them, in the order in which they are
 * called. Any hook may be NULL. Called on the service thread, outside of epoch sections.
 */
struct peer_listener {
	/* A link is up. */
	void (*up)(struct hca_peer *peer);
	/* The link has room again; also on threads that poll. */
	void (*room)(struct hca_peer *peer);
	/* The peer cannot be found any more: drop pointers to it. Called twice, since a section that
	 * began before may have kept one; a grace period follows each time. */
	void (*leaving)(struct hca_peer *peer);
	/* The process is gone, or could not be linked. */
	void (*gone)(fabric_id_t id);
};

/* A region of a peer, mapped here. */
struct hca_mapping {
	uint32_t key;
	char *base;  /* local address of the region's first byte */
	uint64_t va; /* and its address there */
	uint64_t length;
	struct hca_peer *peer;
};

struct hca_peer {
	struct fabric_link *link;
	struct hca_segment *segment;
	fabric_id_t id;
	struct share_view view;
	bool can_map; /* its share memfd is here */
	bool can_vm;  /* process_vm_* works on it */
	bool is_self;
	bool no_refs; /* it said that it cannot fetch from us */
	bool met;     /* it counts our guards: we may reach into its memory */
	int pid;
	pthread_mutex_t map_lock;
	struct hca_table mappings; /* by key index: struct hca_mapping */
	struct hca_acks acks;      /* receive lock held */
	unsigned int in_a_row;     /* times that frames came and none were sent; receive lock */
	/* QPs that found no room; guarded by map_lock */
	struct qp *blocked;
};

/*
 * The peer of this id when its link is up; NULL otherwise, and *wait says whether the link is being
 * made (the QPs are called when it is up). Inside an epoch section.
 */
struct hca_peer *hca_peer_find(fabric_id_t id, bool *wait);

/* Whoever stands in this slot now, or NULL. Inside an epoch section. */
struct hca_peer *hca_peer_at(unsigned int slot);

static inline bool hca_peer_is_up(const struct hca_peer *peer)
{
	return fabric_link_state(peer->link) == FABRIC_LINK_UP;
}

/*
 * Before it knows of the link, the other process would not wait for us when it takes memory away,
 * though our side of the link is up. Then nobody may reach into its memory.
 */
bool hca_peer_has_met(struct hca_peer *peer);
void hca_peer_kill(struct hca_peer *peer);
/*
 * Whether an answer may still come: records lie unread, here or there, and the process lives and is
 * not stopped. An adapter would have answered meanwhile; a process may wait for a processor.
 */
bool hca_peer_is_late(const struct hca_peer *peer);
/* Stopped or dead, as far as can be seen from here. */
bool hca_peer_is_halted(const struct hca_peer *peer);
static inline struct hca_segment *hca_peer_segment(const struct hca_peer *peer)
{
	return peer->segment;
}

/* Everybody, this process included. Inside peers_lock: fn must not look for others. */
void hca_peer_for_each(void (*fn)(struct hca_peer *peer, void *arg), void *arg);

/* A region keeps its key when it is registered anew, of other memory; a window may get it back. */
static inline bool hca_mapping_is_of(const struct hca_mapping *m, const struct hca_mr_entry *entry,
				     uint32_t key)
{
	return m->key == key && m->va == entry->va && m->length == entry->length;
}

/* The same as below, of a peer that is another process. */
char *peer_map_new(struct hca_peer *peer, const struct hca_mr_entry *entry, uint32_t key);

/* The local address of a peer's valid entry's first byte, inside an epoch section; NULL: cannot be mapped. */
static inline char *hca_peer_map(struct hca_peer *peer, const struct hca_mr_entry *entry,
				 uint32_t key)
{
	const struct hca_mapping *m;

	if (peer->is_self)
		return (char *)(uintptr_t)entry->va;
	m = hca_table_find(&peer->mappings, key >> 8);
	return likely(m && hca_mapping_is_of(m, entry, key)) ? m->base
							     : peer_map_new(peer, entry, key);
}

/*
 * Waits, the first time, until the link to this process itself is up, so that requests between its
 * own queue pairs never wait for a handshake. Not on the service thread.
 */
void hca_peer_meet_self(void);
/* The same for another process, and until each may reach into the other's memory. False: gone. */
bool hca_peer_meet(fabric_id_t id);

/* ---- for host.c ---- */

/* Before links are made. */
void peer_begin(void);
/* In a forked child, which has no links. */
void peer_forked(void);
void peer_link_up(struct fabric_link *link);
void peer_link_down(struct fabric_link *link);
void peer_link_room(struct fabric_link *link);

/* ---- inside ---- */

/* The peer goes: nobody looks at its mappings any more. */
void peer_unmap_all(struct hca_peer *peer);

#endif
