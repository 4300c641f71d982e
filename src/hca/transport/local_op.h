/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that send no packet: memory windows, keys, copies, lists of tags. Lock held, inside an epoch section. */
#ifndef HCA_LOCAL_OP_H
#define HCA_LOCAL_OP_H

#include "hca/transport/qp_types.h"
#include "hca/transport/run_result.h"

enum run_result local_op_run(struct qp *qp, struct hca_send *s);
/* The list is that of the queue pair's shared receive queue. */
enum run_result local_op_tag(struct qp *qp, struct hca_send *s);

#endif
