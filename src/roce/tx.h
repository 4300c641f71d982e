/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending. A batch collects packets and sends them with as few system calls as possible: neighbours of one
 * path and length leave as one UDP_SEGMENT send, and all sends of a batch by one sendmmsg().
 *
 * A packet is copied when it is added, and its ICRC is that of the copy: memory that changes meanwhile (a
 * counter that a peer reads by RDMA) cannot make it wrong, and the memory is free at once. A batch belongs
 * to one thread at a time; several batches may send through one endpoint.
 */
#ifndef ROCE_TX_H
#define ROCE_TX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "roce/packet.h"
#include "roce/path.h"

struct roce_endpoint;
struct roce_tx;

int roce_tx_create(struct roce_endpoint *ep, struct roce_tx **out);
/* Packets that have not left are lost. */
void roce_tx_destroy(struct roce_tx *tx);

/*
 * Adds one packet; pkt->len is the sum of the pieces. A full batch is flushed first. -EAGAIN when the socket
 * is full as well: nothing was added; wait until the endpoint is writable.
 */
int roce_tx_add(struct roce_tx *tx, const struct roce_path *path, const struct roce_pkt *pkt,
		const struct iovec *pieces, size_t count);
/* 0 when all packets have left; -EAGAIN when the socket is full: flush again when it is writable. */
int roce_tx_flush(struct roce_tx *tx);
/* Packets that have been added and have not left. */
uint32_t roce_tx_pending(const struct roce_tx *tx);
/* Discards them. */
void roce_tx_reset(struct roce_tx *tx);

/*
 * When the next packet that fault injection delays is due, in CLOCK_MONOTONIC nanoseconds; UINT64_MAX when
 * there is none. roce_tx_flush() sends those that are due.
 */
uint64_t roce_tx_due(const struct roce_tx *tx);
/* Sends all delayed packets now, because the process ends. */
void roce_tx_send_delayed(struct roce_tx *tx);

#endif
