/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libibverbs.so.1 exports without a public declaration, because tools of rdma-core's own
 * packages call it.
 */
#ifndef VERBS_PRIVATE_H
#define VERBS_PRIVATE_H

#include "util/api.h"
#include "verbs/public.h"

enum ibv_gid_type_sysfs {
	IBV_GID_TYPE_SYSFS_IB_ROCE_V1,
	IBV_GID_TYPE_SYSFS_ROCE_V2,
};

VB_API int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			      enum ibv_gid_type_sysfs *type);

#endif
