/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC domains.
 */
#ifndef VERBS_XRCD_H
#define VERBS_XRCD_H

#include "verbs/public.h"

struct ibv_xrcd *vb_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int vb_close_xrcd(struct ibv_xrcd *xrcd);

#endif
