/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/sq.h"

#include "fabric/epoch.h"
#include "hca/transport/requester.h"
#include "hca/transport/window.h"

void hca_sq_doorbell(struct hca_qp *pub, uint32_t producer)
{
	epoch_enter();
	requester_doorbell(to_priv(pub), producer);
	epoch_exit();
}

uint32_t hca_sq_next(const struct hca_qp *pub)
{
	const struct qp *qp = (const struct qp *)pub;

	/* One that is to be sent again has begun, and so has one that is sent in part. */
	if (qp->req.resending && (int32_t)(qp->req.resend_end - qp->req.next) > 0)
		return qp->req.resend_end;
	return qp->req.next + (qp->req.partial ? window_last(&qp->window)->blocks : 0);
}
