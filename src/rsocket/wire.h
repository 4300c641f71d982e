/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of stream rsockets, in rdma-core's format: 32-bit messages in immediate data, and the two
 * tables that peers write into each other's memory (target SGL and iomap).
 *
 * A message is sent with every RDMA write, or with a write of no bytes. Its upper 3 bits are the kind,
 * the lower 29 the value. The tables are in the byte order of the host that holds them; the
 * connection data says which that is.
 */
#ifndef RSOCKET_WIRE_H
#define RSOCKET_WIRE_H

#include <stdint.h>

enum rs_msg_kind {
	RS_MSG_DATA = 0,   /* so many bytes of the stream have been written */
	RS_MSG_WRITE = 2,  /* never sent: marks the sender's own completions of riowrite() */
	RS_MSG_CREDIT = 4, /* last sequence number that may be sent; an SGE may be new */
	RS_MSG_IOMAP = 6,  /* this entry of the iomap is new */
	RS_MSG_CTRL = 7,   /* enum rs_ctrl */
};

enum rs_ctrl {
	RS_CTRL_DISCONNECT = 0, /* nothing more is sent or received */
	RS_CTRL_KEEPALIVE = 1,  /* never sent: a keep-alive is a write without a message */
	RS_CTRL_SHUTDOWN = 2,   /* nothing more is sent */
};

#define RS_MSG_VALUE_MAX 0x1fffffffu

static inline uint32_t rs_msg(enum rs_msg_kind kind, uint32_t value)
{
	return (uint32_t)kind << 29 | (value & RS_MSG_VALUE_MAX);
}

static inline enum rs_msg_kind rs_msg_kind(uint32_t msg)
{
	return (enum rs_msg_kind)(msg >> 29);
}

static inline uint32_t rs_msg_value(uint32_t msg)
{
	return msg & RS_MSG_VALUE_MAX;
}

/* Memory of the peer that may be written. */
struct rs_sge {
	uint64_t addr;
	uint32_t key;
	uint32_t length;
};
_Static_assert(sizeof(struct rs_sge) == 16, "wire format");

/* A buffer that the peer has opened to riowrite(). */
struct rs_iomap_entry {
	uint64_t offset;
	struct rs_sge sge;
};
_Static_assert(sizeof(struct rs_iomap_entry) == 24, "wire format");

/* Entries of the target SGL that peers of this implementation fill. */
#define RS_SGL_SIZE 2

/* An entry for a host of the other byte order. */
static inline struct rs_sge rs_sge_swap(struct rs_sge sge)
{
	return (struct rs_sge){ .addr = __builtin_bswap64(sge.addr),
				.key = __builtin_bswap32(sge.key),
				.length = __builtin_bswap32(sge.length) };
}

/*
 * The size of the iomap travels as 8 bits: up to 128 exactly, above that rounded down to a multiple
 * of 256, at most 127 * 256.
 */
static inline uint8_t rs_iomap_size_pack(uint16_t size)
{
	if (size <= 128)
		return size;
	return size < 128 << 8 ? 128 | size >> 8 : 255;
}

static inline uint16_t rs_iomap_size_unpack(uint8_t packed)
{
	return packed <= 128 ? packed : (packed & 127) << 8;
}

#endif
