/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The congestion window of a connection whose packets may get lost: how many may be under way. It doubles
 * per round trip up to the slow-start threshold, grows by one per round trip from there on, and
 * halves when packets are lost or congestion is notified.
 */
#ifndef HCA_CWND_H
#define HCA_CWND_H

#include "hca/transport/qp_types.h"

static inline void cwnd_start(struct completer *c)
{
	c->cwnd = QP_CWND_FIRST;
	c->ssthresh = QP_CWND_MOST;
	c->cwnd_acked = 0;
}

static inline void cwnd_reduce(struct completer *c)
{
	c->cwnd = c->cwnd / 2 > QP_CWND_LEAST ? c->cwnd / 2 : QP_CWND_LEAST;
	c->ssthresh = c->cwnd;
	c->cwnd_acked = 0;
}

/* The other end has acknowledged so many packets. */
static inline void cwnd_grow(struct completer *c, uint32_t packets)
{
	if (c->cwnd >= QP_CWND_MOST)
		return;
	c->cwnd_acked += packets;
	if (c->cwnd < c->ssthresh || c->cwnd_acked >= c->cwnd) {
		c->cwnd++;
		c->cwnd_acked = 0;
	}
}

#endif
