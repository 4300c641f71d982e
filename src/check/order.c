/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/order.h"

#include <stdio.h>

#include "check/report.h"

static bool awaits_reads(const struct check_qp *q)
{
	return (int32_t)(q->reads_end - q->send.tail) > 0;
}

static void tell(const struct check_qp *q, const struct check_request *r,
		 const struct check_request *read)
{
	struct check_report report = { .kind = CHECK_READ_SENT_UNFENCED,
				       .stacks = { { "posted at", r->place },
						   { "read posted at", read->place } } };

	snprintf(report.text, sizeof(report.text),
		 "A %s on QP 0x%06x sends bytes that an earlier %s, which is not completed, is to "
		 "bring, and has no fence: wr_id 0x%llx, and 0x%llx of the earlier one.",
		 r->verb, q->number, read->verb, (unsigned long long)r->wr_id,
		 (unsigned long long)read->wr_id);
	check_report(&report);
}

static void tell_overwrite(const struct check_qp *q, const struct check_request *r,
			   const struct check_request *read)
{
	struct check_report report = { .kind = CHECK_READ_OVERWRITTEN,
				       .stacks = { { "posted at", r->place },
						   { "read posted at", read->place } } };

	snprintf(report.text, sizeof(report.text),
		 "An RDMA WRITE on QP 0x%06x goes to bytes of the peer that an earlier RDMA READ, "
		 "which is "
		 "not completed, is to bring, and has no fence: wr_id 0x%llx, and 0x%llx of the "
		 "read, at 0x%llx of key 0x%x.",
		 q->number, (unsigned long long)r->wr_id, (unsigned long long)read->wr_id,
		 (unsigned long long)r->remote, r->rkey);
	check_report(&report);
}

/* Both are of one queue pair, and so of one peer. */
static bool overwrites(const struct check_request *r, const struct check_request *read)
{
	return r->length && read->length && r->rkey == read->rkey &&
	       r->remote < read->remote + read->length && read->remote < r->remote + r->length;
}

void check_order_send(const struct check_qp *q, const struct check_request *r, uint32_t index,
		      bool copied)
{
	if (likely(!awaits_reads(q)) || r->target || q->lost || (r->fenced && !copied))
		return;
	for (uint32_t i = index; i != q->send.tail;) {
		const struct check_request *other = check_ring_at(&q->send, --i);

		if (other->target && check_request_touches(other, r)) {
			tell(q, r, other);
			return;
		}
		if (other->target && !r->fenced && overwrites(r, other)) {
			tell_overwrite(q, r, other);
			return;
		}
		if (other->fenced && !copied)
			return; /* it, and so this request, waits for all reads before it */
	}
}

void check_order_inline(struct check_request *r, const struct ibv_sge *sge, int count)
{
	for (int i = 0; i < count && r->count < CHECK_PIECES; i++)
		r->pieces[r->count++] = (struct check_piece){ .addr = (uintptr_t)sge[i].addr,
							      .length = sge[i].length };
}
