/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw packet queue pairs: the receive queue or hash, and the port that frames leave from. */
#ifndef HCA_RAW_H
#define HCA_RAW_H

#include "hca/transport/raw_qp_ops.h"

extern const struct raw_qp_ops raw_qp_ops;

struct ether_dest;

/* Where rules lead frames that are for a raw packet QP; NULL when it receives none. */
VB_API struct ether_dest *hca_qp_dest(struct hca_qp *qp);

#endif
