/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every field of every spec of ibv_create_flow(), as a table: where it is in the spec's filter, and
 * where in a packet. A rule for what the packet has there takes the packet, and no other one that
 * differs in the field's first or last bit.
 */
#include "raw_pair.h"

#include <stddef.h>
#include <stdio.h>

enum kind { PLAIN, TCP4, TAGGED, V6, V6_TCP, ESP, GRE, MPLS, MPLS_UDP, MPLS_GRE, VXLAN, VXLAN_V6 };

/* Behind Ethernet and IPv4, IPv6, or all that is before the inner frame in VXLAN. */
enum { L3 = 14, L4 = 34, L4_V6 = 54, IN = 50 };

#define INNER       IBV_FLOW_SPEC_INNER
#define AT(type, f) (8 * offsetof(struct ibv_flow_##type##_filter, f))

static const struct row {
	const char *name;
	uint32_t spec;
	uint32_t before; /* a spec without wishes in front of it; 0: none */
	enum kind kind;
	uint16_t filter, packet; /* in bits */
	uint8_t bits;
} rows[] = {
	{ "eth dst", IBV_FLOW_SPEC_ETH, 0, PLAIN, AT(eth, dst_mac), 0, 48 },
	{ "eth src", IBV_FLOW_SPEC_ETH, 0, PLAIN, AT(eth, src_mac), 48, 48 },
	{ "eth type", IBV_FLOW_SPEC_ETH, 0, PLAIN, AT(eth, ether_type), 96, 16 },
	{ "eth tag", IBV_FLOW_SPEC_ETH, 0, TAGGED, AT(eth, vlan_tag), 112, 16 },
	{ "eth vid", IBV_FLOW_SPEC_ETH, 0, TAGGED, AT(eth, vlan_tag) + 4, 116, 12 },
	{ "eth priority", IBV_FLOW_SPEC_ETH, 0, TAGGED, AT(eth, vlan_tag), 112, 3 },
	{ "eth type in tag", IBV_FLOW_SPEC_ETH, 0, TAGGED, AT(eth, ether_type), 128, 16 },
	{ "ipv4 src", IBV_FLOW_SPEC_IPV4, 0, PLAIN, AT(ipv4, src_ip), 8 * (L3 + 12), 32 },
	{ "ipv4 dst", IBV_FLOW_SPEC_IPV4, 0, PLAIN, AT(ipv4, dst_ip), 8 * (L3 + 16), 32 },
	{ "ipv4 net", IBV_FLOW_SPEC_IPV4, 0, PLAIN, AT(ipv4, dst_ip), 8 * (L3 + 16), 20 },
	{ "ext src", IBV_FLOW_SPEC_IPV4_EXT, 0, PLAIN, AT(ipv4_ext, src_ip), 8 * (L3 + 12), 32 },
	{ "ext dst", IBV_FLOW_SPEC_IPV4_EXT, 0, PLAIN, AT(ipv4_ext, dst_ip), 8 * (L3 + 16), 32 },
	{ "ext proto", IBV_FLOW_SPEC_IPV4_EXT, 0, PLAIN, AT(ipv4_ext, proto), 8 * (L3 + 9), 8 },
	{ "ext tos", IBV_FLOW_SPEC_IPV4_EXT, 0, PLAIN, AT(ipv4_ext, tos), 8 * (L3 + 1), 8 },
	{ "ext ttl", IBV_FLOW_SPEC_IPV4_EXT, 0, PLAIN, AT(ipv4_ext, ttl), 8 * (L3 + 8), 8 },
	{ "ipv6 src", IBV_FLOW_SPEC_IPV6, 0, V6, AT(ipv6, src_ip), 8 * (L3 + 8), 128 },
	{ "ipv6 dst", IBV_FLOW_SPEC_IPV6, 0, V6, AT(ipv6, dst_ip), 8 * (L3 + 24), 128 },
	{ "ipv6 net", IBV_FLOW_SPEC_IPV6, 0, V6, AT(ipv6, dst_ip), 8 * (L3 + 24), 71 },
	{ "ipv6 label", IBV_FLOW_SPEC_IPV6, 0, V6, AT(ipv6, flow_label) + 12, 8 * L3 + 12, 20 },
	{ "ipv6 next", IBV_FLOW_SPEC_IPV6, 0, V6, AT(ipv6, next_hdr), 8 * (L3 + 6), 8 },
	{ "ipv6 class", IBV_FLOW_SPEC_IPV6, 0, V6, AT(ipv6, traffic_class), 8 * L3 + 4, 8 },
	{ "ipv6 hops", IBV_FLOW_SPEC_IPV6, 0, V6, AT(ipv6, hop_limit), 8 * (L3 + 7), 8 },
	{ "udp src", IBV_FLOW_SPEC_UDP, 0, PLAIN, AT(tcp_udp, src_port), 8 * L4, 16 },
	{ "udp dst", IBV_FLOW_SPEC_UDP, 0, PLAIN, AT(tcp_udp, dst_port), 8 * (L4 + 2), 16 },
	{ "tcp src", IBV_FLOW_SPEC_TCP, 0, TCP4, AT(tcp_udp, src_port), 8 * L4, 16 },
	{ "tcp dst", IBV_FLOW_SPEC_TCP, 0, TCP4, AT(tcp_udp, dst_port), 8 * (L4 + 2), 16 },
	{ "v6 udp", IBV_FLOW_SPEC_UDP, 0, V6, AT(tcp_udp, dst_port), 8 * (L4_V6 + 2), 16 },
	{ "v6 tcp", IBV_FLOW_SPEC_TCP, 0, V6_TCP, AT(tcp_udp, src_port), 8 * L4_V6, 16 },
	{ "esp", IBV_FLOW_SPEC_ESP, 0, ESP, AT(esp, spi), 8 * L4, 32 },
	{ "gre sum", IBV_FLOW_SPEC_GRE, 0, GRE, AT(gre, c_ks_res0_ver), 8 * L4, 1 },
	{ "gre key there", IBV_FLOW_SPEC_GRE, 0, GRE, AT(gre, c_ks_res0_ver) + 2, 8 * L4 + 2, 1 },
	{ "gre numbered", IBV_FLOW_SPEC_GRE, 0, GRE, AT(gre, c_ks_res0_ver) + 3, 8 * L4 + 3, 1 },
	{ "gre protocol", IBV_FLOW_SPEC_GRE, 0, GRE, AT(gre, protocol), 8 * (L4 + 2), 16 },
	{ "gre key", IBV_FLOW_SPEC_GRE, 0, GRE, AT(gre, key), 8 * (L4 + 4), 32 },
	{ "mpls", IBV_FLOW_SPEC_MPLS, 0, MPLS, AT(mpls, label), 8 * L3, 32 },
	{ "mpls in udp", IBV_FLOW_SPEC_MPLS, IBV_FLOW_SPEC_UDP, MPLS_UDP, 0, 8 * (L4 + 8), 32 },
	{ "mpls in gre", IBV_FLOW_SPEC_MPLS, IBV_FLOW_SPEC_GRE, MPLS_GRE, 0, 8 * (L4 + 4), 32 },
	{ "vni", IBV_FLOW_SPEC_VXLAN_TUNNEL, 0, VXLAN, 8, 8 * (L4 + 12), 24 },
	{ "inner dst", IBV_FLOW_SPEC_ETH | INNER, 0, VXLAN, AT(eth, dst_mac), 8 * IN, 48 },
	{ "inner src", IBV_FLOW_SPEC_ETH | INNER, 0, VXLAN, AT(eth, src_mac), 8 * (IN + 6), 48 },
	{ "inner ipv4", IBV_FLOW_SPEC_IPV4 | INNER, 0, VXLAN, AT(ipv4, src_ip), 8 * (IN + L3 + 12),
	  32 },
	{ "inner ttl", IBV_FLOW_SPEC_IPV4_EXT | INNER, 0, VXLAN, AT(ipv4_ext, ttl),
	  8 * (IN + L3 + 8), 8 },
	{ "inner udp", IBV_FLOW_SPEC_UDP | INNER, 0, VXLAN, AT(tcp_udp, dst_port),
	  8 * (IN + L4 + 2), 16 },
	{ "inner ipv6", IBV_FLOW_SPEC_IPV6 | INNER, 0, VXLAN_V6, AT(ipv6, dst_ip),
	  8 * (IN + L3 + 24), 128 },
	{ "inner label", IBV_FLOW_SPEC_IPV6 | INNER, 0, VXLAN_V6, AT(ipv6, flow_label) + 12,
	  8 * (IN + L3) + 12, 20 },
	{ "inner tcp", IBV_FLOW_SPEC_TCP | INNER, 0, VXLAN_V6, AT(tcp_udp, src_port),
	  8 * (IN + L4_V6), 16 },
};

