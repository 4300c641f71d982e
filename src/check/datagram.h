/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams that an adapter drops without a word to anybody. As the functions of hca/device/checker.h.
 */
#ifndef CHECK_DATAGRAM_H
#define CHECK_DATAGRAM_H

#include "check/queue.h"

void check_datagram_too_long(const struct check_qp *q, uint32_t bytes);
void check_datagram_qkey(const struct check_qp *q, uint32_t got, uint32_t want);

#endif
