/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Delayed acknowledgements on the wire. An acknowledgement waits for the program's reply, to leave
 * with it, where the program has replied to several requests in a row. It does not wait for long.
 */
#ifndef HCA_WIRE_ACKS_H
#define HCA_WIRE_ACKS_H

#include <stdbool.h>
#include <stdint.h>

struct qp;
struct wire_port;

/* A request of the QP was sent: its pending acknowledgement follows at once. The QP's lock is held. */
void wire_acks_request_sent(struct qp *qp);

/* Removes acknowledgements that have been sent with a reply. Returns how many are left. rx_lock held. */
unsigned int wire_acks_prune(struct wire_port *port);
/*
 * After packets were received, or none were: sends acknowledgements that are not to wait. `before`:
 * how many waited before. rx_lock held, inside an epoch section; the caller flushes the port.
 */
void wire_acks_after_poll(struct wire_port *port, unsigned int before, bool received,
			  uint32_t empty_polls);
/* The QP ends. */
void wire_acks_forget(struct wire_port *port, struct qp *qp);

/* Service thread: sends overdue acknowledgements while no thread polls. Returns the next deadline. */
uint64_t wire_acks_timers(struct wire_port *port, uint64_t now_ns);
/* Sends delayed acknowledgements while threads poll; called every period_ns. */
void wire_acks_check(struct wire_port *port, uint64_t now_ns, uint64_t period_ns);
/* The program is about to sleep: all leave now. */
void wire_acks_flush_all(void);
/* The process exits without destructors, maybe in a signal handler. */
void wire_acks_process_exits(void);

#endif