static void start(struct pkt *p, uint16_t type, uint8_t protocol)
{
	pkt_eth(p, 2, 1, type);
	if (type == 0x86dd)
		pkt_ip6(p, 1, 2, protocol);
	else if (type == 0x0800)
		pkt_ip4(p, 0x01010101, 0x02020202, protocol);
}

static void add_vxlan_v6(struct pkt *p)
{
	start(p, 0x0800, 17);
	pkt_udp(p, 9999, 4789);
	pkt_u32(p, 0x08000000);
	pkt_u32(p, 0x12345600);
	start(p, 0x86dd, 6);
	pkt_tcp(p, 1000, 2000);
}

static void add_label(struct pkt *p)
{
	pkt_u32(p, 0x12345141); /* label 0x12345, the last one, 65 hops */
	pkt_ip4(p, 0x03030303, 0x04040404, 17);
	pkt_udp(p, 5, 6);
}

static struct pkt packet_of(enum kind kind)
{
	struct pkt p = { 0 };

	switch (kind) {
	case PLAIN:
		return pkt_plain(1000, 2000);
	case VXLAN:
		return pkt_vxlan(1000, 2000);
	case TCP4:
	case V6_TCP:
		start(&p, kind == TCP4 ? 0x0800 : 0x86dd, 6);
		pkt_tcp(&p, 1000, 2000);
		break;
	case V6:
		start(&p, 0x86dd, 17);
		pkt_udp(&p, 1000, 2000);
		break;
	case TAGGED:
		pkt_eth(&p, 2, 1, 0x8100);
		pkt_vlan(&p, 0x6007, 0x0800);
		pkt_ip4(&p, 0x01010101, 0x02020202, 17);
		pkt_udp(&p, 1000, 2000);
		break;
	case ESP:
		start(&p, 0x0800, 50);
		pkt_u32(&p, 0x01020304);
		pkt_u32(&p, 1);
		break;
	case GRE:
		start(&p, 0x0800, 47);
		pkt_u32(&p, 0x20000800);
		pkt_u32(&p, 0xcafe1234);
		pkt_ip4(&p, 0x03030303, 0x04040404, 17);
		pkt_udp(&p, 5, 6);
		break;
	case MPLS:
		start(&p, 0x8847, 0);
		add_label(&p);
		break;
	case MPLS_UDP:
		start(&p, 0x0800, 17);
		pkt_udp(&p, 9999, 6635);
		add_label(&p);
		break;
	case MPLS_GRE:
		start(&p, 0x0800, 47);
		pkt_u32(&p, 0x00008847);
		add_label(&p);
		break;
	case VXLAN_V6:
		add_vxlan_v6(&p);
		break;
	}
	pkt_fill(&p, 40);
	pkt_end(&p);
	return p;
}

