/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC receive queue pairs of other processes, opened here (ibv_open_qp). What the library gets is a
 * stand-in with the number of the real one; changing, asking and closing it are questions to the
 * process that made it (rpc.h). The real one lives there until nobody has it open any more, or the
 * process ends.
 */
#ifndef HCA_XRC_OPEN_H
#define HCA_XRC_OPEN_H

#include "hca/device/async.h"
#include "hca/transport/qp.h"

/* -EINVAL when no process has such a queue pair in the domain. Not inside an epoch section. */
VB_API int hca_xrc_open(struct hca_ctx *ctx, uint32_t qpn, uint32_t xrcd, struct hca_qp **out);

/* ---- for qp.c: what becomes of calls on a stand-in ---- */

struct qp;

int xrc_open_modify(struct qp *qp, const struct hca_qp_attr *attr, uint32_t mask);
void xrc_open_query(struct qp *qp, struct hca_qp_attr *out);
int xrc_open_close(struct qp *qp);

/*
 * The maker gives up its last handle: true when others have the queue pair open, who keep it. False:
 * from now on it cannot be opened.
 */
bool xrc_open_outlives(struct qp *qp);

/* An event of a queue pair that was made here: whoever has it open hears of it. Lock held. */
void xrc_open_event(const struct qp *qp, enum hca_event_type type);

/* A process is gone, and with it what it had open, and what it had made. Service thread. */
void xrc_open_peer_gone(fabric_id_t id);
void xrc_open_forked(void);

#endif
