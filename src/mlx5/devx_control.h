/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA_CTRL objects: a context declares whose RDMA traffic it controls. Commands that act on that traffic (tables
 * of the RDMA transport) need the privilege, not the object.
 */
#ifndef MLX5_DEVX_CONTROL_H
#define MLX5_DEVX_CONTROL_H

#include "mlx5/devx_types.h"

/* The number of an adapter's function among those of the host. */
#define DEVX_VHCA_ID(adapter) ((unsigned int)(adapter)->index + 1)

bool devx_has_control(const struct hca_adapter *adapter);

/* Commands. */
int devx_control_create(struct devx_cmd *c);
int devx_control_modify(struct devx_cmd *c);

#endif
