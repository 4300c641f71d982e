/* SPDX-License-Identifier: BSD-2-Clause */
/* Send queues whose programs post without a call, as the doorbell watch sees them. */
#ifndef HCA_QP_WATCH_H
#define HCA_QP_WATCH_H

#include "hca/transport/hca_qp.h"

/* Requests that the program writes into the ring are found from now on. -ENOMEM. */
VB_API int hca_doorbell_watch_qp(struct hca_qp *qp);

#endif
