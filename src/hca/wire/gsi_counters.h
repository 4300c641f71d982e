/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of the management datagrams of this process.
 */
#ifndef HCA_GSI_COUNTERS_H
#define HCA_GSI_COUNTERS_H

#include <stdint.h>

#include "util/api.h"

enum hca_gsi_counter {
	HCA_GSI_SENT,
	HCA_GSI_RECEIVED, /* given to an agent */
	HCA_GSI_PASSED_ON,
	HCA_GSI_DROP_QKEY,
	HCA_GSI_DROP_FORM, /* length, version, no datagram, no such port */
	HCA_GSI_DROP_NO_AGENT,
	HCA_GSI_DROP_LOST, /* no room, or no memory */
	HCA_GSI_COUNTERS,
};

VB_API uint64_t hca_gsi_count(enum hca_gsi_counter which);
VB_API const char *hca_gsi_counter_name(enum hca_gsi_counter which);

void gsi_count(enum hca_gsi_counter which);

#endif
