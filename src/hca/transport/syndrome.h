/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_SYNDROME_H
#define HCA_SYNDROME_H

#define HCA_MAX_MESSAGE (1ull << 31)

/* Vendor syndromes as the real adapters give them with their completion status. */
enum {
	SYN_FLUSH = 0xf9,
	SYN_LOCAL_PROT = 0x51,
	SYN_LOCAL_ACCESS = 0x52,
	SYN_LENGTH = 0x32,
	SYN_QP_OP = 0x68,
	SYN_BIND = 0x5d,
	SYN_RETRY = 0x81,
	SYN_RNR = 0x87,
	SYN_REMOTE_ACCESS = 0x88,
	SYN_REMOTE_OP = 0x89,
	SYN_REMOTE_INVALID = 0x8a,
	SYN_BAD_RESPONSE = 0x8b,
	/*
	 * Of the memory-to-memory engine, with its own syndrome in the upper byte. Those of no room
	 * and of a missing last block are the hardware's; broken data has none that is published.
	 */
	SYN_MMO = 0x9d,
	SYN_MMO_NO_SPACE = 0x84 << 8 | SYN_MMO,
	SYN_MMO_TRUNCATED = 0x11 << 8 | SYN_MMO,
	SYN_MMO_CORRUPT = 0x10 << 8 | SYN_MMO,
};

#endif
