/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A batch is one buffer that fills up with packets, and a list of runs: neighbours that leave as
 * one UDP_SEGMENT send. All packets of a run have one length, except that the last may be shorter.
 * The kernel numbers the segments of a send, so a packet's place in its run decides its IPv4 id and with
 * that its ICRC; the first one has 0.
 *
 * tx.c fills batches, tx_send.c sends them.
 */
#ifndef ROCE_TX_PRIV_H
#define ROCE_TX_PRIV_H

#include <endian.h>
#include <string.h>

#include "roce/hold.h"
#include "roce/tx.h"
#include "roce/udp_priv.h"

enum {
	ROCE_TX_BYTES = 128 << 10,
	ROCE_TX_RUNS = 64,
};

struct roce_run {
	_Alignas(64) struct roce_route route;
	uint32_t block;
	uint32_t offset;
	uint16_t segment; /* length of all packets but the last */
	/* These begin at 0. */
	uint32_t bytes;
	uint16_t count;
	uint16_t sent; /* by single sends */
	bool single;   /* it was refused as a whole */
	bool refused;  /* for being segments */
};

_Static_assert(sizeof(struct roce_run) == 64, "a cache line");

struct roce_tx {
	struct roce_endpoint *ep;
	struct roce_run *head; /* the first that has not left */
	struct roce_run *end;
	uint32_t used;
	struct roce_hold hold;
	struct roce_run run[ROCE_TX_RUNS];
	uint8_t buf[ROCE_TX_BYTES] __attribute__((aligned(64)));
};

static inline bool roce_tx_is_tuner(const struct roce_tx *tx)
{
	return atomic_load_explicit(&tx->ep->tuner, memory_order_relaxed) == tx;
}

static inline void roce_put_icrc(uint8_t *to, uint32_t icrc)
{
	icrc = htole32(icrc);
	memcpy(to, &icrc, sizeof(icrc));
}

/* An ICRC made for one IPv4 id, changed for another; right or spoilt, it stays so. */
static inline void roce_move_id(uint8_t *packet, size_t len, uint16_t from, uint16_t to)
{
	uint32_t icrc;

	len -= ROCE_ICRC_BYTES;
	memcpy(&icrc, packet + len, sizeof(icrc));
	icrc = le32toh(icrc) ^ roce_icrc_id_term(len, from) ^ roce_icrc_id_term(len, to);
	roce_put_icrc(packet + len, icrc);
}

/* All runs from the head on. 0, or -EAGAIN when the socket took some only. */
int roce_tx_send(struct roce_tx *tx);

#endif
