/* SPDX-License-Identifier: BSD-2-Clause */
/* The definition of the ICRC, bit by bit, over a whole IP packet: the reference for the fast code. */
#ifndef TESTS_ROCE_ICRC_REFERENCE_H
#define TESTS_ROCE_ICRC_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "roce/encode.h"

/* `len` bytes from the IP header on, without the ICRC itself. */
static inline uint32_t icrc_reference(const uint8_t *ip, size_t len)
{
	bool ipv4 = ip[0] >> 4 == 4;
	size_t udp = ipv4 ? 20 : 40;
	uint8_t all[8 + 40 + 8 + ROCE_MAX_PACKET];
	uint8_t *p = all + 8;
	uint32_t crc = 0xffffffff;

	memset(all, 0xff, 8);
	memcpy(p, ip, len);
	if (ipv4) {
		p[1] = p[8] = p[10] = p[11] = 0xff;
	} else {
		p[0] |= 0x0f;
		p[1] = p[2] = p[3] = p[7] = 0xff;
	}
	p[udp + 6] = p[udp + 7] = 0xff;
	p[udp + 8 + 4] = 0xff;
	for (size_t i = 0; i < len + 8; i++) {
		crc ^= all[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

#endif
