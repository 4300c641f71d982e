/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw side of a queue pair: its receive queue or its hash, and the port that it sends from.
 */
#ifndef HCA_RAW_H
#define HCA_RAW_H

#include "hca/transport/qp_priv.h"

/* Makes what the QP receives with. */
int raw_create(struct qp *qp, const struct hca_qp_init *init);
/* -EBUSY while flow rules lead here. */
int raw_check_idle(struct qp *qp);
void raw_fini(struct qp *qp);
/* The QP's state has changed. Lock held, inside an epoch section. */
void raw_enter(struct qp *qp, enum hca_qp_state state);

#endif
