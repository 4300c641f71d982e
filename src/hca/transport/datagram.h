/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending unreliable datagrams; see datagram.c. Lock held, inside an epoch section. */
#ifndef HCA_DATAGRAM_H
#define HCA_DATAGRAM_H

#include "hca/transport/qp_types.h"
#include "hca/transport/run_result.h"

enum run_result send_datagram(struct qp *qp, struct hca_send *s);

#endif
