/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of opcodes (IBTA vol 1 r1.4, 9.2.1; CNP: Annex A17): the headers after the BTH, the part of a
 * message that the packet carries, whether requester or responder sends it, and its payload length.
 * Read-only.
 *
 * It has RC, UC, UD, XRC, DC and CNP, with FLUSH and ATOMIC WRITE (Annex A19). DC packets are the reliable
 * opcodes with a private header (header.h), and masked atomics have a code that is reserved. RD is missing,
 * since no ConnectX sends it; its opcodes are unknown.
 */
#ifndef ROCE_OPCODE_H
#define ROCE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/header.h"
#include "roce/packet.h"

/* Congestion notification packet: BTH and 16 reserved bytes. */
#define ROCE_OP_CNP 0x81

enum roce_msg_part {
	ROCE_FIRST = 1 << 0, /* starts a message */
	ROCE_LAST = 1 << 1,  /* ends it; neither: middle; both: only */
};

enum roce_payload_rule {
	ROCE_PAYLOAD_NONE,
	ROCE_PAYLOAD_FULL, /* exactly one path MTU: 256, 512, 1024, 2048 or 4096 */
	ROCE_PAYLOAD_SOME, /* 1 to path MTU */
	ROCE_PAYLOAD_ANY,  /* 0 to path MTU */
	ROCE_PAYLOAD_CNP,  /* 16 reserved bytes */
	ROCE_PAYLOAD_WORD, /* the 8 bytes of an atomic write */
	ROCE_PAYLOAD_ARGS, /* of a masked atomic: two or four numbers of 8 bytes */
};

struct roce_opcode_info {
	const char *name; /* e.g. "RC SEND_ONLY"; NULL: no such opcode */
	uint16_t headers; /* enum roce_header */
	uint8_t length;   /* of all headers, BTH included */
	uint8_t part;     /* enum roce_msg_part */
	uint8_t payload;  /* enum roce_payload_rule */
	bool request;     /* sent by the requester; otherwise a response, or a CNP */
};

extern const struct roce_opcode_info roce_opcode_table[256] __attribute__((visibility("hidden")));

/* NULL when there is no such opcode. */
static inline const struct roce_opcode_info *roce_opcode_find(uint8_t op)
{
	const struct roce_opcode_info *info = &roce_opcode_table[op];

	return info->name ? info : 0;
}

struct roce_payload_range {
	uint16_t min, max;
	bool power_of_two;
};

/* Indexed by enum roce_payload_rule. */
extern const struct roce_payload_range roce_payload_ranges[];

static inline bool roce_payload_allowed(enum roce_payload_rule rule, uint32_t len)
{
	const struct roce_payload_range *range = &roce_payload_ranges[rule];

	return len >= range->min && len <= range->max &&
	       (!range->power_of_two || !(len & (len - 1)));
}

/* Parses "RC SEND_ONLY", "rc_send_only", or the same without transport. 0 or -ENOENT. */
int roce_opcode_parse(const char *text, uint8_t *op, bool *any_transport);

#endif
