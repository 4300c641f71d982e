/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registry of the host directory: keys with values, each entry owned by a process and gone with
 * it; and multicast groups on top of it.
 */
#ifndef FABRIC_REGISTRY_H
#define FABRIC_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/id.h"

enum fabric_reg_kind {
	FABRIC_REG_MCAST = 1, /* key: gid and fabric number; value: queue pair */
	FABRIC_REG_CM_PORT,   /* key: service id of the connection manager and address (gsi.c) */
	FABRIC_REG_XRCD,      /* key: adapter and file; value: tells openings apart */
	FABRIC_REG_REUSEPORT, /* key: gid; value: index among the sockets at that address */
	FABRIC_REG_ETHER,     /* key: name of a switch; value: port in the owner's segment */
	FABRIC_REG_CONTEXT,   /* key: id of a context that was imported; value: 0 */
	FABRIC_REG_GSI,       /* key: class of management; value: 0 */
	FABRIC_REG_KINDS,
};

#define FABRIC_REG_KEY_MAX 32

struct fabric_reg_entry {
	fabric_id_t owner;
	uint64_t value;
};

/*
 * Adds (key, value) for this process. Exclusive: -EADDRINUSE when the key has any entry of a living
 * process. Otherwise -EEXIST when this process has this very entry. -ENOSPC when the table is full.
 */
int fabric_reg_add(enum fabric_reg_kind kind, const void *key, size_t len, uint64_t value,
		   bool exclusive);
/* -ENOENT when this process has no such entry. */
int fabric_reg_del(enum fabric_reg_kind kind, const void *key, size_t len, uint64_t value);
/* Gives an entry of this process another value. -ENOENT when there is none. */
int fabric_reg_change(enum fabric_reg_kind kind, const void *key, size_t len, uint64_t value,
		      uint64_t to);
/* Lock-free. Fills up to `max` entries; returns how many there are (which may be more). */
size_t fabric_reg_find(enum fabric_reg_kind kind, const void *key, size_t len,
		       struct fabric_reg_entry *out, size_t max);
/*
 * Lock-free. Changes after every change of a kind: an answer of fabric_reg_find() holds until the
 * version differs from the one that was read before.
 */
uint64_t fabric_reg_version(enum fabric_reg_kind kind);

/* ---- multicast groups ---- */

/*
 * `net` tells fabrics apart that share group addresses (RoCE and InfiniBand, say). Joining twice
 * is joining once; leaving without being a member is -ENOENT.
 */
int fabric_mcast_join(uint32_t net, const uint8_t gid[16], uint32_t qpn);
int fabric_mcast_leave(uint32_t net, const uint8_t gid[16], uint32_t qpn);
/* Lock-free; as fabric_reg_find(), value is the queue pair's number. */
size_t fabric_mcast_members(uint32_t net, const uint8_t gid[16], struct fabric_reg_entry *out,
			    size_t max);

#endif
