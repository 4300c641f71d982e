/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MAC addresses of GIDs.
 */
#ifndef VERBS_ETH_H
#define VERBS_ETH_H

#include <stdint.h>

/*
 * The MAC of a GID, without asking the network: multicast and link-local GIDs contain it, and those
 * of this host are known. -EHOSTUNREACH otherwise.
 */
int vb_eth_mac(const uint8_t gid[16], uint8_t mac[6]);

#endif
