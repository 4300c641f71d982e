/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs that a carrier had no room for: a list per link or port, whose lock the caller holds. A QP is on
 * at most one. tx_wait_run() takes a whole list, and runs its QPs.
 */
#ifndef HCA_BLOCKED_LIST_H
#define HCA_BLOCKED_LIST_H

#include "hca/transport/qp_types.h"

/* The QP's lock is held, too. */
static inline void blocked_list_add(struct qp **list, struct qp *qp)
{
	if (qp->blocked)
		return;
	qp->blocked = true;
	qp->blocked_next = *list;
	*list = qp;
}

/* Of a QP that is being destroyed. */
static inline void blocked_list_remove(struct qp **list, const struct qp *qp)
{
	for (; *list; list = &(*list)->blocked_next)
		if (*list == qp) {
			*list = qp->blocked_next;
			return;
		}
}

#endif
