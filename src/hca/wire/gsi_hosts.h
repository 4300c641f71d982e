/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a process receives RoCE packets at other hosts. A host whose last process has died refuses them
 * (ICMP port unreachable), which only a connected UDP socket reports.
 */
#ifndef HCA_GSI_HOSTS_H
#define HCA_GSI_HOSTS_H

#include <stdbool.h>

#include "hca/device/adapter.h"
#include "hca/device/work.h"
#include "util/api.h"

/*
 * Sends an empty UDP packet to the host of `to`, about one a second, and returns whether one was refused since
 * the caller began to ask. A host that does not answer refuses nothing. At most 256 hosts are asked at a time.
 */
VB_API bool hca_gsi_host_refuses(const struct hca_adapter *adapter, const struct hca_av *to);

/* In the child of a fork: the sockets are the parent's. */
void gsi_hosts_close_inherited(void);

#endif
