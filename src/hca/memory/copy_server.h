/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The desk: how a process that shares a context reaches another's memory where it can neither map it
 * nor have the kernel copy it, and how it does atomics on memory that it has not mapped. The asker
 * puts an order and its data into a place on the owner's desk, in the owner's segment; a thread of
 * the owner carries it out. That thread waits for nobody and takes no lock, so that whoever stands
 * at a desk may hold any, and two processes may stand at each other's.
 *
 * A place belongs to who wrote its id there. One whose holder died is anybody's again.
 */
#ifndef COPY_SERVER_H
#define COPY_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hca_mr_entry;
struct hca_peer;
struct hca_seg;

/* Orders at this process's desk are served from now on, if they were not before. */
void copy_server_open(void);

/* A piece of a peer's entry that is reached over its desk; good inside the guard. */
void copy_server_seg(struct hca_peer *peer, const struct hca_mr_entry *e, uint32_t key,
		     uint64_t addr, uint64_t len, struct hca_seg *out);

/* Inside an epoch section. False when the owner is gone, stopped, or does not know the key any more. */
bool copy_server_copy(const struct hca_seg *there, uint64_t off, void *here, uint64_t len,
		      bool write);
bool copy_server_atomic(const struct hca_seg *there, bool add, uint64_t compare, uint64_t swap,
			uint64_t *old);

void copy_server_forked(void);

#endif
