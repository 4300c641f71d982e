/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion counters: how many requests of the queue pairs that they are attached to have ended
 * well (or how many bytes those moved), and how many have not. A queue pair counts whether or not a
 * request asks for a completion. Attached until the queue pair is destroyed.
 */
#ifndef HCA_COMP_CNTR_H
#define HCA_COMP_CNTR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca/device/work.h"
#include "util/api.h"

struct hca_qp;

/* Numbers of the bits that enum ibv_qp_attach_comp_cntr_op has. */
enum hca_cntr_op {
	HCA_CNTR_SEND,
	HCA_CNTR_RECV,
	HCA_CNTR_READ,
	HCA_CNTR_REMOTE_READ,
	HCA_CNTR_WRITE,
	HCA_CNTR_REMOTE_WRITE,
	HCA_CNTR_OPS,
};

#define HCA_CNTR_ALL  ((1u << HCA_CNTR_OPS) - 1)
#define HCA_CNTR_MOST 65536u

struct hca_comp_cntr {
	bool bytes;
	_Atomic uint64_t done, failed;
	atomic_uint users; /* operations of queue pairs */
};

VB_API int hca_comp_cntr_create(bool bytes, struct hca_comp_cntr **out);
VB_API int hca_comp_cntr_destroy(struct hca_comp_cntr *cntr); /* -EBUSY while attached */
/* -EINVAL but in RESET and INIT, -EBUSY when one of the operations has a counter already. */
VB_API int hca_comp_cntr_attach(struct hca_comp_cntr *cntr, struct hca_qp *qp, uint32_t ops);

/* ---- for the transport; the QP's lock held; add and sent only with counters attached ---- */

struct qp;

void comp_cntr_add(struct qp *qp, enum hca_cntr_op op, bool good, uint64_t bytes);
/* The peer has read that much; `whole`: to the end of what it wants. */
void comp_cntr_read(struct qp *qp, bool whole, uint64_t bytes);
void comp_cntr_sent(struct qp *qp, enum hca_op op, bool good, uint64_t bytes);
/* Whether the peer's one-sided work has to pass through this process. */
bool comp_cntr_sees_peer(const struct qp *qp);
void comp_cntr_detach(struct qp *qp);

#endif
