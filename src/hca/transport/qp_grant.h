/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What peers may do through a queue pair directly (struct hca_qp_grant), and the wait for accesses that began before
 * it was taken back.
 */
#ifndef HCA_QP_GRANT_H
#define HCA_QP_GRANT_H

#include <stdbool.h>

#include "hca/transport/qp_types.h"

/* Whose accesses may be under way. */
struct qp_grant_users {
	bool any;
	fabric_id_t only; /* FABRIC_ID_NONE: every process */
};

/* Publishes it, after a change of state or rights. Lock held, inside an epoch section. */
void qp_grant_update(struct qp *qp);
/* After it was closed, or has fewer rights. Lock held. */
void qp_grant_take_users(struct qp *qp, struct qp_grant_users *out);
/*
 * Returns when none of their accesses changes memory, or reads what is written to it from here on. No lock, outside of
 * sections. A process that is stopped inside an access is not waited for: memory of this one becomes private.
 */
void qp_grant_await_users(const struct qp_grant_users *users);

#endif
