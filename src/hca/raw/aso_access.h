/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of send queues that read and change ASO objects (ether/aso.h). */
#ifndef HCA_ASO_ACCESS_H
#define HCA_ASO_ACCESS_H

#include "hca/device/work.h"

struct qp;

/* HCA_SUCCESS, or why not. The QP's lock is held, inside an epoch section. */
enum hca_status aso_access_run(struct qp *qp, const struct hca_send *s);

#endif
