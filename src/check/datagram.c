/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/datagram.h"

#include <stdio.h>

#include "check/report.h"

void check_datagram_too_long(const struct check_qp *q, uint32_t bytes)
{
	struct check_report r = { .kind = CHECK_DATAGRAM_TOO_LONG,
				  .stacks[0] = { "QP created at", q->created } };

	snprintf(r.text, sizeof(r.text),
		 "A datagram of %u bytes came to QP 0x%06x, with the 40 bytes of the GRH %u, and "
		 "the "
		 "receive that was posted is shorter.",
		 bytes - (uint32_t)sizeof(struct ibv_grh), q->number, bytes);
	check_report(&r);
}

void check_datagram_qkey(const struct check_qp *q, uint32_t got, uint32_t want)
{
	struct check_report r = { .kind = CHECK_QKEY_MISMATCH,
				  .stacks[0] = { "QP created at", q->created } };

	snprintf(r.text, sizeof(r.text),
		 "A datagram with the Q_Key 0x%08x came to QP 0x%06x, whose Q_Key is 0x%08x.", got,
		 q->number, want);
	check_report(&r);
}
