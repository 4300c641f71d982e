/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of packets: VLAN tags, tunnel headers, fields.
 */
#ifndef ETHER_FLOW_EDIT_H
#define ETHER_FLOW_EDIT_H

#include <stddef.h>

#include "ether/flow_run.h"
#include "ether/flow_types.h"
#include "util/api.h"

enum flow_reformat {
	FLOW_ENCAP_L2, /* the data is put before the frame */
	FLOW_DECAP_L2, /* removes all before the inner frame */
	FLOW_ENCAP_L3, /* the data replaces the Ethernet header and its tags */
	FLOW_DECAP_L3, /* the data, an Ethernet header, replaces all before the inner IP header */
	FLOW_POP_VLAN,
	FLOW_PUSH_VLAN, /* data: TPID and TCI */
};

#define FLOW_DATA_MAX 512u /* bytes that one edit may add */

/* -EINVAL: the length of the data is wrong for this kind. */
VB_API int flow_edit_reformat(enum flow_reformat kind, const void *data, size_t len,
			      struct flow_edit **out);
/*
 * `count` commands of 8 bytes each in the layout of a ConnectX: set, add, copy. -EINVAL for an unknown
 * field or command, or a range outside the field.
 */
VB_API int flow_edit_modify(const uint8_t *commands, unsigned int count, struct flow_edit **out);
VB_API void flow_edit_put(struct flow_edit *edit);
/* The bytes that a push or an encapsulation adds; 0 for others. */
VB_API size_t flow_edit_data(const struct flow_edit *edit);

struct flow_edit *flow_edit_get(struct flow_edit *edit);
/* false: the change is not possible, and the packet is dropped. */
bool flow_edit_apply(const struct flow_edit *edit, struct flow_run *run);

#endif
