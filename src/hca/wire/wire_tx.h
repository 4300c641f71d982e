/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending over the wire: packets of queue pairs are collected per port, and flushed. */
#ifndef HCA_WIRE_TX_H
#define HCA_WIRE_TX_H

#include <stdbool.h>
#include <stdint.h>

struct hca_list;
struct qp;
struct roce_pkt;
struct wire_port;

#define WIRE_TX_RETRY_NS 100000u /* after the socket was found full */

/* As struct carrier's send(); the packet leaves with the next flush. The QP's lock is held. */
int wire_tx_send(struct qp *qp, struct roce_pkt *pkt, const struct hca_list *list, uint64_t off);
void wire_tx_flush(struct qp *qp);
void wire_tx_flush_port(struct wire_port *port);
/* Service thread: flushes, and runs the QPs that found the socket full. True: try again soon. */
bool wire_tx_retry(struct wire_port *port);
/* The QP does not wait for room any more. */
void wire_tx_unblock(struct wire_port *port, struct qp *qp);

#endif
