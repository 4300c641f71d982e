/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/device/port_counts.h"

#include "fabric/port_counts.h"
#include "hca/device/counters.h"

_Static_assert((int)HCA_COUNTS <= FABRIC_PORT_TRAFFIC, "a row has room for each");

_Atomic uint64_t *hca_port_counts(const struct hca_adapter *adapter, unsigned int port)
{
	char name[HCA_PORT_COUNTS_NAME];

	/* Rows are never freed: a number that a program made up must not take one. */
	if (!port || port > HCA_PORTS_MAX || (int)port > adapter->port_count)
		return NULL;
	hca_port_counts_name(adapter->name, port, name);
	return fabric_port_counts(name);
}
