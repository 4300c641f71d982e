/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow engine's domains and actions. The engine knows none of the three public APIs and device
 * commands that are built on it.
 *
 * Each port has a root table per domain, shared by all programs of the process; other tables are reached
 * by jumps. A rule is a value under a mask, at a priority (0 first). Rules of one table with the same
 * priority and mask form a group, which is a hash table: a packet costs one look-up per group, however
 * many rules there are. Of two groups with one priority the older is tried first.
 *
 * Threads: frames meet rules without a lock, in an epoch section (fabric/epoch.h); changes are made under
 * flow_lock. Rules hold references: objects of the engine live as long as a frame may see a rule that
 * refers to them. The reference on a destination is dropped when its rule is destroyed; the owner of the
 * destination waits for the end of all epoch sections before it frees it.
 */
#ifndef ETHER_FLOW_TYPES_H
#define ETHER_FLOW_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "ether/frame.h"

enum flow_domain {
	FLOW_RX,
	FLOW_TX,
	FLOW_FDB,     /* the switch in front of the port, in both directions */
	FLOW_SNIFFER, /* copies of all frames; every matching rule gets one */
	/* Packets of queue pairs, by their headers: rules drop or count them, and change nothing. */
	FLOW_RDMA_RX,
	FLOW_RDMA_TX,
	/* Packets of a port's vport: behind FLOW_RDMA_RX, and before FLOW_RDMA_TX. */
	FLOW_RDMA_TRANSPORT_RX,
	FLOW_RDMA_TRANSPORT_TX,
	FLOW_DOMAINS,
};

enum flow_op {
	FLOW_OP_COUNT,
	FLOW_OP_TAG,
	FLOW_OP_EDIT,   /* changes the packet, in the order in which actions are given */
	FLOW_OP_ASO,    /* the low byte of a register gets the result of an ASO object (aso.h) */
	FLOW_OP_SAMPLE, /* every n-th packet also runs other actions */
	/* Destinations, after everything else; with several, each gets a copy. */
	FLOW_OP_DEST,
	FLOW_OP_TABLE,
	FLOW_OP_PORT, /* FDB: FLOW_VPORT_* */
	FLOW_OP_DROP,
	FLOW_OP_MISS, /* as for a packet that no rule matches */
};

static inline bool flow_domain_is_rdma(enum flow_domain domain)
{
	return domain >= FLOW_RDMA_RX;
}

#define FLOW_REGISTERS 8u /* c_0 to c_7 */

#define FLOW_VPORT_PF     0u
#define FLOW_VPORT_UPLINK 0xffffu

struct aso;
struct flow_table;
struct flow_matcher;
struct flow_rule;
struct flow_counter;
struct flow_edit;
struct flow_sampler;

struct flow_action {
	uint8_t op;  /* enum flow_op */
	uint8_t reg; /* FLOW_OP_ASO: the number of register c */
	uint8_t arg; /* FLOW_OP_ASO: ASO_ARG_*, or enum aso_colour */
	uint32_t
		from; /* FLOW_OP_TABLE: skips rules before this priority; FLOW_OP_ASO: the object */
	union {
		uint32_t tag;
		uint32_t vport;
		struct ether_dest *dest;
		struct flow_table *table;
		struct flow_counter *counter;
		struct flow_edit *edit;
		struct flow_sampler *sampler;
		struct aso *aso;
	};
};

#endif
