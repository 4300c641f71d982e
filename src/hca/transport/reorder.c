/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/reorder.h"

#include <stdlib.h>

struct reorder {
	uint32_t behind; /* packets that have come since the gap opened */
	uint32_t gap;    /* the PSN that is missing */
	struct reorder_packet *slot[REORDER_SLOTS]; /* by PSN */
};

static struct reorder *get(struct responder *r)
{
	if (!r->reorder)
		r->reorder = calloc(1, sizeof(*r->reorder));
	return r->reorder;
}

static struct reorder_packet **slot_of(struct reorder *o, uint32_t psn)
{
	return &o->slot[psn % REORDER_SLOTS];
}

bool reorder_keep(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload)
{
	struct reorder *o = get(&qp->resp);
	struct reorder_packet **slot, *p;

	if (!o || psn_diff(pkt->psn, qp->resp.epsn) >= (int32_t)REORDER_SLOTS)
		return false;
	if (o->gap != qp->resp.epsn)
		o->behind = 0;
	o->gap = qp->resp.epsn;
	o->behind++;
	slot = slot_of(o, pkt->psn);
	/* The peer sends it again: it believes that packets were lost. */
	if (*slot && (*slot)->pkt.psn == pkt->psn)
		return false;
	p = malloc(sizeof(*p) + pkt->len);
	if (!p || !hca_mem_copy_out(payload, 0, p->payload, pkt->len)) {
		free(p);
		return false;
	}
	p->pkt = *pkt;
	free(*slot);
	*slot = p;
	return o->behind < REORDER_LOSS;
}

struct reorder_packet *reorder_take(struct qp *qp)
{
	struct reorder *o = qp->resp.reorder;
	struct reorder_packet **slot = slot_of(o, qp->resp.epsn), *p = *slot;

	if (!p || p->pkt.psn != qp->resp.epsn)
		return NULL;
	*slot = NULL;
	return p;
}

void reorder_clear(struct responder *r)
{
	for (uint32_t i = 0; r->reorder && i < REORDER_SLOTS; i++)
		free(r->reorder->slot[i]);
	free(r->reorder);
	r->reorder = NULL;
}
