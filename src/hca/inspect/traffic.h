/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of a port on the wire: the sum over this process's RoCEv2 endpoints at the port's
 * addresses. Packets between processes of one host use no port.
 */
#ifndef HCA_TRAFFIC_H
#define HCA_TRAFFIC_H

#include <stdint.h>

#include "hca/device/adapter.h"

struct hca_traffic {
	uint64_t tx_packets, tx_bytes, tx_errors;
	uint64_t rx_packets, rx_bytes, rx_errors;
};

VB_API void hca_port_traffic(const struct hca_adapter *adapter, unsigned int port,
			     struct hca_traffic *out);

#endif
