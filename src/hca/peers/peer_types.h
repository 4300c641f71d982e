/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer: a process of this host that this one is linked to (itself included), and the regions of
 * its memory that are mapped here. Types only.
 */
#ifndef HCA_PEER_TYPES_H
#define HCA_PEER_TYPES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/id.h"
#include "fabric/share_view.h"
#include "hca/device/table.h"
#include "hca/peers/ack_list.h"
#include "hca/peers/segment.h"

struct fabric_link;
struct hca_peer;
struct qp;

/*
 * Events of peers, for rooms above: struct hca lists the listeners in the order in which they are
 * called. Any hook may be NULL. Called on the service thread, outside of epoch sections.
 */
struct peer_listener {
	/* A link is up. */
	void (*up)(struct hca_peer *peer);
	/* The link has room again; also called by threads that poll. */
	void (*room)(struct hca_peer *peer);
	/* The peer cannot be found any more: drop pointers to it. Called twice, each time followed by
	 * a grace period, since a section that began before may have stored a pointer again. */
	void (*leaving)(struct hca_peer *peer);
	/* The process is gone, or could not be linked. Called first, since a thread that waits for the
	 * peer's answer may be waited for below. */
	void (*gone)(fabric_id_t id);
	/* Called last: QPs that waited for the link must find another path. */
	void (*left)(fabric_id_t id);
};

/* A region of a peer, mapped here. */
struct hca_mapping {
	uint32_t key;
	char *base;  /* local address of the region's first byte */
	uint64_t va; /* its address in the peer */
	uint64_t length;
	struct hca_peer *peer;
	struct hca_mapping *next; /* of hca_peer.stale */
};

struct hca_peer {
	struct fabric_link *link;
	const struct hca_segment *segment; /* its owner may write at any time */
	struct copy_area *mailbox;
	fabric_id_t id;
	struct share_view view; /* of the peer's share memfd */
	bool can_map;           /* the share memfd is open here */
	bool can_vm;            /* process_vm_readv() works on the peer */
	bool is_self;
	bool no_refs;    /* the peer cannot read memory of this process */
	bool may_access; /* hca_peer_may_access() was true */
	int pid;
	pthread_mutex_t map_lock;  /* mappings (writing), blocked */
	struct hca_table mappings; /* by key index: struct hca_mapping */
	struct hca_mapping *stale; /* mappings that were replaced when memory was short */
	struct hca_acks acks;      /* the link's receive lock is held */
	unsigned int
		receive_only; /* turns that brought frames since this process last sent one; same lock */
	struct qp *blocked; /* QPs that found the link full */
	/* Multicasts have waited too long for room on the link; the next ones do not, until one finds room. */
	atomic_bool group_stuck;
};

#endif
