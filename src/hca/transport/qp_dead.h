/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs whose adapter was removed. */
#ifndef HCA_QP_DEAD_H
#define HCA_QP_DEAD_H

/* Moves every queue pair of a dead context to ERR, with its requests flushed. No QP lock held. */
void qp_dead_fail(void);

#endif
