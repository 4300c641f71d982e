/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups of an endpoint. Their packets arrive through rx.h, with the group as destination. */
#ifndef ROCE_GROUP_H
#define ROCE_GROUP_H

#include <stdint.h>

#include "roce/addr.h"

struct roce_endpoint;

/*
 * Joins are counted: a group is left by as many leaves. The interface is that of `group`, or else the
 * endpoint's. -EINVAL unless `group` is a multicast address of the endpoint's IP version.
 */
int roce_group_join(struct roce_endpoint *ep, const struct roce_addr *group);
int roce_group_leave(struct roce_endpoint *ep, const struct roce_addr *group);
void roce_group_leave_all(struct roce_endpoint *ep);

/* Packets that the kernel dropped because the socket of a group was full. */
uint64_t roce_group_drops(const struct roce_endpoint *ep);

#endif
