/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets put together header by header; lengths of IP and UDP are set by pkt_end(). */
#ifndef TESTS_ETHER_FLOW_PACKETS_H
#define TESTS_ETHER_FLOW_PACKETS_H

#include <stdint.h>
#include <string.h>

struct pkt {
	unsigned int len;
	unsigned int ip[4], udp[4]; /* offsets */
	unsigned int ips, udps;
	uint8_t b[2048];
};

static inline void pkt_add(struct pkt *p, const void *data, unsigned int len)
{
	memcpy(p->b + p->len, data, len);
	p->len += len;
}

static inline void pkt_u8(struct pkt *p, uint8_t v)
{
	p->b[p->len++] = v;
}

static inline void pkt_u16(struct pkt *p, uint16_t v)
{
	pkt_u8(p, v >> 8);
	pkt_u8(p, v & 0xff);
}

static inline void pkt_u32(struct pkt *p, uint32_t v)
{
	pkt_u16(p, v >> 16);
	pkt_u16(p, v & 0xffff);
}

/* 02:00:00:00:00:<n> */
static inline void pkt_mac(struct pkt *p, uint8_t n)
{
	pkt_u32(p, 0x02000000);
	pkt_u16(p, n);
}

static inline void pkt_eth(struct pkt *p, uint8_t dst, uint8_t src, uint16_t type)
{
	pkt_mac(p, dst);
	pkt_mac(p, src);
	pkt_u16(p, type);
}

/* After pkt_eth() with the tag's TPID as type. */
static inline void pkt_vlan(struct pkt *p, uint16_t tci, uint16_t type)
{
	pkt_u16(p, tci);
	pkt_u16(p, type);
}

static inline void pkt_ip4(struct pkt *p, uint32_t src, uint32_t dst, uint8_t proto)
{
	p->ip[p->ips++] = p->len;
	pkt_u16(p, 0x4500 | 0x2e); /* DSCP 11, ECN 2 */
	pkt_u16(p, 0);
	pkt_u32(p, 0x00014000); /* do not fragment */
	pkt_u8(p, 64);
	pkt_u8(p, proto);
	pkt_u16(p, 0);
	pkt_u32(p, src);
	pkt_u32(p, dst);
}

static inline void pkt_ip6(struct pkt *p, uint8_t src, uint8_t dst, uint8_t next)
{
	static const uint8_t net[15] = { 0x20, 0x01, 0x0d, 0xb8 };

	p->ip[p->ips++] = p->len;
	pkt_u32(p, 0x62e12345); /* class 0x2e, label 0x12345 */
	pkt_u16(p, 0);
	pkt_u8(p, next);
	pkt_u8(p, 64);
	pkt_add(p, net, sizeof(net));
	pkt_u8(p, src);
	pkt_add(p, net, sizeof(net));
	pkt_u8(p, dst);
}

static inline void pkt_udp(struct pkt *p, uint16_t src, uint16_t dst)
{
	p->udp[p->udps++] = p->len;
	pkt_u16(p, src);
	pkt_u16(p, dst);
	pkt_u32(p, 0);
}

static inline void pkt_tcp(struct pkt *p, uint16_t src, uint16_t dst)
{
	pkt_u16(p, src);
	pkt_u16(p, dst);
	pkt_u32(p, 0x01020304);
	pkt_u32(p, 0x05060708);
	pkt_u16(p, 0x5112); /* NS, ACK and SYN */
	pkt_u16(p, 0xffff);
	pkt_u32(p, 0);
}

static inline void pkt_fill(struct pkt *p, unsigned int len)
{
	for (unsigned int i = 0; i < len; i++)
		pkt_u8(p, i);
}

static inline uint16_t pkt_sum(const uint8_t *at, unsigned int len, uint32_t sum)
{
	for (unsigned int i = 0; i < len; i++)
		sum += i & 1 ? at[i] : at[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static inline void pkt_set16(struct pkt *p, unsigned int at, uint16_t v)
{
	p->b[at] = v >> 8;
	p->b[at + 1] = v & 0xff;
}

static inline void pkt_end(struct pkt *p)
{
	for (unsigned int i = 0; i < p->udps; i++)
		pkt_set16(p, p->udp[i] + 4, p->len - p->udp[i]);
	for (unsigned int i = 0; i < p->ips; i++) {
		unsigned int at = p->ip[i];

		if (p->b[at] >> 4 == 6) {
			pkt_set16(p, at + 4, p->len - at - 40);
			continue;
		}
		pkt_set16(p, at + 2, p->len - at);
		pkt_set16(p, at + 10, 0);
		pkt_set16(p, at + 10, ~pkt_sum(p->b + at, (p->b[at] & 0xf) * 4, 0));
	}
}

/* The checksum of a TCP segment behind IPv4 without options; after pkt_end(). */
static inline void pkt_tcp_sum(struct pkt *p, unsigned int ip)
{
	unsigned int at = ip + 20, len = p->len - at;
	uint32_t sum = pkt_sum(p->b + ip + 12, 8, 6 + len);

	pkt_set16(p, at + 16, 0);
	pkt_set16(p, at + 16, ~pkt_sum(p->b + at, len, sum));
}

/* 1.1.1.1:src to 2.2.2.2:dst */
static inline struct pkt pkt_plain(uint16_t src, uint16_t dst)
{
	struct pkt p = { 0 };

	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 0x01010101, 0x02020202, 17);
	pkt_udp(&p, src, dst);
	pkt_fill(&p, 40);
	pkt_end(&p);
	return p;
}

/* pkt_plain() inside of VXLAN with VNI 0x123456 */
static inline struct pkt pkt_vxlan(uint16_t src, uint16_t dst)
{
	struct pkt p = { 0 };

	pkt_eth(&p, 12, 11, 0x0800);
	pkt_ip4(&p, 0x0b0b0b0b, 0x0c0c0c0c, 17);
	pkt_udp(&p, 9999, 4789);
	pkt_u32(&p, 0x08000000);
	pkt_u32(&p, 0x12345600);
	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 0x01010101, 0x02020202, 17);
	pkt_udp(&p, src, dst);
	pkt_fill(&p, 40);
	pkt_end(&p);
	return p;
}

#endif
