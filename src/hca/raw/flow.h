/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow engine (ether/flow_types.h) as the public libraries reach it: by adapter and port.
 */
#ifndef HCA_FLOW_H
#define HCA_FLOW_H

#include "ether/flow_action.h"
#include "ether/flow_edit.h"
#include "ether/flow_key.h"
#include "ether/flow_rule.h"
#include "ether/flow_table.h"
#include "ether/port_types.h"
#include "hca/device/adapter.h"

/*
 * Priorities of a root table. What programs number from 0 has two places each: a rule that others
 * are to follow comes just before the others. Behind them are those for multicast addresses, and
 * what takes what is left.
 */
#define HCA_FLOW_PRIORITY(user, goes_on) ((uint32_t)(user)*2 + !(goes_on))
#define HCA_FLOW_MULTICAST               0x20000u
#define HCA_FLOW_LEFTOVERS               0x20001u

/* -EINVAL for a port that does not exist, or is not Ethernet. */
VB_API int hca_flow_port(const struct hca_adapter *adapter, unsigned int port,
			 struct ether_port **out);

#endif
