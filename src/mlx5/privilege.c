/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/privilege.h"

#include <errno.h>
#include <sys/stat.h>

#include "util/api.h"
#include "util/explain.h"

static const struct {
	const char *path;
	uint32_t privilege;
} devices[] = {
	{ "/dev/infiniband/mlx5_perm_ctrl_local", MLX5_MAY_CONTROL },
	{ "/dev/infiniband/mlx5_perm_ctrl_other_vhca", MLX5_MAY_CONTROL_OTHERS },
};

uint32_t mlx5_privileges_offered(const struct hca_adapter *adapter)
{
	return hca_model_has(adapter->model, HCA_HAS_RDMA_CONTROL)
		       ? MLX5_MAY_CONTROL | MLX5_MAY_CONTROL_OTHERS
		       : 0;
}

static int privilege_of(int fd, uint32_t *out)
{
	struct stat own, device;

	if (fstat(fd, &own))
		return explain(EBADF, "mlx5dv_open_device: descriptor %d is not open", fd);
	for (size_t i = 0; i < array_size(devices); i++)
		if (!stat(devices[i].path, &device) && device.st_dev == own.st_dev &&
		    device.st_ino == own.st_ino) {
			*out |= devices[i].privilege;
			return 0;
		}
	return explain(EINVAL, "mlx5dv_open_device: descriptor %d is neither %s nor %s", fd,
		       devices[0].path, devices[1].path);
}

int mlx5_privileges_of(const struct hca_adapter *adapter, const struct ibv_fd_arr *fds,
		       uint32_t *out)
{
	uint32_t privileges = 0;
	int err = 0;

	if (fds && fds->count && !fds->arr)
		return explain(EFAULT, "mlx5dv_open_device: %u descriptors at NULL", fds->count);
	for (uint32_t i = 0; !err && fds && i < fds->count; i++)
		err = privilege_of(fds->arr[i], &privileges);
	if (!err && privileges & ~mlx5_privileges_offered(adapter))
		err = explain(EOPNOTSUPP, "mlx5dv_open_device: a %s has no privileges to give",
			      adapter->model->name);
	if (!err)
		*out = privileges;
	return err;
}
