/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NETLINK_RDMA: devices, their ports, and the system's settings.
 */
#ifndef VERBENA_NETLINK_RDMA_H
#define VERBENA_NETLINK_RDMA_H

#include "facts.h"
#include "netlink_out.h"

void netlink_rdma(struct netlink_out *o, const struct facts *facts);

#endif
