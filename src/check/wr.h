/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_wr_*() of a program that is checked.
 */
#ifndef CHECK_WR_H
#define CHECK_WR_H

#include "check/queue.h"

/* Puts the checker's functions into a QP that was made with send_ops_flags. */
void check_wr_wrap(struct check_qp *q);

#endif
