/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adapters that are plugged in: all of them, unless `verbena unplug` takes one away (inspect/unplug.h).
 */
#ifndef HCA_PRESENCE_H
#define HCA_PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/device/adapter.h"
#include "util/api.h"

/* The state that the service thread saw last. */
VB_API bool hca_adapter_is_present(const struct hca_adapter *a);
/* How often adapters have come or gone. */
VB_API uint32_t hca_presence_changes(void);

/* Agents of queue pair 1 hear of a change (wire/gsi.h). */
void hca_presence_set(const struct hca_adapter *a, bool present);

#endif
