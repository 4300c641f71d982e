/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC receive queue pairs of other processes, opened here (ibv_open_qp). The library gets a stand-in
 * with the number of the real one; modifying, querying and closing it are calls to the process that
 * made it (rpc.h). The real one lives there until the last process has closed it, or its own
 * process ends.
 */
#ifndef HCA_XRC_OPEN_H
#define HCA_XRC_OPEN_H

#include "hca/device/async.h"
#include "hca/peers/peer.h"
#include "hca/transport/hca_qp.h"

/* -EINVAL when no process has such a queue pair in the domain. Not inside an epoch section. */
VB_API int hca_xrc_open(struct hca_ctx *ctx, uint32_t qpn, uint32_t xrcd, struct hca_qp **out);

extern const struct peer_listener xrc_open_peer_listener;

#endif
