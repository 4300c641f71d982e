/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/dci_stream.h"

#include <errno.h>

#include "hca/transport/dci.h"
#include "util/explain.h"

int hca_dci_reset_stream(struct hca_qp *pub, uint16_t stream)
{
	struct qp *qp = to_priv(pub);
	int err = 0;

	if (!qp->dci)
		return explain(EINVAL, "QP 0x%x is no DC initiator: it has no streams", pub->qpn);
	fabric_lock(&pub->lock);
	if (pub->state != HCA_QPS_RTS || !dci_stream_failed(qp, stream))
		err = explain(EINVAL, "stream %u of QP 0x%x has not failed", stream, pub->qpn);
	if (!err)
		dci_revive_stream(qp, stream);
	fabric_unlock(&pub->lock);
	return err;
}
