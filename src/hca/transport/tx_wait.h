/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs that wait for a link; see tx_wait.c. */
#ifndef HCA_WAITING_H
#define HCA_WAITING_H

#include "hca/peers/peer.h"

/* For threads that poll: runs QPs if the link that was found full last has room. */
void tx_wait_poll(fabric_id_t id);

/* Lets every QP that waits for a link try again. */
void tx_wait_wake_all(void);
/* Every QP that found the peer's link full tries again. */
void tx_wait_room(struct hca_peer *peer);
/* Runs a list of QPs that found no room; the caller has unlinked it. Inside an epoch section. */
void tx_wait_run(struct qp *qp);
/* The QP is being destroyed: removes it from every list. */
void tx_wait_forget_qp(struct qp *qp);

extern const struct peer_listener tx_wait_peer_listener;

#endif
