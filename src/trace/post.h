/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting: takes the place of the driver's functions in the tables of contexts and of extended queue pairs. */
#ifndef TRACE_POST_H
#define TRACE_POST_H

#include "verbs/objects.h"

int trace_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int trace_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int trace_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
void trace_post_wrap(struct vb_qp *qp);

#endif
