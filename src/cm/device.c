/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of adapters. Uses the public verbs API, but for PDs of removed adapters; cm.lock guards the list.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "cm/device.h"
#include "cm/result.h"
#include "cm/state.h"
#include "hca/device/adapter_list.h"
#include "hca/device/presence.h"
#include "util/explain.h"
#include "verbs/pd.h"

static bool is_dead(struct cm_device *device)
{
	struct ibv_device_attr attr;

	return device->verbs && ibv_query_device(device->verbs, &attr) == EIO;
}

/* Adapters that were removed leave the list; ids that are bound to one keep it. */
static void retire_dead(void)
{
	struct cm_device *device, *next;

	for (device = STAILQ_FIRST(&cm.devices); device; device = next) {
		next = STAILQ_NEXT(device, link);
		if (!is_dead(device))
			continue;
		STAILQ_REMOVE(&cm.devices, device, cm_device, link);
		STAILQ_INSERT_TAIL(&cm.removed, device, link);
	}
}

static void close_removed(struct cm_device *device)
{
	STAILQ_REMOVE(&cm.removed, device, cm_device, link);
	/* Objects that the program leaves in the PD or in the XRC domain keep the context. */
	if (device->xrcd)
		ibv_close_xrcd(device->xrcd);
	if (device->pd)
		verbena_dealloc_pd(device->pd);
	ibv_close_device(device->verbs);
	free(device);
}

void cm_devices_free_removed(void)
{
	struct cm_device *device, *next;

	for (device = STAILQ_FIRST(&cm.removed); device; device = next) {
		next = STAILQ_NEXT(device, link);
		if (!device->bound_ids && !device->is_handed_out)
			close_removed(device);
	}
}

static bool is_listed(const struct ibv_device *public)
{
	struct cm_device *device;

	STAILQ_FOREACH(device, &cm.devices, link)
		if (device->device == public)
			return true;
	return false;
}

static int add_devices(struct ibv_device **list)
{
	for (; *list; list++) {
		struct cm_device *device;

		if (is_listed(*list))
			continue;
		device = calloc(1, sizeof(*device));
		if (!device)
			return explain(ENOMEM, "no memory for the list of adapters");
		device->device = *list;
		STAILQ_INSERT_TAIL(&cm.devices, device, link);
	}
	return 0;
}

int cm_devices_refresh(void)
{
	uint32_t changes = hca_presence_changes();
	struct ibv_device **list;
	int err, count;

	retire_dead();
	list = ibv_get_device_list(&count);
	if (!list)
		return explain(ENODEV, "the verbs library gives no list of adapters");
	err = add_devices(list);
	ibv_free_device_list(list); /* our verbs library keeps its devices */
	cm.is_listed = !err && !STAILQ_EMPTY(&cm.devices);
	cm.had_devices |= cm.is_listed;
	cm.presence_seen = changes;
	return err;
}

static int list_devices(void)
{
	int err = 0;

	if (!cm.is_listed || cm.presence_seen != hca_presence_changes())
		err = cm_devices_refresh();
	/* When the last adapter is removed, a program goes on: ids can be made, but not bound. */
	if (!err && !cm.had_devices)
		err = explain(ENODEV, "there is no adapter; `verbena devices` tells which are "
				      "configured, and which are unplugged");
	return err;
}

int cm_devices_need(void)
{
	int err;

	cm_lock();
	err = list_devices();
	cm_unlock();
	return err;
}

static const struct hca_adapter *find_adapter(const char *name)
{
	const struct hca_adapter *const *list;
	int count;

	if (hca_adapters_get(&list, &count))
		return NULL;
	for (int i = 0; i < count; i++)
		if (!strcmp(list[i]->name, name))
			return list[i];
	return NULL;
}

static size_t count_gids(const struct cm_device *device)
{
	struct ibv_port_attr port;
	size_t count = 0;

	for (uint8_t i = 1; i <= device->attr.phys_port_cnt; i++)
		if (!ibv_query_port(device->verbs, i, &port))
			count += port.gid_tbl_len;
	return count;
}

static int open_device(struct cm_device *device)
{
	int err;

	if (device->verbs)
		return 0;
	device->verbs = ibv_open_device(device->device);
	if (!device->verbs)
		return -errno;
	err = ibv_query_device(device->verbs, &device->attr);
	if (err)
		goto close_device;
	device->gid_room = count_gids(device);
	device->adapter = find_adapter(ibv_get_device_name(device->device));
	return 0;
close_device:
	ibv_close_device(device->verbs);
	device->verbs = NULL;
	return -err;
}

struct cm_device *cm_device_next(struct cm_device *after)
{
	struct cm_device *device;

	if (!after && list_devices())
		return NULL;
	device = after ? STAILQ_NEXT(after, link) : STAILQ_FIRST(&cm.devices);
	while (device && open_device(device))
		device = STAILQ_NEXT(device, link);
	return device;
}

struct cm_device *cm_device_of(const struct hca_adapter *adapter)
{
	struct cm_device *device;

	for (device = cm_device_next(NULL); device; device = cm_device_next(device))
		if (device->adapter == adapter)
			return device;
	return NULL;
}

int cm_device_get(struct cm_device *device)
{
	if (!device->pd)
		device->pd = ibv_alloc_pd(device->verbs);
	if (!device->pd)
		return -errno;
	device->bound_ids++;
	return 0;
}

void cm_device_put(struct cm_device *device)
{
	if (--device->bound_ids)
		return;
	if (device->xrcd && !ibv_close_xrcd(device->xrcd))
		device->xrcd = NULL;
	/* A program may have left objects in the PD; then it stays for the next id. */
	if (!ibv_dealloc_pd(device->pd))
		device->pd = NULL;
}

int cm_device_xrcd(struct cm_device *device, struct ibv_xrcd **out)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, /* private to this process */
		.oflags = O_CREAT,
	};
	int err = 0;

	cm_lock();
	if (!device->xrcd) {
		errno = EOPNOTSUPP; /* a driver without XRC leaves it alone */
		device->xrcd = ibv_open_xrcd(device->verbs, &attr);
	}
	if (device->xrcd)
		*out = device->xrcd;
	else
		err = -errno;
	cm_unlock();
	return err;
}

VB_API struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **list = NULL;
	struct cm_device *device;
	int count = 0, err;

	cm_lock();
	err = cm_devices_refresh();
	if (err)
		goto unlock;
	for (device = cm_device_next(NULL); device; device = cm_device_next(device))
		count++;
	list = calloc(count + 1, sizeof(void *));
	if (!list) {
		err = explain(ENOMEM, "no memory for a list of %d adapters", count);
		goto unlock;
	}
	count = 0;
	for (device = cm_device_next(NULL); device; device = cm_device_next(device)) {
		device->is_handed_out = true;
		list[count++] = device->verbs;
	}
unlock:
	cm_unlock();
	if (num_devices)
		*num_devices = list ? count : 0;
	cm_result(err);
	return list;
}

VB_API void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
