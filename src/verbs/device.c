/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device list. Devices are made once and never freed, so a program may free a list while
 * contexts of its devices are open.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/public.h"

#include "hca/device/adapter_list.h"
#include "hca/inspect/unplug.h"
#include "util/explain.h"
#include "verbs/context.h"
#include "verbs/state.h"

#undef ibv_get_device_list

static void describe(struct vb_device *d, const struct hca_adapter *a)
{
	const char *root = getenv("VERBENA_FACADE");

	d->adapter = a;
	d->dev.node_type = IBV_NODE_CA;
	d->dev.transport_type = IBV_TRANSPORT_IB;
	snprintf(d->dev.name, sizeof(d->dev.name), "%s", a->name);
	snprintf(d->dev.dev_name, sizeof(d->dev.dev_name), "uverbs%d", a->index);
	/* Programs that follow these paths find the facade's tree even without its preload. */
	if (!root || strlen(root) > 128)
		root = "";
	snprintf(d->dev.dev_path, sizeof(d->dev.dev_path), "%s/sys/class/infiniband_verbs/uverbs%d",
		 root, a->index);
	snprintf(d->dev.ibdev_path, sizeof(d->dev.ibdev_path), "%s/sys/class/infiniband/%s", root,
		 a->name);
}

static int make_devices(const struct hca_adapter *const *adapters, int count)
{
	struct vb_device *made;

	pthread_mutex_lock(&verbs_state.device_lock);
	if (!verbs_state.devices) {
		made = calloc(count, sizeof(*made));
		for (int i = 0; made && i < count; i++)
			describe(&made[i], adapters[i]);
		verbs_state.devices = made;
	}
	made = verbs_state.devices;
	pthread_mutex_unlock(&verbs_state.device_lock);
	return made ? 0 : -ENOMEM;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	const struct hca_adapter *const *adapters;
	struct ibv_device **list;
	int count, present = 0, err;

	if (num_devices)
		*num_devices = 0;
	err = hca_adapters_get(&adapters, &count);
	if (!err)
		err = make_devices(adapters, count);
	if (err) {
		errno = -err;
		return NULL;
	}
	list = calloc(count + 1, sizeof(*list));
	if (!list) {
		errno = ENOMEM;
		return NULL;
	}
	for (int i = 0; i < count; i++)
		if (hca_unplug_is_present(adapters[i]))
			list[present++] = &verbs_state.devices[i].dev;
	if (count && !present)
		explain_note("all adapters are unplugged; `verbena plug %s` plugs %s in again",
			     adapters[0]->name, adapters[0]->name);
	if (num_devices)
		*num_devices = present;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(to_device(device)->adapter->node_guid);
}

int ibv_get_device_index(struct ibv_device *device)
{
	/* NETLINK_RDMA has this index; the kernel's knows nothing of the adapter, the facade's does. */
	return getenv("VERBENA_FACADE") ? to_device(device)->adapter->index : -1;
}
