/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory-to-memory engine (MMO): requests that copy, compress or expand memory and send nothing.
 * A request is executed by one call, in order with the requests before it. Lock held, inside an
 * epoch section, but for init and fini.
 */
#ifndef HCA_MMO_H
#define HCA_MMO_H

#include "hca/transport/qp_types.h"
#include "hca/transport/run_result.h"

/* Loads the libraries that requests may need. No lock held. */
void mmo_init(struct qp *qp);
void mmo_fini(struct qp *qp);

enum run_result mmo_run(struct qp *qp, struct hca_send *s);

#endif
