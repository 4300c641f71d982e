/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of the host directory in which queue pairs count their traffic, so that counting takes no atomic
 * operation and no line of memory that others write. Readers of a port's row add the blocks to it (port_counts.h).
 */
#ifndef FABRIC_TRAFFIC_H
#define FABRIC_TRAFFIC_H

#include "fabric/traffic_block.h"

struct dir_file;

/* A block for a queue pair of the port with the row; NULL: none is free near the hint. Lock-free. */
struct fabric_traffic *fabric_traffic_claim(unsigned int row, uint32_t hint);
/* Adds the counts to the rows and frees the block. */
void fabric_traffic_release(struct fabric_traffic *t);
/* Sets the port of the peer at which the owner executes one-sided requests from now on. */
void fabric_traffic_set_other(struct fabric_traffic *t, unsigned int row);
/* What a queue pair without a block has carried out at the port `other`: one of FABRIC_DIRECT_. */
void fabric_traffic_add_direct(unsigned int row, unsigned int other, unsigned int what, uint64_t n);
/* Adds what all blocks have counted for the row. */
void fabric_traffic_sum(const struct dir_file *dir, unsigned int row,
			uint64_t out[FABRIC_TRAFFIC_OF_PORT]);

#endif
