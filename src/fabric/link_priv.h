/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links as the service thread sees them. Everything here runs on that thread, unless it says
 * otherwise; the cold part of a link is its own, except for the atomic fields.
 */
#ifndef FABRIC_LINK_PRIV_H
#define FABRIC_LINK_PRIV_H

#include "fabric/link.h"

extern struct fabric_config fabric_config;

struct fabric_link_cold {
	struct fabric_link *next; /* in the service thread's list */
	struct fabric_link *all_next, **all_at;
	int sock;
	int wake_fd;
	int share_fd;
	pid_t pid;
	bool self;
	bool live; /* in the list */
	void *segment;
	uint64_t segment_size;
	struct fabric_ring_pair rings;
	unsigned int tx_ring; /* 0 for who connected, 1 for who was connected to */
	bool peer_barrier;
	uint64_t deadline_ns, retry_ns; /* while CONNECTING */

	/* any thread sets, the service thread clears */
	_Atomic bool kill;
	_Atomic bool want_room;
	_Atomic bool corrupt;
};

/* ---- link.c ---- */

void fabric_links_init(void);
/* Every link dies. */
void fabric_links_shutdown(void);
void fabric_links_fork_prepare(void);
void fabric_links_fork_parent(void);
void fabric_links_fork_child(void);

/* The link to the peer that is not DEAD, with a reference, or NULL. */
struct fabric_link *fabric_link_find(fabric_id_t peer);
/* The same, or a new one, entered in the table; NULL when memory is short. */
struct fabric_link *fabric_link_find_or_create(fabric_id_t peer);
/* Enters a link in the list, unless it is there or DEAD. */
void fabric_link_enlist(struct fabric_link *link);
/* Rings, segment and descriptors are in place. */
void fabric_link_up(struct fabric_link *link);
void fabric_link_down(struct fabric_link *link);

/* ---- handshake.c ---- */

int handshake_listen(const uint8_t *token);
void handshake_unlisten(void);
void handshake_fork_child(void);
/* Starts, or starts again. 0 when under way, -EAGAIN to try later, other errors for good. */
int handshake_connect(struct fabric_link *link);
/* Half-open connections: as a turn of the service thread. */
uint64_t handshake_turn(uint64_t now_ns);
void handshake_shutdown(void);

#endif
