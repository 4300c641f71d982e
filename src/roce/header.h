/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Headers of an InfiniBand packet as bytes on the wire (IBTA vol 1 r1.4, 9.2 and 9.3). All numbers are
 * big-endian. Byte offsets in each header:
 *
 *	BTH        0 opcode  1 SE|M|pad:2|TVer:4  2-3 P_Key  4 FECN|BECN|0:6  5-7 destination QP
 *	           8 A|0:7   9-11 PSN
 *	DETH       0-3 Q_Key  4 0  5-7 source QP
 *	XRCETH     0 0  1-3 XRC SRQ
 *	FETH       0-2 0  3 0:2|selectivity:2|placement:4
 *	RETH       0-7 address  8-11 R_Key  12-15 length
 *	AtomicETH  0-7 address  8-11 R_Key  12-19 swap or add  20-27 compare
 *	AETH       0 syndrome  1-3 MSN
 *	AtomicAck  0-7 original value
 *	ImmDt      0-3
 *	IETH       0-3 R_Key
 *	DCETH      0-7 access key  8 0  9-11 source QP  12-15 session  16 0  17-19 first PSN of the session
 *
 * DCETH is private to Verbena: the DC headers of real adapters are not published.
 */
#ifndef ROCE_HEADER_H
#define ROCE_HEADER_H

#define ROCE_PKEY_DEFAULT 0xffff

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
	ROCE_HDR_DCETH = 1 << 8, /* directly after the BTH */
	ROCE_HDR_FETH = 1 << 9,  /* before the RETH */
};

enum roce_header_bytes {
	ROCE_BTH_BYTES = 12,
	ROCE_DETH_BYTES = 8,
	ROCE_XRCETH_BYTES = 4,
	ROCE_FETH_BYTES = 4,
	ROCE_RETH_BYTES = 16,
	ROCE_ATOMICETH_BYTES = 28,
	ROCE_AETH_BYTES = 4,
	ROCE_ATOMICACKETH_BYTES = 8,
	ROCE_IMMDT_BYTES = 4,
	ROCE_IETH_BYTES = 4,
	ROCE_DCETH_BYTES = 20,
	ROCE_ICRC_BYTES = 4,
	ROCE_CNP_BYTES = 16, /* reserved bytes after the BTH (Annex A17) */
	/* BTH, DCETH and AtomicETH are the most that precede a payload. */
	ROCE_MAX_HEADER = ROCE_BTH_BYTES + ROCE_DCETH_BYTES + ROCE_ATOMICETH_BYTES,
};

enum roce_bth_bits {
	ROCE_BTH_SE = 0x80,     /* byte 1: solicited event */
	ROCE_BTH_MIGREQ = 0x40, /* byte 1 */
	ROCE_BTH_PAD_SHIFT = 4, /* byte 1 */
	ROCE_BTH_TVER = 0x0f,   /* byte 1: transport version, 0 */
	ROCE_BTH_FECN = 0x80,   /* byte 4 */
	ROCE_BTH_BECN = 0x40,   /* byte 4 */
	ROCE_BTH_ACKREQ = 0x80, /* byte 8 */
};

#define ROCE_MAX_PAYLOAD 4096u
/* BTH through ICRC. */
#define ROCE_MAX_PACKET (ROCE_MAX_HEADER + ROCE_MAX_PAYLOAD + ROCE_ICRC_BYTES)
#define ROCE_MIN_PACKET (ROCE_BTH_BYTES + ROCE_ICRC_BYTES)

#endif
