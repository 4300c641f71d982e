/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/spoil.h"

#include "sim/draft.h"
#include "sim/end.h"
#include "sim/host.h"
#include "sim/work.h"

enum bad { BAD_KEY_THERE, BAD_RIGHTS, BAD_END, BAD_KEY_HERE, BAD_KINDS };

static void expect_refusal(struct draft *d, uint32_t statuses)
{
	struct work *w = d->w;

	w->never_runs = true;
	if (!end_is_reliable(w->end))
		return; /* dropped over there, in silence */
	w->expect |= statuses;
	w->must_fail = true;
	w->end->trouble = d->to->fail_ok = true;
	if (d->to->rq)
		d->to->rq->loose = true;
}

void spoil_request(struct draft *d)
{
	struct work *w = d->w;
	struct host *host = d->to->host;
	bool remote = draft_is_write(w->op) || w->op == HCA_OP_READ;

	switch (rng_below(d->rng, BAD_KINDS)) {
	case BAD_KEY_THERE:
		if (!remote || !w->length)
			return;
		d->s->rkey ^= 0x55;
		expect_refusal(d, STATUS_BIT(REM_ACCESS_ERR));
		return;
	case BAD_RIGHTS:
		if (!draft_is_write(w->op) || !w->target || w->target->writers != 1 ||
		    w->length > host->region[REGION_READ_ONLY].len)
			return;
		d->s->rkey = host->region[REGION_READ_ONLY].key;
		d->s->raddr = (uintptr_t)host->mem + host->region[REGION_READ_ONLY].off;
		w->uses_spare_there = w->through_window = false;
		expect_refusal(d, STATUS_BIT(REM_ACCESS_ERR));
		return;
	case BAD_END: /* one byte of it is behind the region */
		if (!remote || !w->length || w->length > d->w->end->message_most ||
		    w->length > 256 || (w->target && w->target->writers > 1))
			return;
		d->s->raddr = (uintptr_t)host->mem + host->region[REGION_DATA].off +
			      host->region[REGION_DATA].len - w->length + 1;
		d->s->rkey = host->region[REGION_DATA].key;
		w->uses_spare_there = w->through_window = false;
		expect_refusal(d, STATUS_BIT(REM_ACCESS_ERR));
		return;
	case BAD_KEY_HERE:
		if (!d->s->sges || w->inlined || !w->length)
			return;
		d->s->sge[d->s->sges - 1].key ^= 0x55;
		/* The bytes before it may have been sent or read. */
		w->expect |= STATUS_BIT(LOC_PROT_ERR);
		w->must_fail = true;
		if (d->to->rq)
			d->to->rq->loose = true;
		return;
	default:
		return;
	}
}

void spoil_too_long(struct draft *d)
{
	uint32_t header = d->w->end->type == HCA_QP_UD ? 40 : 0;

	if (d->w->length + header <= d->w->rq->stride)
		return;
	d->w->too_long = true;
	expect_refusal(d, STATUS_BIT(REM_INV_REQ_ERR));
}

void spoil_address(struct draft *d)
{
	switch (d->w->end->type) {
	case HCA_QP_UD:
		d->s->qkey ^= 1;
		d->w->never_runs = true;
		break;
	case HCA_QP_DCI:
		d->s->dc_key ^= 1;
		expect_refusal(d, STATUS_BIT(RETRY_EXC_ERR));
		break;
	default:
		break;
	}
}
