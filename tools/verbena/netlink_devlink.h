/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The family `devlink` of generic netlink: devices with their firmware, ports, the embedded switch, and the one
 * parameter that programs ask for.
 */
#ifndef VERBENA_NETLINK_DEVLINK_H
#define VERBENA_NETLINK_DEVLINK_H

#include "facts.h"
#include "netlink_out.h"

void netlink_devlink(struct netlink_out *o, const struct facts *facts);

#endif
