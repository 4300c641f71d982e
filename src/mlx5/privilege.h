/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Privileges of a context (the kernel's UCAPs): a process that can open a character device of
 * /dev/infiniband hands its descriptor to mlx5dv_open_device(). `verbena run` shows these devices, and a
 * descriptor is known by the file that it has open.
 */
#ifndef MLX5_PRIVILEGE_H
#define MLX5_PRIVILEGE_H

#include <stdint.h>

#include "hca/device/adapter.h"
#include "mlx5/public.h"

/* Bits of uctx_cap. */
enum mlx5_privilege {
	MLX5_MAY_CONTROL = 1 << 3,        /* RDMA traffic of the own function */
	MLX5_MAY_CONTROL_OTHERS = 1 << 4, /* that of other functions */
};

/* Privileges that descriptors can give on an adapter. */
uint32_t mlx5_privileges_offered(const struct hca_adapter *adapter);

/* Privileges that these descriptors give. 0 or -errno, as the kernel has it. */
int mlx5_privileges_of(const struct hca_adapter *adapter, const struct ibv_fd_arr *fds,
		       uint32_t *out);

#endif