#define SHAPE(what, name, simple)                                                                  \
	{                                                                                          \
		IBV_FLOW_SPEC_##what, sizeof(struct ibv_flow_spec_##name),                         \
			offsetof(struct ibv_flow_spec_##name, val),                                \
			offsetof(struct ibv_flow_spec_##name, mask), simple                        \
	}

static const struct shape {
	uint32_t type;
	uint16_t size, value, mask;
	bool simple; /* a ConnectX-3 has it, too */
} shapes[] = {
	SHAPE(ETH, eth, true),     SHAPE(IPV4, ipv4, true),
	SHAPE(TCP, tcp_udp, true), SHAPE(UDP, tcp_udp, true),
	SHAPE(IPV6, ipv6, false),  SHAPE(IPV4_EXT, ipv4_ext, false),
	SHAPE(ESP, esp, false),    SHAPE(GRE, gre, false),
	SHAPE(MPLS, mpls, false),  SHAPE(VXLAN_TUNNEL, tunnel, false),
};

static const struct shape *shape_of(uint32_t type)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (shapes[i].type == (type & ~(uint32_t)INNER))
			return &shapes[i];
	fail_msg("no spec of type 0x%x", type);
	return NULL;
}

static bool is_simple(uint32_t type)
{
	return shape_of(type)->simple && !(type & INNER);
}

struct rule {
	union {
		struct ibv_flow_attr attr;
		uint8_t bytes[512];
	};
};

/* What all specs begin with is their type and size. */
static uint8_t *add_spec(struct rule *r, uint32_t type)
{
	const struct shape *shape = shape_of(type);
	struct ibv_flow_spec_eth head = { .type = type, .size = shape->size };
	uint8_t *at = r->bytes + r->attr.size;

	memcpy(at, &head, offsetof(struct ibv_flow_spec_eth, val));
	r->attr.size += shape->size;
	r->attr.num_of_specs++;
	return at;
}

static bool bit(const uint8_t *bytes, unsigned int i)
{
	return bytes[i / 8] >> (7 - i % 8) & 1;
}

static void flip(uint8_t *bytes, unsigned int i)
{
	bytes[i / 8] ^= 0x80 >> i % 8;
}

static void check(struct raw_pair *p, const struct row *row)
{
	struct rule r = { .attr = { .type = IBV_FLOW_ATTR_NORMAL,
				    .size = sizeof(struct ibv_flow_attr),
				    .port = 1 } };
	struct pkt yes = packet_of(row->kind), no;
	struct ibv_flow *flow;
	const struct shape *shape = shape_of(row->spec);
	uint8_t *spec;

	if (row->before)
		add_spec(&r, row->before);
	spec = add_spec(&r, row->spec);
	for (unsigned int i = 0; i < row->bits; i++) {
		if (bit(yes.b, row->packet + i))
			flip(spec + shape->value, row->filter + i);
		flip(spec + shape->mask, row->filter + i);
	}
	flow = ibv_create_flow(p->to[0].qp, &r.attr);
	if (!flow)
		fail_msg("%s: %s", row->name, strerror(errno));
	if (raw_who_gets(p, &yes))
		fail_msg("%s: the packet is not taken", row->name);
	for (unsigned int end = 0; end < 2; end++) {
		no = yes;
		flip(no.b, row->packet + (end ? row->bits - 1u : 0));
		if (raw_who_gets(p, &no) != RAW_REST)
			fail_msg("%s: a packet with the %s bit changed is taken", row->name,
				 end ? "last" : "first");
	}
	assert_int_equal(ibv_destroy_flow(flow), 0);
	if (raw_who_gets(p, &yes) != RAW_REST)
		fail_msg("%s: taken without a rule", row->name);
}

static void each_field_of_each_spec_is_matched(void **state)
{
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&p, &rows[i]);
	raw_pair_fini(&p);
}

static void each_field_of_the_specs_of_connectx_3_is_matched(void **state)
{
	struct raw_pair p;

	raw_pair_init(&p, "mlx4_1", "mlx4_0");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (is_simple(rows[i].spec))
			check(&p, &rows[i]);
	raw_pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_of_each_spec_is_matched),
		cmocka_unit_test(each_field_of_the_specs_of_connectx_3_is_matched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
