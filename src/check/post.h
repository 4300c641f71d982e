/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_post_send(), ibv_post_recv() and ibv_post_srq_recv() of a program that is checked.
 */
#ifndef CHECK_POST_H
#define CHECK_POST_H

#include "check/queue.h"

int check_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int check_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int check_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* Counts the newest request of the ring. */
void check_post_count(struct check_ring *ring, struct check_cq *cq);
/* The post failed: takes back the newest requests, down to `head`. */
void check_post_undo(struct check_ring *ring, struct check_cq *cq, uint32_t head);
/* After a post, without locks: tells of a CQ that may overrun. */
void check_post_cq(struct check_cq *cq, const struct check_place *place);
/* So much inline data is about to be posted. */
void check_post_inline(const struct check_qp *q, uint64_t length, const struct check_place *place);
void check_post_full(const struct check_qp *q, const struct check_place *place);

#endif
