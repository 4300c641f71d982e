/* SPDX-License-Identifier: BSD-2-Clause */
/* Port counters. Reads the endpoints' counters without a lock, while other threads write them. */
#include "hca/inspect/traffic.h"

#include <string.h>

#include "hca/device/port.h"
#include "hca/wire/wire_ports.h"
#include "roce/endpoint.h"

static bool has_address(const struct hca_adapter *a, unsigned int port,
			const struct roce_addr *addr)
{
	struct hca_gid_entry e;

	for (unsigned int i = 0; i < a->limits.gid_table_len; i++)
		if (hca_port_gid_quick(a, port, i, &e) && !memcmp(e.gid.raw, addr->gid, 16))
			return true;
	return false;
}

void hca_port_traffic(const struct hca_adapter *a, unsigned int port, struct hca_traffic *out)
{
	const struct roce_endpoint *ep;
	struct roce_counters c;

	memset(out, 0, sizeof(*out));
	for (unsigned int i = 0; (ep = wire_endpoint(i)); i++) {
		if (!has_address(a, port, roce_endpoint_addr(ep)))
			continue;
		roce_endpoint_counters(ep, &c);
		out->tx_packets += c.tx_packets;
		out->tx_bytes += c.tx_bytes;
		out->tx_errors += c.tx_lost;
		out->rx_packets += c.rx_packets;
		out->rx_bytes += c.rx_bytes;
		out->rx_errors += c.rx_full;
		for (unsigned int k = 1; k < ROCE_DROP_COUNT; k++)
			if (k != ROCE_DROP_PROBE)
				out->rx_errors += c.rx_drop[k];
	}
}
