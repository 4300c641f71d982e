/* SPDX-License-Identifier: BSD-2-Clause */
/* Comments of captured packets: the queue pair, its state, and the work request. */
#ifndef HCA_PKT_COMMENT_H
#define HCA_PKT_COMMENT_H

#include <stdbool.h>
#include <stddef.h>

struct qp;
struct roce_pkt;

/* The comment on a packet that the queue pair sends (`out`) or receives. The QP's lock is held. */
void pkt_comment_format(const struct qp *qp, const struct roce_pkt *pkt, bool out, char *text,
			size_t size);

/* For struct roce_taps: packets on the wire. `sender`: the QP, whose lock is held, or NULL. */
void pkt_comment_wire(const void *sender, const struct roce_pkt *pkt, bool out, char *text,
		      size_t size);

#endif
