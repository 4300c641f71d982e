/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to the flow engine (ether/flow_types.h) by adapter and port, for the public libraries.
 */
#ifndef HCA_FLOW_H
#define HCA_FLOW_H

#include "ether/aso.h"
#include "ether/aso_meter.h"
#include "ether/flow_action.h"
#include "ether/flow_edit.h"
#include "ether/flow_key.h"
#include "ether/flow_rule.h"
#include "ether/flow_table.h"
#include "ether/port.h"
#include "hca/device/adapter.h"

/*
 * Priorities in a root table; lower numbers match first. Each priority of a program has two levels:
 * rules after which matching goes on come before the other rules. Rules for all multicast frames
 * and rules for frames that no other rule takes come last.
 */
#define HCA_FLOW_PRIORITY(user, goes_on) ((uint32_t)(user)*2 + !(goes_on))
#define HCA_FLOW_MULTICAST               0x20000u
#define HCA_FLOW_LEFTOVERS               0x20001u

/*
 * -EINVAL for a port that does not exist, -EOPNOTSUPP for one that has no tables of this domain: an InfiniBand
 * port has those for packets of queue pairs only.
 */
VB_API int hca_flow_port(const struct hca_adapter *adapter, unsigned int port,
			 enum flow_domain domain, struct ether_port **out);

#endif
