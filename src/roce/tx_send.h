/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROCE_TX_SEND_H
#define ROCE_TX_SEND_H

struct roce_tx;

/* Sends all runs of a batch, from tx->head on. 0, or -EAGAIN when the socket is full. */
int roce_tx_send(struct roce_tx *tx);

#endif
