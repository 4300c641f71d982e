/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pair 1 of the Ethernet ports: its sockets.
 */
#ifndef HCA_GSI_PORTS_H
#define HCA_GSI_PORTS_H

#include "hca/device/adapter.h"
#include "hca/device/work.h"

struct forward;

/* Opens sockets at all addresses that have none yet. */
void gsi_ports_listen(void);
/* Sends a MAD by the wire. Inside an epoch section. */
int gsi_ports_send(const struct hca_adapter *adapter, const struct hca_av *to,
		   const struct forward *f, const uint8_t *mad);

#endif
