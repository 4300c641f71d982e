/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MAC addresses of GIDs, without asking the network.
 */
#include "verbs/eth.h"

#include <errno.h>
#include <string.h>

#include "hca/device/port.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
/* Multicast over IPv4, as the RoCE annex writes it. */
static const uint8_t mapped_group[12] = { 0xff, 0x0e, [10] = 0xff, [11] = 0xff };
static const uint8_t link_local[8] = { 0xfe, 0x80 };

static bool is_group(const uint8_t gid[16], uint8_t mac[6])
{
	if (!memcmp(gid, mapped_group, sizeof(mapped_group)) ||
	    (!memcmp(gid, mapped, sizeof(mapped)) && (gid[12] & 0xf0) == 0xe0)) {
		const uint8_t to[6] = { 0x01, 0x00, 0x5e, gid[13] & 0x7f, gid[14], gid[15] };

		memcpy(mac, to, sizeof(to));
		return true;
	}
	if (gid[0] == 0xff) {
		const uint8_t to[6] = { 0x33, 0x33, gid[12], gid[13], gid[14], gid[15] };

		memcpy(mac, to, sizeof(to));
		return true;
	}
	return false;
}

/* A link-local GID that was made of a MAC. */
static bool holds_mac(const uint8_t gid[16], uint8_t mac[6])
{
	const uint8_t to[6] = { gid[8] ^ 2, gid[9], gid[10], gid[13], gid[14], gid[15] };

	if (memcmp(gid, link_local, sizeof(link_local)) || gid[11] != 0xff || gid[12] != 0xfe)
		return false;
	memcpy(mac, to, sizeof(to));
	return true;
}

int vb_eth_mac(const uint8_t gid[16], uint8_t mac[6])
{
	if (is_group(gid, mac) || holds_mac(gid, mac) ||
	    hca_gid_mac_quick((const struct hca_gid *)gid, mac))
		return 0;
	return -EHOSTUNREACH;
}
