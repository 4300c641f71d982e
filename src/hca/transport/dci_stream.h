/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_DCI_STREAM_H
#define HCA_DCI_STREAM_H

#include "hca/transport/hca_qp.h"

/* A stream of a DC initiator that failed may go on. -EINVAL when it has not failed. */
VB_API int hca_dci_reset_stream(struct hca_qp *qp, uint16_t stream);

#endif
