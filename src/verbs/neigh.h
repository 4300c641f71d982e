/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the host's kernel knows of its neighbours, for programs that want to write Ethernet headers
 * themselves.
 */
#ifndef VERBS_NEIGH_H
#define VERBS_NEIGH_H

#include <stdint.h>

#define VB_NO_VLAN 0xffff

/*
 * The MAC of the next hop on the way from one GID to another through the interface. The kernel is
 * made to ask for it when it does not know; that may take seconds. 0 or -EHOSTUNREACH.
 */
int vb_neigh_mac(unsigned int ifindex, const uint8_t from[16], const uint8_t to[16],
		 uint8_t mac[6]);
/* The tag of frames of the interface, or VB_NO_VLAN. */
uint16_t vb_neigh_vlan(unsigned int ifindex);

#endif
