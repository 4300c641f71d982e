/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames for tests: Ethernet, IPv4 or IPv6, TCP, UDP or ESP, and a counted payload. */
#ifndef TESTS_ETHER_FRAMES_H
#define TESTS_ETHER_FRAMES_H

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

enum {
	FRAME_TCP = 6,
	FRAME_UDP = 17,
	FRAME_ESP = 50,
};

struct frame {
	uint32_t len;
	uint8_t data[16384];
};

/* Check sums are zero; with ESP the two ports are the halves of the SPI. */
static inline void frame_ip(struct frame *f, const char *src, const char *dst, int protocol,
			    uint16_t sport, uint16_t dport, uint32_t payload)
{
	uint32_t head = protocol == FRAME_TCP ? 20 : 8, ip = strchr(src, ':') ? 40 : 20;
	uint8_t *l3 = f->data + 14, *l4 = l3 + ip;

	memset(f->data, 0, 14 + ip + head + payload);
	memcpy(f->data, "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01", 12);
	f->len = 14 + ip + head + payload;
	if (ip == 40) {
		f->data[12] = 0x86;
		f->data[13] = 0xdd;
		l3[0] = 0x60;
		l3[4] = (head + payload) >> 8;
		l3[5] = (uint8_t)(head + payload);
		l3[6] = (uint8_t)protocol;
		l3[7] = 64;
		inet_pton(AF_INET6, src, l3 + 8);
		inet_pton(AF_INET6, dst, l3 + 24);
	} else {
		f->data[12] = 0x08;
		l3[0] = 0x45;
		l3[2] = (ip + head + payload) >> 8;
		l3[3] = (uint8_t)(ip + head + payload);
		l3[8] = 64;
		l3[9] = (uint8_t)protocol;
		inet_pton(AF_INET, src, l3 + 12);
		inet_pton(AF_INET, dst, l3 + 16);
	}
	l4[0] = sport >> 8;
	l4[1] = (uint8_t)sport;
	l4[2] = dport >> 8;
	l4[3] = (uint8_t)dport;
	if (protocol == FRAME_TCP) {
		l4[12] = 0x50;
		l4[13] = 0x18; /* PSH and ACK */
	} else if (protocol == FRAME_UDP) {
		l4[4] = (head + payload) >> 8;
		l4[5] = (uint8_t)(head + payload);
	}
	for (uint32_t i = 0; i < payload; i++)
		l4[head + i] = (uint8_t)i;
}

#endif
