/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A batch, for tx.c, which fills it, and tx_send.c, which sends it. It is a buffer of packets and a list of
 * runs: a run is a row of neighbours that leave as one UDP_SEGMENT send. All packets of a run have one
 * length; the last may be shorter. The kernel numbers the segments of a send, so the IPv4 id of a packet,
 * which its ICRC covers, is its position in the run.
 */
#ifndef ROCE_TX_TYPES_H
#define ROCE_TX_TYPES_H

#include <endian.h>
#include <string.h>

#include "roce/delay_queue.h"
#include "roce/endpoint_types.h"
#include "roce/header.h"
#include "roce/icrc.h"
#include "roce/path.h"

enum {
	ROCE_TX_BYTES = 128 << 10,
	ROCE_TX_RUNS = 64,
};

struct roce_run {
	_Alignas(64) struct roce_route route;
	uint32_t block;   /* of the destination QPs: ROCE_QPN_BLOCK_BITS */
	uint32_t offset;  /* of the first packet in the buffer */
	uint16_t segment; /* length of all packets but the last */
	uint32_t bytes;
	uint16_t count;
	uint16_t sent; /* packets that have left by single sends */
	bool single;   /* packets leave one by one, with IPv4 id 0 each */
	bool refused;  /* since the kernel refused UDP_SEGMENT */
};

_Static_assert(sizeof(struct roce_run) == 64, "a cache line");

struct roce_tx {
	struct roce_endpoint *ep;
	struct roce_run *head; /* first run that has not left */
	struct roce_run *end;
	uint32_t used; /* bytes of the buffer */
	struct roce_delay_queue delayed;
	struct roce_run run[ROCE_TX_RUNS];
	uint8_t buf[ROCE_TX_BYTES] __attribute__((aligned(64)));
};

static inline bool roce_tx_is_primary(const struct roce_tx *tx)
{
	return atomic_load_explicit(&tx->ep->primary_tx, memory_order_relaxed) == tx;
}

/* Little-endian on the wire. */
static inline void roce_put_icrc(uint8_t *to, uint32_t icrc)
{
	icrc = htole32(icrc);
	memcpy(to, &icrc, sizeof(icrc));
}

/* Changes the ICRC from one IPv4 id to another; a wrong ICRC stays wrong. `len` includes the ICRC. */
static inline void roce_move_id(uint8_t *packet, size_t len, uint16_t from, uint16_t to)
{
	uint32_t icrc;

	len -= ROCE_ICRC_BYTES;
	memcpy(&icrc, packet + len, sizeof(icrc));
	icrc = le32toh(icrc) ^ roce_icrc_id_term(len, from) ^ roce_icrc_id_term(len, to);
	roce_put_icrc(packet + len, icrc);
}

#endif
