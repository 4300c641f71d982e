/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adapters that are unplugged from running processes, by `verbena unplug`: their names are a setting of the
 * host (control.h). A process that opens the adapter later finds it only when it is plugged in again, and
 * contexts that were open stay dead.
 */
#ifndef HCA_UNPLUG_H
#define HCA_UNPLUG_H

#include <stdbool.h>

#include "hca/device/adapter.h"
#include "hca/device/async.h"
#include "util/api.h"

/* The setting: names, separated by commas. */
#define UNPLUG_KEY "unplugged"

/* Unplugs the adapter of that name, or plugs it in again. -errno, explained. */
VB_API int hca_unplug_order(const char *name, bool unplug);
/* Reads the setting: whether the adapter can be opened now. No context need be open. */
VB_API bool hca_unplug_is_present(const struct hca_adapter *a);

/*
 * hca_async_init() for a context that is opened; -ENODEV, explained, when the adapter is unplugged. No setting is
 * applied meanwhile: an order that was given before is seen here, one that is given later kills the queue, and none
 * that was read before is applied later. The process has joined the fabric.
 */
VB_API int hca_unplug_listen(const struct hca_adapter *a, struct hca_async *q);

/* Unplugs and plugs in adapters of this process by the setting's value. hca.inspect.set_lock held. */
void unplug_set(const char *names);

#endif
