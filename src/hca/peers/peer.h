/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that this one is linked to, itself included: found by id, waited for, and forgotten
 * when their links go down.
 */
#ifndef HCA_PEER_H
#define HCA_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/link.h"
#include "hca/peers/peer_types.h"

/*
 * The peer of this id if its link is up; NULL otherwise, and *wait says whether the link is being
 * made (listeners are called when it is up). Inside an epoch section.
 */
struct hca_peer *hca_peer_find(fabric_id_t id, bool *wait);

/* The peer in this slot of the host directory, or NULL. Inside an epoch section. */
struct hca_peer *hca_peer_at(unsigned int slot);
/* Slots from here on have no peer. */
uint32_t hca_peer_end(void);

static inline bool hca_peer_is_up(const struct hca_peer *peer)
{
	return fabric_link_state(peer->link) == FABRIC_LINK_UP;
}

/*
 * Whether this process may access the peer's memory: the peer knows of the link, and so waits for
 * this process's epoch sections before it frees memory. This side of a link is up a moment earlier.
 */
bool hca_peer_may_access(struct hca_peer *peer);
void hca_peer_kill(struct hca_peer *peer);
/*
 * Whether an answer may still come: records lie unread, here or there, and the process is neither
 * dead nor stopped. An adapter would have answered by now; a process may wait for a processor.
 */
bool hca_peer_is_late(const struct hca_peer *peer);
/* Stopped by a signal or a debugger, or dead. */
bool hca_peer_is_halted(const struct hca_peer *peer);
/* Every thread of the process is halted, and none is inside a copy between processes by the kernel. */
bool hca_peer_threads_are_halted(const struct hca_peer *peer);
static inline const struct hca_segment *hca_peer_segment(const struct hca_peer *peer)
{
	return peer->segment;
}

/* Calls fn for every peer, this process included. The lock of the list is held: fn must not find peers. */
void hca_peer_for_each(void (*fn)(struct hca_peer *peer, void *arg), void *arg);
/* Also calls fn for peers that are leaving: they cannot be found any more, but their lists are still read. */
void hca_peer_for_each_existing(void (*fn)(struct hca_peer *peer, void *arg), void *arg);

/*
 * Waits, the first time, until the link of this process to itself is up, so that requests between
 * its own queue pairs never wait for a handshake. Not on the service thread.
 */
void hca_peer_connect_self(void);
/*
 * Waits until another process is linked, and each of the two may access the other's memory. False:
 * the process is gone or does not answer. Not on the service thread.
 */
bool hca_peer_connect(fabric_id_t id);

/* ---- for engine/host.c ---- */

/* Before links are made. */
void peer_begin(void);
void peer_link_up(struct fabric_link *link);
void peer_link_down(struct fabric_link *link);
void peer_link_room(struct fabric_link *link);

#endif
