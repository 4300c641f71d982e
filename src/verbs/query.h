/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queries of devices and ports.
 */
#ifndef VERBS_QUERY_H
#define VERBS_QUERY_H

#include "util/api.h"
#include "verbs/public.h"

/* `len` and `size` as the inline wrappers pass them: longer structs come from newer programs. */
int vb_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		  size_t len);
int vb_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		       struct ibv_device_attr_ex *attr, size_t size);
int vb_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* Exported without a public declaration: tools of rdma-core's own packages call it. */
enum ibv_gid_type_sysfs {
	IBV_GID_TYPE_SYSFS_IB_ROCE_V1,
	IBV_GID_TYPE_SYSFS_ROCE_V2,
};

VB_API int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			      enum ibv_gid_type_sysfs *type);

#endif
