/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow steering ports of adapters. */
#include "hca/raw/flow.h"

#include <errno.h>

#include "ether/port.h"
#include "util/explain.h"

int hca_flow_port(const struct hca_adapter *adapter, unsigned int port, enum flow_domain domain,
		  struct ether_port **out)
{
	struct ether_port *p;

	if (port < 1 || port > (unsigned int)adapter->port_count)
		return explain(EINVAL, "port %u does not exist; %s has ports 1 to %d", port,
			       adapter->name, adapter->port_count);
	if (adapter->ports[port - 1].link != HCA_LINK_ETHERNET && !flow_domain_is_rdma(domain))
		return explain(EOPNOTSUPP,
			       "port %u of %s is InfiniBand, which has no frames to steer", port,
			       adapter->name);
	p = ether_port(adapter->index, port);
	if (!p)
		return explain(EINVAL, "port %u of %s has no flow steering: only %u adapters have",
			       port, adapter->name, ETHER_ADAPTERS);
	*out = p;
	return 0;
}
