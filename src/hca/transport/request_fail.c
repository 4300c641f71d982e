/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/request_fail.h"

#include "hca/transport/qp_fail.h"
#include "hca/transport/request.h"

void request_fail(struct qp *qp, const struct hca_send *s, enum hca_status status, uint16_t vendor)
{
	request_finish(qp, s, status, vendor);
	if (qp->dci && s->bad)
		qp_fail(qp); /* whose stream it was cannot be believed */
	else
		qp_fail_send(qp);
}
