/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The input of the RSS hash.
 */
#ifndef ETHER_RSS_H
#define ETHER_RSS_H

#include "ether/frame.h"
#include "ether/toeplitz.h"

/*
 * The input, in the order that ConnectX has: source address, destination address, source port,
 * destination port (or the SPI). Fields that `fields` (enum ether_rss) or the frame does
 * not have are left out; *used has those that are in. Returns its length.
 */
size_t ether_rss_input(const uint8_t *data, const struct ether_parsed *parsed, uint32_t fields,
		       uint8_t input[ETHER_RSS_INPUT], uint32_t *used);

#endif
