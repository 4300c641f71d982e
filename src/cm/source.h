/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of an id for a destination: adapter port, addresses and next hop. With cm.lock held.
 */
#ifndef CM_SOURCE_H
#define CM_SOURCE_H

#include "cm/gid.h"
#include "cm/id_types.h"
#include "hca/device/neigh.h"

struct cm_source {
	struct sockaddr_storage addr;
	struct cm_gid gid; /* device NULL: the id has its adapter already */
	union ibv_gid dgid;
	/* The destination is a port of this host, or a GID that no network is asked for. */
	bool is_known;
	struct hca_next_hop hop; /* otherwise: its neighbour must be known */
};

/*
 * Returns 0 or a refusal. A host whose adapters do not have the source address is no refusal but a
 * negative *status, for the event.
 */
int cm_source_find(const struct cm_id *id, const struct sockaddr *dst, struct cm_source *out,
		   int *status);
/* Gives the id the source, and its adapter. */
int cm_source_apply(struct cm_id *id, const struct cm_source *source);

#endif
