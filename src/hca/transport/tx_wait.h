/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs that wait for a link; see tx_wait.c. */
#ifndef HCA_WAITING_H
#define HCA_WAITING_H

#include "hca/peers/peer.h"

/* The process whose full link was met last: threads that poll look whether it has room again. */
extern _Atomic fabric_id_t tx_wait_for;
void tx_wait_poll(fabric_id_t id);

/* Lets every QP that waits for a link try again. */
void tx_wait_wake_all(void);
/* Everybody who found the peer's link full tries again. */
void tx_wait_room(struct hca_peer *peer);
/* An upcall of the fabric. */
void tx_wait_link_room(struct fabric_link *link);
/* Runs a list of QPs that found no room, taken out of wherever it was kept. Inside an epoch section. */
void tx_wait_run(struct qp *qp);
/* A QP goes: out of every list of waiting ones. */
void tx_wait_forget_qp(struct qp *qp);

#endif
