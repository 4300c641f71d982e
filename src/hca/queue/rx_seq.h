/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive sequence of the service thread: odd while it takes in what peers have sent. Completions
 * may be visible already whose messages are acknowledged only at the end of it. A thread that hands
 * a completion to the program waits for that end, holding no lock, since the program may exit as
 * soon as it has the completion.
 */
#ifndef HCA_RX_SEQ_H
#define HCA_RX_SEQ_H

#include <stdatomic.h>
#include <stdint.h>

#include "hca/hca.h"
#include "util/api.h"

/* Waits for the end of the sequence that is in progress; a second at most. */
VB_API void hca_rx_settle(void);

static inline bool hca_rx_in_progress(void)
{
	return atomic_load_explicit(&hca.queue.rx_seq, memory_order_relaxed) & 1;
}

/* Around taking in; service thread only, which alone writes the word. */
void rx_seq_begin(void);
void rx_seq_end(void);

#endif
