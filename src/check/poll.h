/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polling of a program that is checked: ibv_poll_cq(), and ibv_start_poll() and its companions.
 */
#ifndef CHECK_POLL_H
#define CHECK_POLL_H

#include "check/queue.h"

int check_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
/* Puts the checker's functions into an extended CQ. */
void check_poll_wrap(struct check_cq *c);

#endif
