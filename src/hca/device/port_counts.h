/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of a port that all processes of the host add to (enum hca_count). */
#ifndef HCA_PORT_COUNTS_H
#define HCA_PORT_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "hca/device/adapter.h"

#define HCA_PORT_COUNTS_NAME (HCA_NAME_MAX + 8)

/* The name of the port's row in the host directory. */
static inline void hca_port_counts_name(const char *adapter, unsigned int port,
					char out[HCA_PORT_COUNTS_NAME])
{
	snprintf(out, HCA_PORT_COUNTS_NAME, "%s/%u", adapter, port);
}

/* By enum hca_count; NULL: the port is not counted, or does not exist. */
_Atomic uint64_t *hca_port_counts(const struct hca_adapter *adapter, unsigned int port);

#endif
