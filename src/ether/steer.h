/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where frames, rules and queues meet.
 *
 * A frame arrives at a port (from the switch or an interface) in ether_steer(). The flow engine
 * finds the rules that match and calls deliver() of their destinations. Destinations are the
 * adapter's (src/hca): the receive queue of a raw packet QP, or a hash over an indirection table.
 *
 * Threads: frames come in batches. Whoever brings a batch is inside a guard (hca/guard.h) and holds
 * the one receive lock of the process for all of it, so neither the engine nor a destination locks
 * anything per frame. Rules change under the engine's own lock at any time; whoever takes a rule
 * out waits for the guards (hca_guard_wait()) before the rule's memory and its hold on the
 * destination go.
 */
#ifndef ETHER_STEER_H
#define ETHER_STEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ether/parse.h"
#include "util/api.h"

#define ETHER_FRAME_MAX 16384u /* with headers, without FCS */
#define ETHER_ADAPTERS  32u
#define ETHER_PORTS     4u
#define ETHER_TAG_NONE  0u /* what a completion reports when no rule has set a tag */

/* Of the frame's outermost IP and TCP or UDP, or of the innermost where the adapter looks there. */
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

/* A frame on its way. The bytes are not the receiver's: who changes them makes a copy first. */
struct ether_frame {
	const uint8_t *data;
	uint32_t len;
	bool parsed_valid; /* see ether_frame_parse() */
	uint8_t check;     /* enum ether_check */
	bool has_vlan;     /* a tag was taken out; it was this: */
	uint16_t vlan_tci;
	uint32_t tag;        /* set by a flow rule, 24 bits; or ETHER_TAG_NONE */
	uint32_t rss_hash;   /* 0 when nothing was hashed */
	uint32_t rss_fields; /* enum ether_rss */
	/* Where it comes from. */
	uint32_t src_process; /* number of the sending process; 0: an interface */
	uint32_t src_domain; /* its context there; loopback to the same one is blocked by default */
	uint32_t src_qpn;
	bool wire_only; /* it leaves by its port, and does not come back there */
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
 * A sink for frames, embedded in what receives. deliver() copies what it needs; the frame and its
 * bytes are the caller's again when it returns, unchanged but for parsed, check and rss_*.
 */
struct ether_dest {
	void (*deliver)(struct ether_dest *dest, struct ether_frame *frame);
	atomic_uint
		users; /* rules and other holders: its owner is busy (EBUSY) while there are any */
};

static inline void ether_dest_get(struct ether_dest *dest)
{
	atomic_fetch_add(&dest->users, 1);
}

static inline void ether_dest_put(struct ether_dest *dest)
{
	atomic_fetch_sub(&dest->users, 1);
}

/* What a port asks the switch for. Shared with peers, who read it without a lock. */
#define ETHER_WISH_TAKEN 8u

struct ether_wish {
	_Atomic uint64_t macs;  /* bit ether_mac_bit() of each address asked for */
	_Atomic uint32_t flags; /* ETHER_WISH_* */
	/* Addresses all frames to which are taken here, by ether_mac_number(); 0: none. Should there
	 * be more of them, those who take what is left get more than they should. */
	_Atomic uint64_t taken[ETHER_WISH_TAKEN];
};

#define ETHER_WISH_ALL       1u /* every frame */
#define ETHER_WISH_MULTICAST 2u /* every multicast; broadcast included */
#define ETHER_WISH_LEFT      4u /* every frame that nobody is there for */

/* An adapter's port in this process. Constant storage: a port never goes. */
struct ether_port {
	unsigned int adapter; /* index in the list of adapters */
	unsigned int number;  /* from 1 */
	void *engine;         /* the flow engine's, behind its own lock */
	struct ether_wish *wish;
	unsigned int mac_count[64], all_count, multicast_count, left_count;
	unsigned int taken_count[ETHER_WISH_TAKEN]; /* rules for the address at the same place */
	uint64_t taken[ETHER_WISH_TAKEN];
};

enum ether_wanted {
	ETHER_WANTED,       /* frames that may be for others as well */
	ETHER_WANTED_TAKEN, /* all frames to the address, if it is a whole one */
	ETHER_WANTED_LEFT,  /* frames to addresses that nobody takes */
};

/* NULL when either number is out of range. */
VB_API struct ether_port *ether_port(unsigned int adapter, unsigned int number);

/*
 * A rule that wants frames to `mac` under `mask` comes (1) or goes (-1). A whole address is asked
 * for by itself, anything with just the group bit as all multicasts, anything else as everything.
 * Both the engine's own lock and none will do: it has one inside.
 */
VB_API void ether_port_want(struct ether_port *port, const uint8_t mac[6], const uint8_t mask[6],
			    enum ether_wanted kind, int delta);

/* The wishes lie here from now on, where peers see them; NULL: nowhere. */
void ether_port_place(struct ether_port *port, struct ether_wish *wish);

static inline unsigned int ether_mac_bit(const uint8_t mac[6])
{
	uint32_t h = ((uint32_t)mac[2] << 24 | mac[3] << 16 | mac[4] << 8 | mac[5]) ^
		     ((uint32_t)mac[0] << 8 | mac[1]);

	return (h * 0x9e3779b1u) >> 26;
}

static inline uint64_t ether_mac_number(const uint8_t mac[6])
{
	uint64_t number = 1; /* never 0 */

	for (int i = 0; i < 6; i++)
		number = number << 8 | mac[i];
	return number;
}

enum ether_wants {
	ETHER_WANTS_NOT,
	ETHER_WANTS_LEFT, /* unless somebody takes it: ether_wish_takes() */
	ETHER_WANTS,
};

/* Does the port want frames to this address? At times yes where no is right, never the reverse. */
static inline enum ether_wants ether_wish_wants(const struct ether_wish *wish, const uint8_t mac[6])
{
	uint32_t flags = atomic_load_explicit(&wish->flags, memory_order_relaxed);
	uint64_t macs = atomic_load_explicit(&wish->macs, memory_order_relaxed);

	if (flags & ETHER_WISH_ALL || (flags & ETHER_WISH_MULTICAST && mac[0] & 1) ||
	    macs >> ether_mac_bit(mac) & 1)
		return ETHER_WANTS;
	if (flags & ETHER_WISH_LEFT)
		return mac[0] & 1 ? ETHER_WANTS : ETHER_WANTS_LEFT;
	return ETHER_WANTS_NOT;
}

static inline bool ether_wish_takes(const struct ether_wish *wish, const uint8_t mac[6])
{
	for (unsigned int i = 0; i < ETHER_WISH_TAKEN; i++)
		if (atomic_load_explicit(&wish->taken[i], memory_order_relaxed) ==
		    ether_mac_number(mac))
			return true;
	return false;
}

/* In a forked child: rules and wishes are the parent's. */
void ether_port_forked(void);

/* ---- the flow engine (flow*.c) ---- */

/* Matches and delivers a frame that arrived. No rule: it is dropped. */
void ether_steer(struct ether_port *port, struct ether_frame *frame);

/*
 * The same for a row of frames, which together cost less: a rule is on its way from memory while
 * others are looked for. stop(), if given, is asked before each. Returns how many are done with.
 */
unsigned int ether_steer_many(struct ether_port *port, struct ether_frame *frames,
			      unsigned int count, bool (*stop)(void));

/*
 * Rules for what leaves: false when the frame is dropped. It may be replaced by a changed one,
 * whose bytes stay valid until the thread's next call.
 */
bool ether_steer_out(struct ether_port *port, struct ether_frame *frame);

/* ---- the switch, called by the engine to send a frame out of a port (src/hca/ether.c) ---- */
extern void (*ether_transmit)(struct ether_port *port, struct ether_frame *frame);

#endif
