/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One pass over a frame's headers. Called for every frame that a rule, a hash or a check sum needs
 * to be looked into; no lock, no state.
 */
#include "ether/parse.h"

#include <string.h>

#include "util/api.h"

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_QINQ 0x88a8

#define IP_HOPOPTS  0
#define IP_ICMP     1
#define IP_TCP      6
#define IP_UDP      17
#define IP_ROUTING  43
#define IP_FRAGMENT 44
#define IP_GRE      47
#define IP_ESP      50
#define IP_AH       51
#define IP_ICMPV6   58
#define IP_DSTOPTS  60

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void take_l4(const uint8_t *data, uint32_t end, struct ether_headers *h)
{
	uint32_t left = end - h->l4_off;

	h->data_off = h->l4_off;
	switch (h->protocol) {
	case IP_TCP:
		if (left < 20)
			return;
		h->l4 = ETHER_L4_TCP;
		h->data_off = h->l4_off + (data[h->l4_off + 12] >> 4) * 4;
		if (h->data_off > end || h->data_off < h->l4_off + 20)
			h->data_off = h->l4_off + 20;
		return;
	case IP_UDP:
		if (left < 8)
			return;
		h->l4 = ETHER_L4_UDP;
		h->data_off = h->l4_off + 8;
		return;
	case IP_ESP:
		if (left >= 8)
			h->l4 = ETHER_L4_ESP;
		return;
	case IP_GRE:
		if (left >= 4)
			h->l4 = ETHER_L4_GRE;
		return;
	case IP_ICMP:
	case IP_ICMPV6:
		h->l4 = ETHER_L4_ICMP;
		return;
	default:
		h->l4 = ETHER_L4_OTHER;
	}
}

static void take_ipv4(const uint8_t *data, uint32_t len, struct ether_headers *h)
{
	const uint8_t *ip = data + h->l3_off;
	uint32_t left = len - h->l3_off, header, total, frag;

	if (left < 20 || ip[0] >> 4 != 4)
		return;
	header = (ip[0] & 0xf) * 4;
	total = get16(ip + 2);
	if (header < 20 || header > left || total < header)
		return;
	frag = get16(ip + 6);
	h->l3 = ETHER_L3_IPV4;
	h->l3_len = total < left ? total : left;
	h->protocol = ip[9];
	h->fragment = frag & 0x3fff;
	h->l4_off = h->data_off = h->l3_off + header;
	if (!(frag & 0x1fff))
		take_l4(data, h->l3_off + h->l3_len, h);
}

static void take_ipv6(const uint8_t *data, uint32_t len, struct ether_headers *h)
{
	const uint8_t *ip = data + h->l3_off;
	uint32_t left = len - h->l3_off, total, off = 40;
	bool later = false;
	uint8_t next;

	if (left < 40 || ip[0] >> 4 != 6)
		return;
	total = 40u + get16(ip + 4);
	if (total > left)
		total = left;
	h->l3 = ETHER_L3_IPV6;
	h->l3_len = total;
	next = ip[6];
	for (;;) {
		uint32_t size;

		if (next != IP_HOPOPTS && next != IP_ROUTING && next != IP_FRAGMENT &&
		    next != IP_AH && next != IP_DSTOPTS)
			break;
		if (total - off < 8)
			break;
		if (next == IP_FRAGMENT) {
			h->fragment = true;
			later = later || get16(ip + off + 2) >> 3;
			size = 8;
		} else {
			size = next == IP_AH ? (ip[off + 1] + 2u) * 4 : (ip[off + 1] + 1u) * 8;
		}
		if (size > total - off)
			break;
		next = ip[off];
		off += size;
	}
	h->protocol = next;
	h->l4_off = h->data_off = h->l3_off + off;
	if (!later)
		take_l4(data, h->l3_off + total, h);
}

static void take_l2(const uint8_t *data, uint32_t len, struct ether_headers *h)
{
	uint32_t off = h->l2_off;

	if (len - off < ETHER_HEADER)
		return;
	h->has_l2 = true;
	h->type = get16(data + off + 12);
	off += ETHER_HEADER;
	h->vlan_off = off;
	while ((h->type == TYPE_VLAN || h->type == TYPE_QINQ) && h->vlans < ETHER_VLANS &&
	       len - off >= 4) {
		h->type = get16(data + off + 2);
		h->vlans++;
		off += 4;
	}
	h->l3_off = h->l4_off = h->data_off = off;
	if (h->type == TYPE_IPV4)
		take_ipv4(data, len, h);
	else if (h->type == TYPE_IPV6)
		take_ipv6(data, len, h);
}

void ether_parse(const uint8_t *data, uint32_t len, struct ether_parsed *out)
{
	memset(out, 0, sizeof(*out));
	if (len > UINT16_MAX)
		len = UINT16_MAX;
	take_l2(data, len, &out->outer);
}
