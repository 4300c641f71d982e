/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending management datagrams.
 */
#ifndef HCA_GSI_SEND_H
#define HCA_GSI_SEND_H

#include <stdbool.h>

#include "hca/device/adapter.h"
#include "hca/device/work.h"
#include "hca/wire/gsi_mad.h"
#include "util/api.h"

/*
 * Sends a MAD to queue pair 1 at the other end; to->port says from where. Never waits. A MAD may be
 * lost; the sender repeats it when no answer comes. -EINVAL: no such port or GID, or no route;
 * -EAGAIN: no room now.
 */
VB_API int hca_gsi_send(const struct hca_adapter *adapter, const struct hca_av *to,
			const uint8_t mad[HCA_MAD_BYTES]);

/* Whether the other end of `to` is a port of this host. */
VB_API bool hca_gsi_is_local(const struct hca_adapter *adapter, const struct hca_av *to);

#endif
