/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The congestion window of a requester whose packets may get lost: how many may be under way. It doubles
 * per round trip up to the slow-start threshold, grows by one per round trip from there on, and
 * halves when packets are lost or congestion is notified.
 */
#ifndef HCA_CWND_H
#define HCA_CWND_H

#include "hca/transport/qp_types.h"

static inline void cwnd_start(struct requester *r)
{
	r->cwnd = QP_CWND_FIRST;
	r->ssthresh = QP_CWND_MOST;
	r->cwnd_acked = 0;
}

static inline void cwnd_reduce(struct requester *r)
{
	r->cwnd = r->cwnd / 2 > QP_CWND_LEAST ? r->cwnd / 2 : QP_CWND_LEAST;
	r->ssthresh = r->cwnd;
	r->cwnd_acked = 0;
}

/* The other end has acknowledged so many packets. */
static inline void cwnd_grow(struct requester *r, uint32_t packets)
{
	if (r->cwnd >= QP_CWND_MOST)
		return;
	r->cwnd_acked += packets;
	if (r->cwnd < r->ssthresh || r->cwnd_acked >= r->cwnd) {
		r->cwnd++;
		r->cwnd_acked = 0;
	}
}

#endif
