/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/comp_cntr.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/hca.h"
#include "hca/transport/qp_types.h"
#include "util/explain.h"

int hca_comp_cntr_create(bool bytes, struct hca_comp_cntr **out)
{
	struct hca_comp_cntr *cntr;

	if (atomic_fetch_add(&hca.transport.comp_cntrs, 1) >= HCA_CNTR_MOST) {
		atomic_fetch_sub(&hca.transport.comp_cntrs, 1);
		return explain(ENOMEM, "there are no more than %u completion counters",
			       HCA_CNTR_MOST);
	}
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr) {
		atomic_fetch_sub(&hca.transport.comp_cntrs, 1);
		return -ENOMEM;
	}
	cntr->bytes = bytes;
	*out = cntr;
	return 0;
}

int hca_comp_cntr_destroy(struct hca_comp_cntr *cntr)
{
	unsigned int users = atomic_load(&cntr->users);

	if (users)
		return explain(EBUSY,
			       "the completion counter is attached to %u operations of "
			       "queue pairs, which have to go first",
			       users);
	atomic_fetch_sub(&hca.transport.comp_cntrs, 1);
	free(cntr);
	return 0;
}

/* Lock held. */
static int attach(struct hca_comp_cntr *cntr, struct qp *qp, uint32_t ops)
{
	if (qp->pub.state != HCA_QPS_RESET && qp->pub.state != HCA_QPS_INIT)
		return explain(EINVAL, "QP 0x%x is past INIT; counters are attached before",
			       qp->pub.qpn);
	if (!qp->cntr)
		qp->cntr = calloc(HCA_CNTR_OPS, sizeof(struct hca_comp_cntr *));
	if (!qp->cntr)
		return -ENOMEM;
	for (int op = 0; op < HCA_CNTR_OPS; op++)
		if ((ops & 1u << op) && qp->cntr[op])
			return explain(EBUSY, "operation 0x%x of QP 0x%x has a counter already",
				       1u << op, qp->pub.qpn);
	for (int op = 0; op < HCA_CNTR_OPS; op++)
		if (ops & 1u << op) {
			qp->cntr[op] = cntr;
			atomic_fetch_add(&cntr->users, 1);
		}
	return 0;
}

int hca_comp_cntr_attach(struct hca_comp_cntr *cntr, struct hca_qp *pub, uint32_t ops)
{
	int err;

	fabric_lock(&pub->lock);
	err = attach(cntr, to_priv(pub), ops);
	fabric_unlock(&pub->lock);
	return err;
}

void comp_cntr_detach(struct qp *qp)
{
	for (int op = 0; qp->cntr && op < HCA_CNTR_OPS; op++)
		if (qp->cntr[op])
			atomic_fetch_sub(&qp->cntr[op]->users, 1);
	free(qp->cntr);
	qp->cntr = NULL;
}

bool comp_cntr_sees_peer(const struct qp *qp)
{
	return qp->cntr && (qp->cntr[HCA_CNTR_REMOTE_READ] || qp->cntr[HCA_CNTR_REMOTE_WRITE]);
}

void comp_cntr_add(struct qp *qp, enum hca_cntr_op op, bool good, uint64_t bytes)
{
	struct hca_comp_cntr *cntr = qp->cntr[op];

	if (!cntr)
		return;
	if (good)
		atomic_fetch_add_explicit(&cntr->done, cntr->bytes ? bytes : 1,
					  memory_order_release);
	else
		atomic_fetch_add_explicit(&cntr->failed, 1, memory_order_release);
}

void comp_cntr_read(struct qp *qp, bool whole, uint64_t bytes)
{
	const struct hca_comp_cntr *cntr = qp->cntr[HCA_CNTR_REMOTE_READ];

	if (cntr && (whole || cntr->bytes))
		comp_cntr_add(qp, HCA_CNTR_REMOTE_READ, true, bytes);
}

void comp_cntr_sent(struct qp *qp, enum hca_op op, bool good, uint64_t bytes)
{
	switch (op) {
	case HCA_OP_SEND:
	case HCA_OP_SEND_IMM:
	case HCA_OP_SEND_INV:
		comp_cntr_add(qp, HCA_CNTR_SEND, good, bytes);
		break;
	case HCA_OP_WRITE:
	case HCA_OP_WRITE_IMM:
		comp_cntr_add(qp, HCA_CNTR_WRITE, good, bytes);
		break;
	case HCA_OP_READ:
		comp_cntr_add(qp, HCA_CNTR_READ, good, bytes);
		break;
	default:
		break;
	}
}
