/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC between processes: a receive queue pair of one, a shared receive queue of another; xrc.c says
 * how. Called by the responder and by who hands it packets, inside an epoch section.
 */
#ifndef HCA_XRC_H
#define HCA_XRC_H

#include "hca/transport/qp_priv.h"

/* ---- where the queue pair is; its lock held ---- */

/* True when the request was for a queue of another process: nothing else is to be done with it. */
bool xrc_pass(struct qp *qp, struct hca_acks *acks, const struct roce_pkt *pkt,
	      const struct hca_list *payload);
/* What that process answered. */
void xrc_answer(struct qp *qp, const struct hca_peer *from, const struct roce_pkt *pkt,
		const struct hca_list *payload);
/* There is room, or a link: what could not be passed on has to come again. */
void xrc_continue(struct qp *qp);
/* Requests are with another process, and not known to be done. */
static inline bool xrc_some_are_away(const struct responder *r)
{
	return unlikely(r->away) && r->away_una != r->epsn;
}

/* Behind the last request that is known to be done. */
static inline uint32_t xrc_done(const struct qp *qp)
{
	return xrc_some_are_away(&qp->resp) ? qp->resp.away_una : qp->resp.epsn;
}

/* ---- where the shared receive queue is ---- */

/* The guest that stands for the queue pair; NULL: the packet is not for a queue of ours. */
struct qp *xrc_guest(struct hca_peer *from, const struct roce_pkt *pkt);
/* The peer has gone; not inside an epoch section. */
void xrc_guests_leave(fabric_id_t from);
void xrc_forked(void);

#endif
