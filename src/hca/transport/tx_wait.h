/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs that wait for a link; see tx_wait.c. */
#ifndef HCA_WAITING_H
#define HCA_WAITING_H

#include "hca/peers/peer.h"

/* Threads that poll: whether the link that was met full last has room again. */
void tx_wait_poll(fabric_id_t id);

/* Lets every QP that waits for a link try again. */
void tx_wait_wake_all(void);
/* Everybody who found the peer's link full tries again. */
void tx_wait_room(struct hca_peer *peer);
/* Runs a list of QPs that found no room, taken out of wherever it was kept. Inside an epoch section. */
void tx_wait_run(struct qp *qp);
/* A QP goes: out of every list of waiting ones. */
void tx_wait_forget_qp(struct qp *qp);

extern const struct peer_listener tx_wait_peer_listener;

#endif
