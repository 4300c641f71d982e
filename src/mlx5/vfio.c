/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VFIO devices by PCI address, for programs with their own driver. Such a program gets the adapter
 * that it could open by name: device commands and interrupt vectors work in every context. The
 * service thread does what a VFIO driver does on events, so that the events descriptor is never
 * readable. devx.lock guards it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "mlx5/devx_types.h"
#include "mlx5/dv.h"
#include "mlx5/objects.h"
#include "util/explain.h"

static int check(const struct mlx5dv_vfio_context_attr *attr)
{
	if (!attr || !attr->pci_name)
		return explain(EINVAL, "mlx5dv_get_vfio_device_list: there is no %s",
			       attr ? "pci_name" : "attr");
	if (attr->comp_mask)
		return explain(EOPNOTSUPP,
			       "mlx5dv_get_vfio_device_list: comp_mask 0x%llx; no bit is known",
			       (unsigned long long)attr->comp_mask);
	if (attr->flags)
		return explain(EOPNOTSUPP,
			       "mlx5dv_get_vfio_device_list: flags 0x%x; links follow their "
			       "interface, and cannot be kept down",
			       attr->flags);
	return 0;
}

static struct ibv_device *find(struct ibv_device **all, const char *pci_name)
{
	for (size_t i = 0; all[i]; i++)
		if (mlx5dv_is_supported(all[i]) &&
		    !strcmp(to_device(all[i])->adapter->pci_slot, pci_name))
			return all[i];
	return NULL;
}

struct ibv_device **mlx5dv_get_vfio_device_list(struct mlx5dv_vfio_context_attr *attr)
{
	struct ibv_device **list;
	int err = check(attr);

	if (err) {
		errno = -err;
		return NULL;
	}
	list = ibv_get_device_list(NULL);
	if (!list)
		return NULL;
	list[0] = find(list, attr->pci_name);
	if (list[0]) {
		list[1] = NULL; /* the list has at least its terminator */
		return list;
	}
	ibv_free_device_list(list);
	return explain_null(ENOENT,
			    "mlx5dv_get_vfio_device_list: no ConnectX-4 or later at %s; "
			    "verbena devices -v tells where they are",
			    attr->pci_name);
}

int mlx5dv_vfio_get_events_fd(struct ibv_context *context)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	int fd;

	if (!ctx)
		return -1;
	pthread_mutex_lock(&ctx->devx->lock);
	if (ctx->devx->events_fd < 0)
		ctx->devx->events_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd = ctx->devx->events_fd;
	pthread_mutex_unlock(&ctx->devx->lock);
	return fd;
}

int mlx5dv_vfio_process_events(struct ibv_context *context)
{
	return mlx5_dv_context(context, __func__) ? 0 : errno;
}
