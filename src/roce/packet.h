/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet between queue pairs, in host order. The fabric (shared memory between processes of a host)
 * copies it as it is, with the payload after it; encode.h makes bytes of it for the wire. Opcodes are those
 * of IBTA vol 1 r1.4, 9.2.1: the transport in the upper three bits.
 *
 * On the fabric a packet may carry a whole message, and its payload may be given by reference:
 * ROCE_PKT_BY_REF with `refs` elements of struct roce_ref, which name memory of the sender that the
 * receiver reads itself.
 */
#ifndef ROCE_PACKET_H
#define ROCE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum roce_transport {
	ROCE_TR_RC = 0x00,
	ROCE_TR_UC = 0x20,
	ROCE_TR_UD = 0x60,
	ROCE_TR_XRC = 0xa0,
	ROCE_TR_DC = 0xe0, /* private: one of the manufacturer-specific values */
};

enum roce_opcode {
	ROCE_PKT_SEND_FIRST = 0x00,
	ROCE_PKT_SEND_MIDDLE = 0x01,
	ROCE_PKT_SEND_LAST = 0x02,
	ROCE_PKT_SEND_LAST_IMM = 0x03,
	ROCE_PKT_SEND_ONLY = 0x04,
	ROCE_PKT_SEND_ONLY_IMM = 0x05,
	ROCE_PKT_WRITE_FIRST = 0x06,
	ROCE_PKT_WRITE_MIDDLE = 0x07,
	ROCE_PKT_WRITE_LAST = 0x08,
	ROCE_PKT_WRITE_LAST_IMM = 0x09,
	ROCE_PKT_WRITE_ONLY = 0x0a,
	ROCE_PKT_WRITE_ONLY_IMM = 0x0b,
	ROCE_PKT_READ_REQUEST = 0x0c,
	ROCE_PKT_READ_RESP_FIRST = 0x0d,
	ROCE_PKT_READ_RESP_MIDDLE = 0x0e,
	ROCE_PKT_READ_RESP_LAST = 0x0f,
	ROCE_PKT_READ_RESP_ONLY = 0x10,
	ROCE_PKT_ACK = 0x11,
	ROCE_PKT_ATOMIC_ACK = 0x12,
	ROCE_PKT_CMP_SWAP = 0x13,
	ROCE_PKT_FETCH_ADD = 0x14,
	/*
	 * Masked atomics, private: the code is reserved. The RETH's length is that of the
	 * operands, 4 or 8. The payload is numbers of 8 bytes in network order: swap, compare and
	 * their masks, or what to add and the uppermost bits of the fields.
	 */
	ROCE_PKT_MASKED_ATOMIC = 0x15,
	ROCE_PKT_SEND_LAST_INV = 0x16,
	ROCE_PKT_SEND_ONLY_INV = 0x17,
	/* Annex A19, memory placement extensions */
	ROCE_PKT_FLUSH = 0x1c,
	ROCE_PKT_ATOMIC_WRITE = 0x1d,
	/* Codes of the fabric alone, which no transport has (DC's are 0xe0 on). */
	/* the sender uses the connection through shared memory, without packets */
	ROCE_PKT_HELLO = 0xff,
	/* a packet from the wire that another process of the host received (forward.c) */
	ROCE_PKT_FORWARD = 0xfe,
	/* a DC initiator connects to this target; va is the key, rkey the session */
	ROCE_PKT_DC_BEGIN = 0xf8,
	/* a raw frame, to the port `dqpn` of the receiving process */
	ROCE_PKT_ETHER = 0xf9,
	/* calls between processes, and their replies (hca/peers/rpc.c) */
	ROCE_PKT_RPC_CALL = 0xfb,
	ROCE_PKT_RPC_REPLY = 0xfa,
	ROCE_PKT_OPCODE_MASK = 0x1f,
	ROCE_PKT_TRANSPORT_MASK = 0xe0,
};

