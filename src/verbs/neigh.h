/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MAC addresses and VLANs from the host's kernel, for programs that write Ethernet headers themselves.
 */
#ifndef VERBS_NEIGH_H
#define VERBS_NEIGH_H

#include <stdint.h>

#define VB_NO_VLAN 0xffff

/*
 * The MAC of the next hop from one GID to another through the interface. If the kernel has to resolve it
 * first, that may take seconds. 0 or -EHOSTUNREACH.
 */
int vb_neigh_mac(unsigned int ifindex, const uint8_t from[16], const uint8_t to[16],
		 uint8_t mac[6]);
/* The VLAN id of the interface, or VB_NO_VLAN. */
uint16_t vb_neigh_vlan(unsigned int ifindex);

#endif
