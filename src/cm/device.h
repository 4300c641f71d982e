/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapters: listed, each opened at first use, and open as long as the library is loaded. One that was removed
 * is closed when no id is bound to it any more, unless rdma_get_devices() has handed it out.
 * Ids that are bound to an adapter share its default PD (and XRC domain).
 */
#ifndef CM_DEVICE_H
#define CM_DEVICE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <sys/queue.h>

struct cm_id;
struct hca_adapter;

struct cm_device {
	STAILQ_ENTRY(cm_device) link;
	struct ibv_device *device;
	const struct hca_adapter *adapter; /* valid once opened */
	struct ibv_context *verbs;         /* NULL until opened, or when that fails */
	struct ibv_device_attr attr;       /* valid once opened */
	size_t gid_room;                   /* entries of the GID tables of all ports, once opened */
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	int bound_ids;
	bool is_handed_out;     /* by rdma_get_devices(): the program may use verbs at any time */
	LIST_HEAD(, cm_id) ids; /* bound to the adapter */
};

/* 0 when there is an adapter, else -ENODEV. Takes cm.lock. */
int cm_devices_need(void);

/* With cm.lock held: takes in which adapters there are now; those that are gone are in cm.removed. */
int cm_devices_refresh(void);

/*
 * With cm.lock held: closes and frees removed adapters to which no id is bound. The caller has no cm_device in
 * hand.
 */
void cm_devices_free_removed(void);

/* With cm.lock held. The first or next adapter that opens; NULL at the end. */
struct cm_device *cm_device_next(struct cm_device *after);

/* With cm.lock held. NULL when the adapter is not in the list, or does not open. */
struct cm_device *cm_device_of(const struct hca_adapter *adapter);

/* With cm.lock held: one reference per bound id; the first makes the PD, the last ends it. */
int cm_device_get(struct cm_device *device);
void cm_device_put(struct cm_device *device);

/* The XRC domain of the adapter's bound ids, made on first use. Takes cm.lock. */
int cm_device_xrcd(struct cm_device *device, struct ibv_xrcd **out);

#endif
