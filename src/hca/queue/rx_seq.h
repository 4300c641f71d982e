/* SPDX-License-Identifier: BSD-2-Clause */
/* Around taking in on the service thread; hca_rx_seq in qp.h says what for. */
#ifndef HCA_TURN_H
#define HCA_TURN_H

void rx_seq_begin(void);
void rx_seq_end(void);

#endif
