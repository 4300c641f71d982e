/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames, and the destinations that receive them. Destinations are the adapter's (src/hca/raw): the
 * receive queue of a raw packet QP, or a hash over an indirection table.
 */
#ifndef ETHER_FRAME_H
#define ETHER_FRAME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ether/parse.h"

struct vswitch_tx;

#define ETHER_FRAME_MAX 16384u /* with headers, without FCS */
#define ETHER_TAG_NONE  0u     /* what a completion reports when no rule has set a tag */

/* Checksums of IP and of TCP or UDP: the outer headers, and the inner ones of a tunnel. */
enum ether_check {
	ETHER_CHECK_L3_OK = 1 << 0,
	ETHER_CHECK_L4_OK = 1 << 1,
	ETHER_CHECK_DONE = 1 << 7, /* the bits are valid; ether_check() need not run again */
};

/* The fields that went into the hash. */
enum ether_rss {
	ETHER_RSS_SRC_IPV4 = 1 << 0,
	ETHER_RSS_DST_IPV4 = 1 << 1,
	ETHER_RSS_SRC_IPV6 = 1 << 2,
	ETHER_RSS_DST_IPV6 = 1 << 3,
	ETHER_RSS_SRC_PORT_TCP = 1 << 4,
	ETHER_RSS_DST_PORT_TCP = 1 << 5,
	ETHER_RSS_SRC_PORT_UDP = 1 << 6,
	ETHER_RSS_DST_PORT_UDP = 1 << 7,
	ETHER_RSS_IPSEC_SPI = 1 << 8,
	ETHER_RSS_INNER = 1u << 31,
};

/*
 * The option of Geneve headers that a port's parser looks for: class, type, and the word of its data that
 * rules match on. 0: none.
 */
#define ETHER_GENEVE_OPTION(class, type, word)                                                     \
	(1u << 29 | (uint32_t)(word) << 24 | (uint32_t)(class) << 8 | (type))
#define ETHER_GENEVE_ID(option)   ((option)&0xffffff)
#define ETHER_GENEVE_WORD(option) ((option) >> 24 & 0x1f)

/* A frame in flight. The bytes belong to the sender: code that changes them makes a copy first. */
struct ether_frame {
	const uint8_t *data;
	uint32_t len;
	bool parsed_valid; /* see ether_frame_parse() */
	uint8_t check;     /* enum ether_check */
	bool is_bth;       /* no frame, but the BTH of a packet of an InfiniBand link */
	bool has_vlan;     /* a tag was stripped: vlan_tci */
	uint16_t vlan_tci;
	uint32_t tag;        /* set by a flow rule, 24 bits; or ETHER_TAG_NONE */
	uint32_t rss_hash;   /* 0 when nothing was hashed */
	uint32_t rss_fields; /* enum ether_rss */
	/* The sender. */
	uint32_t src_process; /* number of the sending process; 0: an interface */
	uint32_t
		src_domain; /* its context there; loopback within one context is blocked by default */
	uint32_t src_qpn;
	uint16_t src_vport;     /* FLOW_VPORT_*: where it came from, as rules match it */
	uint32_t geneve_option; /* of the port, for its rules */
	bool wire_only;         /* sent out of the port only, with no loopback */
	struct vswitch_tx *tx;  /* of the switch, while the frame is sent (hca/raw/vswitch.h) */
	struct ether_parsed parsed;
};

/* The frame's headers, parsed at the first call. */
static inline const struct ether_parsed *ether_frame_parse(struct ether_frame *f)
{
	if (!f->parsed_valid) {
		ether_parse(f->data, f->len, &f->parsed);
		f->parsed_valid = true;
	}
	return &f->parsed;
}

/*
 * A destination of frames, embedded in the receiving object. deliver() copies the bytes it needs;
 * frame and bytes are the caller's again when it returns. It may set parsed, check and rss_*.
 */
struct ether_dest {
	void (*deliver)(struct ether_dest *dest, struct ether_frame *frame);
	atomic_uint
		users; /* rules and other holders; the owner is busy (EBUSY) while there are any */
};

static inline void ether_dest_get(struct ether_dest *dest)
{
	atomic_fetch_add(&dest->users, 1);
}

static inline void ether_dest_put(struct ether_dest *dest)
{
	atomic_fetch_sub(&dest->users, 1);
}

#endif
