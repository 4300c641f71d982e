/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tests of XRC have in common: a domain on a file of its own, whose descriptor processes inherit
 * that are started afterwards; halves of connections; messages that name a receive queue.
 */
#ifndef TRAFFIC_XRC_H
#define TRAFFIC_XRC_H

#include "rig.h"

/* Ends the test where the adapter has no XRC. */
void xrc_need(void);

void xrc_make_file(void);
void xrc_remove_file(void);
struct ibv_xrcd *xrc_open_domain(struct ibv_context *ctx);

/* An end whose queue pair is the given half of XRC. */
struct end *xrc_open_half(enum ibv_qp_type type, struct ibv_xrcd *xrcd);
struct ibv_srq *xrc_make_srq(struct end *e, struct ibv_xrcd *xrcd);

void xrc_post(struct ibv_srq *srq, struct end *e, uint64_t id, size_t off, uint32_t len);
void xrc_send(struct end *e, uint32_t srqn, enum ibv_wr_opcode op, uint64_t id, uint32_t len);

#endif
