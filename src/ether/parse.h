/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offsets of the headers of a frame: the outer ones, then the inner ones of a tunnel, in one pass.
 * Offsets count from the frame's first byte. Nothing beyond the frame's end is read, and only complete
 * headers are reported.
 */
#ifndef ETHER_PARSE_H
#define ETHER_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#define ETHER_HEADER 14u
#define ETHER_VLANS  2u

enum ether_l3 {
	ETHER_L3_NONE,
	ETHER_L3_IPV4,
	ETHER_L3_IPV6,
};

enum ether_l4 {
	ETHER_L4_NONE,
	ETHER_L4_TCP,
	ETHER_L4_UDP,
	ETHER_L4_ESP,
	ETHER_L4_GRE,
	ETHER_L4_ICMP, /* v4 or v6 */
	ETHER_L4_OTHER,
};

enum ether_tunnel {
	ETHER_TUNNEL_NONE,
	ETHER_TUNNEL_VXLAN,
	ETHER_TUNNEL_VXLAN_GPE,
	ETHER_TUNNEL_GENEVE,
	ETHER_TUNNEL_GRE,
	ETHER_TUNNEL_NVGRE,
	ETHER_TUNNEL_IPIP, /* IPv4 or IPv6 right behind IPv4 or IPv6 */
	ETHER_TUNNEL_MPLS, /* over UDP or GRE */
	ETHER_TUNNEL_GTPU,
};

/* One level of headers. */
struct ether_headers {
	bool has_l2;
	uint8_t vlans;     /* tags present: 0 to ETHER_VLANS */
	bool mpls;         /* labels before IP; the first is at mpls_off */
	uint8_t l3;        /* enum ether_l3 */
	uint8_t l4;        /* enum ether_l4; NONE for all fragments but the first */
	uint8_t protocol;  /* of IPv4, or the last next header of IPv6 */
	bool fragment;     /* a fragment of IP, the first one included */
	uint16_t l2_off;   /* destination MAC */
	uint16_t vlan_off; /* the first tag's TCI; the second's is 4 bytes on */
	uint16_t mpls_off; /* of a tunnel's labels: equals tunnel_off */
	uint16_t type;     /* EtherType behind the tags, host order */
	uint16_t l3_off;
	uint16_t l4_off;   /* behind IPv4 options and IPv6 extension headers */
	uint16_t data_off; /* behind TCP or UDP; equals l4_off for the others */
	uint16_t l3_len;   /* bytes from l3_off on that IP itself claims, cut to the frame */
};

struct ether_parsed {
	uint8_t tunnel;      /* enum ether_tunnel */
	uint16_t tunnel_off; /* its header (VXLAN, GRE, the first MPLS label ...) */
	struct ether_headers outer;
	struct ether_headers inner; /* of a tunnel; else all zero */
};

void ether_parse(const uint8_t *data, uint32_t len, struct ether_parsed *out);

#endif
