/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/rq.h"

#include "hca/transport/recv.h"

void hca_rq_flush_posted(struct hca_qp *pub)
{
	fabric_lock(&pub->lock);
	if (pub->state == HCA_QPS_ERR)
		recv_flush(to_priv(pub));
	fabric_unlock(&pub->lock);
}
