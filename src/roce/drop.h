/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a received datagram is not delivered. Endpoints count by reason. */
#ifndef ROCE_DROP_H
#define ROCE_DROP_H

enum roce_drop {
	ROCE_OK,
	ROCE_DROP_SHORT,   /* shorter than BTH and ICRC */
	ROCE_DROP_LENGTH,  /* not a multiple of four, or longer than ROCE_MAX_PACKET */
	ROCE_DROP_VERSION, /* transport version is not 0 */
	ROCE_DROP_OPCODE,  /* unknown opcode */
	ROCE_DROP_HEADER,  /* ends inside its extension headers */
	ROCE_DROP_PAD,     /* pad count is larger than what follows the headers */
	ROCE_DROP_PAYLOAD, /* payload length that the opcode does not allow */
	ROCE_DROP_ICRC,
	ROCE_DROP_TRUNCATED, /* the datagram was longer than the receive buffer */
	/* A reuseport probe of this or another process, or an empty datagram: no error. */
	ROCE_DROP_PROBE,
	ROCE_DROP_FAULT, /* dropped by fault injection */
	ROCE_DROP_COUNT,
};

const char *roce_drop_name(enum roce_drop why);

#endif
