/* SPDX-License-Identifier: BSD-2-Clause */
/* The affinity of a queue pair to one of the links that are bonded (device/lag.h). */
#ifndef HCA_QP_LAG_H
#define HCA_QP_LAG_H

#include "hca/transport/hca_qp.h"

struct qp;

/* The affinity, and the link that carries the packets now; -EOPNOTSUPP without bonded links. */
VB_API int hca_qp_lag_query(struct hca_qp *qp, uint8_t *affinity, uint8_t *active);
/* -EINVAL for a link that does not exist, -EOPNOTSUPP in a state that does not allow it. */
VB_API int hca_qp_lag_set(struct hca_qp *qp, uint8_t affinity);

/* The affinity that the queue pair gets when it leaves RESET; 0: links take turns. */
VB_API void hca_qp_lag_wish(struct hca_qp *qp, uint8_t affinity);

/* A queue pair that has no affinity yet gets one. Lock held. */
void qp_lag_choose(struct qp *qp);

#endif
