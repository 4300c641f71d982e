/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one table of opcodes (IBTA volume 1, 9.2; CNP: annex 17): which headers follow the BTH, where
 * in a message the packet stands, who sends it, what payload it may have. Read-only.
 *
 * Known are RC, UC, UD, XRC, DC and the congestion notification. How adapters put DC on the wire is
 * not public; here it is the reliable opcodes with a header of our own (codec.c). Reliable datagrams
 * (RD) exist nowhere, and no ConnectX that is modelled here sends FLUSH or ATOMIC WRITE: such packets
 * are unknown.
 */
#ifndef ROCE_OPCODE_H
#define ROCE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/packet.h"

#define ROCE_OP_CNP 0x81 /* congestion notification: BTH and 16 reserved bytes */

/* Extension headers, in the order in which they stand on the wire. */
enum roce_header {
	ROCE_HDR_DETH = 1 << 0,
	ROCE_HDR_XRCETH = 1 << 1,
	ROCE_HDR_RETH = 1 << 2,
	ROCE_HDR_ATOMICETH = 1 << 3,
	ROCE_HDR_AETH = 1 << 4,
	ROCE_HDR_ATOMICACKETH = 1 << 5,
	ROCE_HDR_IMMDT = 1 << 6,
	ROCE_HDR_IETH = 1 << 7,
	ROCE_HDR_DCETH = 1 << 8, /* right behind the BTH */
};

enum roce_header_bytes {
	ROCE_BTH_BYTES = 12,
	ROCE_DETH_BYTES = 8,
	ROCE_XRCETH_BYTES = 4,
	ROCE_RETH_BYTES = 16,
	ROCE_ATOMICETH_BYTES = 28,
	ROCE_AETH_BYTES = 4,
	ROCE_ATOMICACKETH_BYTES = 8,
	ROCE_IMMDT_BYTES = 4,
	ROCE_IETH_BYTES = 4,
	ROCE_DCETH_BYTES = 20,
	ROCE_ICRC_BYTES = 4,
	ROCE_CNP_BYTES = 16, /* after the BTH */
	/* BTH, DCETH and AtomicETH: no packet has more in front of its payload */
	ROCE_MAX_HEADER = 12 + 20 + 28,
};

enum roce_place {
	ROCE_FIRST = 1 << 0, /* starts a message */
	ROCE_LAST = 1 << 1,  /* ends it; neither: middle; both: only */
};

enum roce_payload_rule {
	ROCE_PAYLOAD_NONE,
	ROCE_PAYLOAD_FULL, /* exactly one path MTU: 256, 512, 1024, 2048 or 4096 */
	ROCE_PAYLOAD_SOME, /* 1 to path MTU */
	ROCE_PAYLOAD_ANY,  /* 0 to path MTU */
	ROCE_PAYLOAD_CNP,  /* 16 bytes that mean nothing */
};

#define ROCE_MAX_PAYLOAD 4096u
/* BTH through ICRC. */
#define ROCE_MAX_PACKET (ROCE_MAX_HEADER + ROCE_MAX_PAYLOAD + ROCE_ICRC_BYTES)
#define ROCE_MIN_PACKET (ROCE_BTH_BYTES + ROCE_ICRC_BYTES)

struct roce_opcode_info {
	const char *name; /* e.g. "RC SEND_ONLY"; NULL: no such opcode */
	uint16_t headers; /* enum roce_header */
	uint8_t length;   /* of all headers, BTH included */
	uint8_t place;    /* enum roce_place */
	uint8_t payload;  /* enum roce_payload_rule */
	bool request;     /* by the requester; else a response (or a CNP) */
};

extern const struct roce_opcode_info roce_opcode_table[256] __attribute__((visibility("hidden")));

/* NULL when there is no such opcode. */
static inline const struct roce_opcode_info *roce_opcode_find(uint8_t op)
{
	const struct roce_opcode_info *info = &roce_opcode_table[op];

	return info->name ? info : 0;
}

/* What the rules say, by rule. */
struct roce_payload_range {
	uint16_t min, max;
	bool power_of_two;
};

extern const struct roce_payload_range roce_payload_ranges[];

static inline bool roce_payload_allowed(enum roce_payload_rule rule, uint32_t len)
{
	const struct roce_payload_range *range = &roce_payload_ranges[rule];

	return len >= range->min && len <= range->max &&
	       (!range->power_of_two || !(len & (len - 1)));
}

/* "RC SEND_ONLY", "rc_send_only", or without the transport; 0 and *op, or -ENOENT. */
int roce_opcode_parse(const char *text, uint8_t *op, bool *any_transport);

#endif
