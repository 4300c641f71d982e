/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC receive queue pairs of this process that other processes have opened (ibv_open_qp): which process
 * has which, and how many times. A QP outlives its own handle while one of them has it open.
 */
#ifndef HCA_XRC_OPENERS_H
#define HCA_XRC_OPENERS_H

#include "hca/transport/qp_types.h"

/* The message to other processes about an event of a QP that they have open. */
struct xrc_event {
	uint32_t qpn;
	uint32_t event;
};

/* Another process opens the QP with this number. -EINVAL: there is none in the domain. */
int xrc_openers_add(uint32_t qpn, uint32_t xrcd, fabric_id_t process);
/* The QP with this number, if that process has it open, or NULL. Service thread. */
struct qp *xrc_openers_find(uint32_t qpn, fabric_id_t process);
/* It closes the QP. `*last`: the QP is to be destroyed, as nothing needs it any more; or NULL. */
int xrc_openers_remove(uint32_t qpn, fabric_id_t process, struct qp **last);
/* The process is gone: as if it closed one of those it has open. NULL: none is left to be destroyed. */
struct qp *xrc_openers_process_gone(fabric_id_t process);
/* The maker destroys its handle. True: others keep the QP. False: it cannot be opened from now on. */
bool xrc_openers_outlive(struct qp *qp);

#endif
