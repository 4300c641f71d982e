/* SPDX-License-Identifier: BSD-2-Clause */
/* Around taking in on the service thread; hca_service_turn in qp.h says what for. */
#ifndef HCA_TURN_H
#define HCA_TURN_H

void turn_begin(void);
void turn_end(void);

#endif
