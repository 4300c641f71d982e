/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw packet queue pairs, as the transport sees them: it runs their send queue and changes their
 * state; the room above knows frames (raw/raw.c).
 */
#ifndef HCA_RAW_QP_OPS_H
#define HCA_RAW_QP_OPS_H

#include "hca/transport/hca_qp.h"
#include "hca/transport/run_result.h"

struct hca_send;
struct qp;

struct raw_qp_ops {
	/* Creates the receive side. */
	int (*create)(struct qp *qp, const struct hca_qp_init *init);
	/* -EBUSY while flow rules use the QP. */
	int (*check_idle)(struct qp *qp);
	void (*fini)(struct qp *qp);
	/* The state has changed. Lock held, inside an epoch section. */
	void (*enter)(struct qp *qp, enum hca_qp_state state);
	/* Sends one frame, or the segments of one. */
	enum run_result (*send)(struct qp *qp, struct hca_send *s);
	/* Publishes the frames that send() has collected. Lock held. */
	void (*flush_sent)(struct qp *qp);
	/* Flushes the receive queue, in the error state. */
	void (*flush_recv)(struct qp *qp);
};

#endif
