/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames that a port asks the switch for. In memory shared with peers, which read it without a
 * lock.
 */
#ifndef ETHER_RX_FILTER_H
#define ETHER_RX_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ETHER_RX_CLAIMS 8u

struct ether_rx_filter {
	_Atomic uint64_t macs;  /* bit ether_mac_bit() of each address asked for */
	_Atomic uint32_t flags; /* ETHER_RX_* */
	/*
	 * Addresses (ether_mac_number()) that the port takes all frames of; 0: none. With more than
	 * fit here, ports with ETHER_RX_UNCLAIMED get frames that they need not get.
	 */
	_Atomic uint64_t claimed[ETHER_RX_CLAIMS];
};

#define ETHER_RX_ALL       1u /* every frame */
#define ETHER_RX_MULTICAST 2u /* every multicast; broadcast included */
#define ETHER_RX_UNCLAIMED 4u /* every frame that no other port takes */

static inline unsigned int ether_mac_bit(const uint8_t mac[6])
{
	uint32_t h = ((uint32_t)mac[2] << 24 | mac[3] << 16 | mac[4] << 8 | mac[5]) ^
		     ((uint32_t)mac[0] << 8 | mac[1]);

	return (h * 0x9e3779b1u) >> 26;
}

static inline uint64_t ether_mac_number(const uint8_t mac[6])
{
	uint64_t number = 1; /* never 0 */

	for (int i = 0; i < 6; i++)
		number = number << 8 | mac[i];
	return number;
}

enum ether_wants {
	ETHER_WANTS_NOT,
	ETHER_WANTS_UNCLAIMED, /* unless another port takes it: ether_rx_filter_claims() */
	ETHER_WANTS,
};

/* Whether the port wants frames to this address. May say yes wrongly (hash), never no. */
static inline enum ether_wants ether_rx_filter_wants(const struct ether_rx_filter *filter,
						     const uint8_t mac[6])
{
	uint32_t flags = atomic_load_explicit(&filter->flags, memory_order_relaxed);
	uint64_t macs = atomic_load_explicit(&filter->macs, memory_order_relaxed);

	if (flags & ETHER_RX_ALL || (flags & ETHER_RX_MULTICAST && mac[0] & 1) ||
	    macs >> ether_mac_bit(mac) & 1)
		return ETHER_WANTS;
	if (flags & ETHER_RX_UNCLAIMED)
		return mac[0] & 1 ? ETHER_WANTS : ETHER_WANTS_UNCLAIMED;
	return ETHER_WANTS_NOT;
}

static inline bool ether_rx_filter_claims(const struct ether_rx_filter *filter,
					  const uint8_t mac[6])
{
	for (unsigned int i = 0; i < ETHER_RX_CLAIMS; i++)
		if (atomic_load_explicit(&filter->claimed[i], memory_order_relaxed) ==
		    ether_mac_number(mac))
			return true;
	return false;
}

#endif
