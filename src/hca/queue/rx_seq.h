/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_RX_SEQ_H
#define HCA_RX_SEQ_H

#include <stdatomic.h>
#include <stdint.h>

#include "util/api.h"

/*
 * The receive sequence of the service thread: odd while it takes in what peers have sent. Completions may be
 * visible already whose messages are acknowledged at the end of it only. A thread that hands a
 * completion to the program waits for that end, holding no lock, since the program may exit as soon as
 * it has the completion.
 */
VB_API extern _Atomic uint32_t hca_rx_seq;
VB_API void hca_poll_settle(void);

/* Around taking in; service thread only, which alone writes the word. */
void rx_seq_begin(void);
void rx_seq_end(void);

#endif
