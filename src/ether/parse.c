/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One pass over a frame's headers, for rules, hashes and checksums. No lock, no state.
 */
#include "ether/parse.h"

#include <string.h>

#include "util/api.h"

#define TYPE_IPV4           0x0800
#define TYPE_IPV6           0x86dd
#define TYPE_VLAN           0x8100
#define TYPE_QINQ           0x88a8
#define TYPE_MPLS           0x8847
#define TYPE_MPLS_MULTICAST 0x8848
#define TYPE_BRIDGED        0x6558 /* Ethernet inside of GRE or Geneve */

#define IP_HOPOPTS  0
#define IP_ICMP     1
#define IP_IPV4     4
#define IP_TCP      6
#define IP_UDP      17
#define IP_IPV6     41
#define IP_ROUTING  43
#define IP_FRAGMENT 44
#define IP_GRE      47
#define IP_ESP      50
#define IP_AH       51
#define IP_ICMPV6   58
#define IP_DSTOPTS  60

#define PORT_GTPU      2152
#define PORT_VXLAN     4789
#define PORT_VXLAN_GPE 4790
#define PORT_GENEVE    6081
#define PORT_MPLS      6635

#define MPLS_LABELS 16 /* of one stack; a longer one is not parsed */
#define EXTENSIONS  16 /* headers of IPv6; further ones are not parsed */

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
	for (unsigned int i = 0; i < EXTENSIONS; i++) {
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

/* IP at h->l3_off; `type` is its EtherType. */
static void take_l3(const uint8_t *data, uint32_t len, uint16_t type, struct ether_headers *h)
{
	h->l4_off = h->data_off = h->l3_off;
	if (type == TYPE_IPV4)
		take_ipv4(data, len, h);
	else if (type == TYPE_IPV6)
		take_ipv6(data, len, h);
}

/* A stack of labels at `off`. It does not name the next protocol: the IP version field does. */
static void take_mpls(const uint8_t *data, uint32_t len, uint32_t off, struct ether_headers *h)
{
	if (len - off < 4)
		return;
	h->mpls = true;
	h->mpls_off = off;
	for (unsigned int i = 0; i < MPLS_LABELS && len - off >= 4; i++) {
		bool bottom = data[off + 2] & 1;

		off += 4;
		if (!bottom)
			continue;
		h->l3_off = h->l4_off = h->data_off = off;
		if (off < len)
			take_l3(data, len, data[off] >> 4 == 4 ? TYPE_IPV4 : TYPE_IPV6, h);
		return;
	}
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
	h->l3_off = off;
	take_l3(data, len, h->type, h);
	if (h->type == TYPE_MPLS || h->type == TYPE_MPLS_MULTICAST)
		take_mpls(data, len, off, h);
}

/* The payload of a tunnel: `type` is an EtherType; TYPE_BRIDGED is an Ethernet frame. */
static void take_inner(const uint8_t *data, uint32_t end, uint32_t off, uint16_t type,
		       struct ether_headers *h)
{
	if (off > end)
		return;
	h->l2_off = h->l3_off = h->l4_off = h->data_off = off;
	switch (type) {
	case TYPE_BRIDGED:
		take_l2(data, end, h);
		break;
	case TYPE_IPV4:
	case TYPE_IPV6:
		h->type = type;
		take_l3(data, end, type, h);
		break;
	case TYPE_MPLS:
		take_mpls(data, end, off, h);
		break;
	}
}

static void take_gre(const uint8_t *data, uint32_t end, struct ether_parsed *p)
{
	uint32_t off = p->outer.l4_off, size = 4;
	uint16_t flags = get16(data + off), type = get16(data + off + 2);

	/* Version 1 (RFC 2637) has PPP inside, but adapters look at the EtherType alone. */
	if ((flags & 7) > 1)
		return;
	size += flags & 1 && flags & 0x80 ? 4 : 0; /* acknowledgement */
	size += flags & 0x8000 ? 4 : 0;
	size += flags & 0x2000 ? 4 : 0;
	size += flags & 0x1000 ? 4 : 0;
	if (end - off < size)
		return;
	p->tunnel_off = off;
	p->tunnel = ETHER_TUNNEL_GRE;
	take_inner(data, end, off + size, type, &p->inner);
	if (type == TYPE_BRIDGED && flags & 0x2000) {
		p->tunnel = ETHER_TUNNEL_NVGRE;
	} else if (type == TYPE_MPLS && p->inner.mpls) {
		p->tunnel = ETHER_TUNNEL_MPLS;
		p->tunnel_off = p->inner.mpls_off;
	}
}

static void take_vxlan_gpe(const uint8_t *data, uint32_t end, struct ether_parsed *p)
{
	static const uint16_t types[] = { 0, TYPE_IPV4, TYPE_IPV6, TYPE_BRIDGED };
	uint32_t off = p->tunnel_off;

	p->tunnel = ETHER_TUNNEL_VXLAN_GPE;
	if (data[off + 3] < array_size(types))
		take_inner(data, end, off + 8, types[data[off + 3]], &p->inner);
}

static void take_gtpu(const uint8_t *data, uint32_t end, struct ether_parsed *p)
{
	uint32_t off = p->tunnel_off, at = off + 8;

	p->tunnel = ETHER_TUNNEL_GTPU;
	if (data[off + 1] != 0xff) /* not a user packet (T-PDU) */
		return;
	if (data[off] & 7) {
		uint8_t next;

		at += 4;
		if (at > end)
			return;
		next = data[off] & 4 ? data[at - 1] : 0;
		while (next) {
			uint32_t size;

			if (at == end)
				return;
			size = data[at] * 4u;
			if (!size || end - at < size)
				return;
			at += size;
			next = data[at - 1];
		}
	}
	if (at < end)
		take_inner(data, end, at, data[at] >> 4 == 4 ? TYPE_IPV4 : TYPE_IPV6, &p->inner);
}

/* A tunnel over UDP is recognised by its registered destination port only. */
static void take_udp_tunnel(const uint8_t *data, uint32_t end, struct ether_parsed *p)
{
	uint32_t off = p->outer.data_off;
	uint16_t port = get16(data + p->outer.l4_off + 2);

	if (end - off < (port == PORT_MPLS ? 4 : 8))
		return;
	p->tunnel_off = off;
	switch (port) {
	case PORT_VXLAN:
		p->tunnel = ETHER_TUNNEL_VXLAN;
		take_inner(data, end, off + 8, TYPE_BRIDGED, &p->inner);
		break;
	case PORT_VXLAN_GPE:
		take_vxlan_gpe(data, end, p);
		break;
	case PORT_GENEVE:
		p->tunnel = ETHER_TUNNEL_GENEVE;
		take_inner(data, end, off + 8 + (data[off] & 0x3f) * 4, get16(data + off + 2),
			   &p->inner);
		break;
	case PORT_MPLS:
		p->tunnel = ETHER_TUNNEL_MPLS;
		take_inner(data, end, off, TYPE_MPLS, &p->inner);
		break;
	case PORT_GTPU:
		take_gtpu(data, end, p);
		break;
	default:
		p->tunnel_off = 0;
	}
}

static void take_tunnel(const uint8_t *data, struct ether_parsed *p)
{
	const struct ether_headers *h = &p->outer;
	uint32_t end = h->l3_off + h->l3_len;

	if (!h->l3 || h->fragment)
		return;
	if (h->l4 == ETHER_L4_UDP) {
		take_udp_tunnel(data, end, p);
	} else if (h->l4 == ETHER_L4_GRE) {
		take_gre(data, end, p);
	} else if (h->protocol == IP_IPV4 || h->protocol == IP_IPV6) {
		p->tunnel = ETHER_TUNNEL_IPIP;
		p->tunnel_off = h->l4_off;
		take_inner(data, end, h->l4_off, h->protocol == IP_IPV4 ? TYPE_IPV4 : TYPE_IPV6,
			   &p->inner);
	}
}

void ether_parse(const uint8_t *data, uint32_t len, struct ether_parsed *out)
{
	memset(out, 0, sizeof(*out));
	if (len > UINT16_MAX)
		len = UINT16_MAX;
	take_l2(data, len, &out->outer);
	take_tunnel(data, out);
}