enum roce_pkt_flags {
	ROCE_PKT_SOLICITED = 1 << 0,
	ROCE_PKT_ACK_REQ = 1 << 1,
	ROCE_PKT_BY_REF = 1 << 2,
	ROCE_PKT_GRH = 1 << 3,   /* datagrams: the payload starts with 40 bytes of GRH */
	ROCE_PKT_MCAST = 1 << 4, /* datagrams: to a multicast group */
	ROCE_PKT_MIGREQ = 1 << 5,
	ROCE_PKT_FECN = 1 << 6,
	ROCE_PKT_BECN = 1 << 7,
	/* fabric only: a forwarded XRC request; numbering starts with it (hca/transport/xrc.c) */
	ROCE_PKT_XRC_TURN = ROCE_PKT_MIGREQ,
	/* fabric only: the sender does not wait for the ACK, which may be sent with a reply */
	ROCE_PKT_ACK_DELAYABLE = ROCE_PKT_FECN,
};

/* AETH syndromes (IBTA vol 1 r1.4, 9.3.5): the upper three bits are the kind. */
enum roce_syndrome {
	ROCE_SYN_ACK = 0x1f, /* credit count invalid: no limit */
	ROCE_SYN_RNR = 0x20, /* | timer */
	ROCE_SYN_NAK_SEQ = 0x60,
	ROCE_SYN_NAK_INVALID = 0x61,
	ROCE_SYN_NAK_ACCESS = 0x62,
	ROCE_SYN_NAK_OP = 0x63,
	ROCE_SYN_NAK_REF = 0x7f, /* fabric only: the receiver cannot read the references */
	ROCE_SYN_KIND = 0xe0,
};

/* FETH: placement types in bits 3:0, selectivity in bits 5:4; the rest is reserved (Annex A19). */
enum roce_feth {
	ROCE_FETH_GLOBAL = 1 << 0,     /* visible to every processor and adapter */
	ROCE_FETH_PERSISTENT = 1 << 1, /* kept when power fails */
	ROCE_FETH_TYPES = 0xf,
	ROCE_FETH_LEVEL_SHIFT = 4,
	ROCE_FETH_LEVEL_MASK = 3 << 4, /* 0: the range of the RETH, 1: the region of its key */
	ROCE_FETH_REGION = 1 << 4,
};

struct roce_pkt {
	uint8_t op;
	uint8_t flags;
	uint16_t refs;
	uint32_t dqpn;
	uint32_t psn;
	uint32_t sqpn;
	uint32_t len; /* payload without GRH */
	uint32_t imm; /* immediate data in network order, or the key to invalidate */
	union {
		struct {
			uint64_t va;
			uint32_t rkey;
			uint32_t dma_len;
			uint32_t xrcd; /* fabric only: of a forwarded XRC request */
			uint32_t feth; /* FLUSH: enum roce_feth */
			uint32_t pad;
			uint32_t srqn;
		} rdma;
		struct {
			uint64_t va;
			uint64_t swap;
			uint64_t compare;
			uint32_t rkey;
			uint32_t srqn;
		} atomic;
		struct {
			uint64_t orig; /* value before an atomic operation */
			uint32_t syndrome;
			uint32_t msn;
		} ack;
		struct {
			uint32_t qkey;
			uint16_t slid;
			uint16_t dlid;
			uint8_t sl;
			uint8_t path_bits;
			uint8_t roce_kind;
			uint8_t port;
			uint8_t smac[6];
		} ud;
	};
	/* wire only: DCETH, the session of a DC initiator's request */
	struct {
		uint64_t key;
		uint32_t session;
		uint32_t first_psn;
	} dc;
};

/* Bytes of it that the fabric copies: all but `dc`. */
#define ROCE_PKT_RECORD 56u

_Static_assert(offsetof(struct roce_pkt, dc) == ROCE_PKT_RECORD,
	       "a record's header fits its first cache line");

/* Bytes of the payload of a masked atomic, which tell the two operations apart. */
enum { ROCE_MASKED_ADD_BYTES = 16, ROCE_MASKED_SWAP_BYTES = 32 };

struct roce_ref {
	uint64_t addr; /* in the key's address space */
	uint32_t len;
	uint32_t key;
};

/* PSNs count modulo 2^24. */
#define PSN_MASK 0xffffffu

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

/* a - b as a signed 24-bit number. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

#endif
