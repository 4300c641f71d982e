/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs by number; see qp_table.c. */
#ifndef HCA_QP_TABLE_H
#define HCA_QP_TABLE_H

#include "hca/device/table.h"
#include "hca/hca.h"
#include "hca/transport/qp_types.h"

/* The QP with this number, or NULL. Inside an epoch section. */
static inline struct qp *qp_find(uint32_t qpn)
{
	return hca_table_find(&hca.transport.qps.table, qpn);
}

/*
 * Calls `fn` for every QP, without a lock, inside an epoch section. A QP that is being destroyed may be
 * among them (`dying`); one that is created meanwhile may not.
 */
void qp_for_each(void (*fn)(struct qp *qp, void *arg), void *arg);
/* Gives the QP a number, by which it is found from then on. */
int qp_enlist(struct qp *qp);
/* The QP is not found any more; its number is kept until hca_qpn_release(). */
void qp_unlist(struct qp *qp);
/*
 * In and out of the list of all, for QPs that have no number of their own. No QP lock held. As after
 * qp_unlist(), the QP is freed after a grace period.
 */
void qp_link(struct qp *qp);
void qp_unlink(struct qp *qp);

#endif
