/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports: attributes, tables and counters.
 */
#ifndef MLX5_DEVX_PORT_H
#define MLX5_DEVX_PORT_H

#include "mlx5/devx_types.h"

struct hca_port_attr;

/* Port 0 is the function's own, the first. */
int devx_find_port(struct devx_cmd *c, unsigned int number, struct hca_port_attr *out);

/* Commands. */
int devx_nop(struct devx_cmd *c);
int devx_query_adapter(struct devx_cmd *c);
int devx_query_issi(struct devx_cmd *c);
int devx_query_special(struct devx_cmd *c);
int devx_query_nic_vport(struct devx_cmd *c);
int devx_query_esw_vport(struct devx_cmd *c);
int devx_query_vport_state(struct devx_cmd *c);
int devx_query_hca_vport(struct devx_cmd *c);
int devx_query_hca_gid(struct devx_cmd *c);
int devx_query_hca_pkey(struct devx_cmd *c);
int devx_query_roce_address(struct devx_cmd *c);
int devx_query_vport_counter(struct devx_cmd *c);
int devx_zeros(struct devx_cmd *c);

#endif
