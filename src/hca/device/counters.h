/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of counters of errors and requests, which a program attaches to queues. A set lives as long as
 * its creator or a queue holds a reference. Counting takes no lock.
 */
#ifndef HCA_COUNTERS_H
#define HCA_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/api.h"

enum hca_count {
	/* requests of the peer that passed through the responder */
	HCA_COUNT_RX_WRITE,
	HCA_COUNT_RX_READ,
	HCA_COUNT_RX_ATOMIC,
	HCA_COUNT_OUT_OF_BUFFER,   /* no receive was posted */
	HCA_COUNT_OUT_OF_SEQUENCE, /* packets behind a gap */
	HCA_COUNT_DUPLICATE,
	HCA_COUNT_RNR_SENT,
	/* requests of the peer that were refused for good */
	HCA_COUNT_REFUSED_INVALID,
	HCA_COUNT_REFUSED_ACCESS,
	/* NAKs of the peer, and timeouts */
	HCA_COUNT_RNR_NAK,
	HCA_COUNT_SEQ_NAK,
	HCA_COUNT_ACK_TIMEOUT,
	HCA_COUNT_READ_GAP, /* data of a read were missing */
	/* congestion: marked packets, notifications sent and followed */
	HCA_COUNT_ECN_MARKED,
	HCA_COUNT_CNP_SENT,
	HCA_COUNT_CNP_HANDLED,
	/* completions with an error, by its status */
	HCA_COUNT_REQ_STATUS,
	HCA_COUNT_RESP_STATUS = HCA_COUNT_REQ_STATUS + 32,
	HCA_COUNTS = HCA_COUNT_RESP_STATUS + 32,
};

struct hca_counters {
	atomic_uint refs;
	_Atomic uint32_t n[HCA_COUNTS];
};

static inline void hca_count(struct hca_counters *c, unsigned int what)
{
	if (unlikely(c))
		atomic_fetch_add_explicit(&c->n[what], 1, memory_order_relaxed);
}

static inline struct hca_counters *hca_counters_get(struct hca_counters *c)
{
	if (c)
		atomic_fetch_add(&c->refs, 1);
	return c;
}

static inline void hca_counters_put(struct hca_counters *c)
{
	if (c && atomic_fetch_sub(&c->refs, 1) == 1)
		free(c);
}

#endif
