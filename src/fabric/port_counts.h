/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of the host's adapter ports, in the host directory: all processes add to one row per port, and
 * tools read the rows. A row has a name, and counts whose meaning is the adapter's.
 */
#ifndef FABRIC_PORT_COUNTS_H
#define FABRIC_PORT_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/traffic_block.h"
#include "util/api.h"

/* A row: the adapter's own counts, and behind them enum fabric_traffic_count. */
#define FABRIC_PORT_TRAFFIC 96
#define FABRIC_PORT_COUNTS  (FABRIC_PORT_TRAFFIC + FABRIC_TRAFFIC_OF_PORT)

/* The row with the name, made at the first call; NULL when the fabric is down or has no row left. */
_Atomic uint64_t *fabric_port_counts(const char *name);
/* The number of the row, from 1 on; 0 for NULL. */
unsigned int fabric_port_row(const _Atomic uint64_t *counts);

/* The rows, for a process that is not listed in the directory. */
struct fabric_counts_view {
	struct dir_file *file; /* NULL: there is no directory */
	unsigned long long inode;
};

/* Opens the current directory. True: it is another one than before, or the first. */
VB_API bool fabric_counts_view_update(struct fabric_counts_view *view);
/* Copies a row, with what queue pairs have counted in blocks of their own (traffic.h); zeros when there is none. */
VB_API void fabric_counts_view_read(const struct fabric_counts_view *view, const char *name,
				    uint64_t out[FABRIC_PORT_COUNTS]);
/* True while the directory that was looked at last is the one that processes use. */
VB_API bool fabric_counts_view_is_current(const struct fabric_counts_view *view);

#endif
