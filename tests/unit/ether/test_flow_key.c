/* SPDX-License-Identifier: BSD-2-Clause */
/* From frames to keys: what the parser finds, and where it ends up. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "ether/flow_key.h"
#include "flow_packets.h"

#define get(field) flow_key_get(&key, FLOW_##field)

/* From memory of exactly this length, so that a sanitizer sees one byte too many. */
static void fill_bytes(struct flow_key *key, const uint8_t *data, uint32_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct ether_frame frame = { .data = copy, .len = len, .src_qpn = 0x123456 };

	memcpy(copy, data, len);
	memset(key, 0, sizeof(*key));
	flow_key_fill(key, &frame);
	free(copy);
}

static void fill(struct flow_key *key, const struct pkt *p)
{
	fill_bytes(key, p->b, p->len);
}

static void a_field_keeps_its_bits_and_leaves_the_others(void **state)
{
	static const uint32_t places[] = {
#define FLOW_LAYER(name, byte, bit, width) FLOW_OUTER_##name, FLOW_INNER_##name,
#define FLOW_FIELD(name, byte, bit, width) FLOW_##name,
#include "ether/flow_fields.def"
#undef FLOW_LAYER
#undef FLOW_FIELD
	};

	for (size_t i = 0; i < array_size(places); i++) {
		unsigned int width = places[i] & 0xff;
		uint64_t all = width == 64 ? UINT64_MAX : (1ull << width) - 1;
		struct flow_key key, clear;

		memset(&key, 0xff, sizeof(key));
		memset(&clear, 0, sizeof(clear));
		assert_true(flow_key_get(&key, places[i]) == all);
		flow_key_set(&key, places[i], 0x5a5a5a5a5a5a5a5a);
		assert_true(flow_key_get(&key, places[i]) == (0x5a5a5a5a5a5a5a5a & all));
		flow_key_set(&key, places[i], UINT64_MAX);
		for (size_t w = 0; w < FLOW_KEY_WORDS; w++)
			assert_true(key.words[w] == UINT64_MAX);
		flow_key_set(&clear, places[i], UINT64_MAX);
		/* No field lies over another one. */
		for (size_t j = 0; j < array_size(places); j++)
			if (j != i)
				assert_true(flow_key_get(&clear, places[j]) == 0);
	}
}

static void ethernet_and_ipv4_and_udp(void **state)
{
	struct pkt p = pkt_plain(1234, 5678);
	struct flow_key key;

	fill(&key, &p);
	assert_true(get(OUTER_smac) == 0x020000000001);
	assert_true(get(OUTER_dmac) == 0x020000000002);
	assert_int_equal(get(OUTER_ethertype), 0x0800);
	assert_int_equal(get(OUTER_ip_version), 4);
	assert_int_equal(get(OUTER_ipv4_ihl), 5);
	assert_int_equal(get(OUTER_ip_protocol), 17);
	assert_int_equal(get(OUTER_ip_dscp), 11);
	assert_int_equal(get(OUTER_ip_ecn), 2);
	assert_int_equal(get(OUTER_ip_ttl), 64);
	assert_int_equal(get(OUTER_src_ip_l), 0x01010101);
	assert_int_equal(get(OUTER_dst_ip_l), 0x02020202);
	assert_int_equal(get(OUTER_udp_sport), 1234);
	assert_int_equal(get(OUTER_udp_dport), 5678);
	assert_int_equal(get(OUTER_tcp_sport), 0);
	assert_int_equal(get(OUTER_frag), 0);
	assert_int_equal(get(OUTER_cvlan_tag), 0);
	assert_int_equal(get(source_sqn), 0x123456);
}

static void ipv6_with_extension_headers_and_tcp(void **state)
{
	struct pkt p = { 0 };
	struct flow_key key;

	pkt_eth(&p, 2, 1, 0x86dd);
	pkt_ip6(&p, 1, 2, 0);
	pkt_u32(&p, 0x3c000000); /* hop by hop, then destination options */
	pkt_u32(&p, 0);
	pkt_u32(&p, 0x06010000); /* 16 bytes, then TCP */
	pkt_fill(&p, 12);
	pkt_tcp(&p, 80, 8080);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(OUTER_ip_version), 6);
	assert_int_equal(get(OUTER_ip_protocol), 6);
	assert_int_equal(get(OUTER_ip_dscp), 11);
	assert_int_equal(get(OUTER_ip_ecn), 2);
	assert_int_equal(get(OUTER_ip_ttl), 64);
	assert_int_equal(get(outer_ipv6_flow_label), 0x12345);
	assert_true(get(OUTER_src_ip_h) == 0x20010db800000000);
	assert_int_equal(get(OUTER_src_ip_l), 1);
	assert_int_equal(get(OUTER_dst_ip_l), 2);
	assert_int_equal(get(OUTER_tcp_sport), 80);
	assert_int_equal(get(OUTER_tcp_dport), 8080);
	assert_int_equal(get(OUTER_tcp_flags), 0x112);
	assert_int_equal(get(outer_tcp_seq), 0x01020304);
	assert_int_equal(get(outer_tcp_ack), 0x05060708);
}

static void two_vlan_tags(void **state)
{
	struct pkt p = { 0 };
	struct flow_key key;

	pkt_eth(&p, 2, 1, 0x88a8);
	pkt_vlan(&p, 0xb123, 0x8100);
	pkt_vlan(&p, 0x5456, 0x0800);
	pkt_ip4(&p, 1, 2, 6);
	pkt_tcp(&p, 1, 2);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(OUTER_ethertype), 0x0800);
	assert_int_equal(get(OUTER_svlan_tag), 1);
	assert_int_equal(get(OUTER_cvlan_tag), 0);
	assert_int_equal(get(OUTER_first_prio), 5);
	assert_int_equal(get(OUTER_first_cfi), 1);
	assert_int_equal(get(OUTER_first_vid), 0x123);
	assert_int_equal(get(outer_second_cvlan_tag), 1);
	assert_int_equal(get(outer_second_svlan_tag), 0);
	assert_int_equal(get(outer_second_prio), 2);
	assert_int_equal(get(outer_second_vid), 0x456);
	assert_int_equal(get(OUTER_tcp_dport), 2);
}

static void options_move_ports_and_later_fragments_have_none(void **state)
{
	struct pkt p = { 0 };
	struct flow_key key;

	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 17);
	p.b[14] = 0x46;
	pkt_u32(&p, 0x01010101);
	pkt_udp(&p, 7, 8);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(OUTER_udp_sport), 7);
	assert_int_equal(get(OUTER_ipv4_ihl), 6);

	pkt_set16(&p, 14 + 6, 0x2000); /* the first of several */
	fill(&key, &p);
	assert_int_equal(get(OUTER_frag), 1);
	assert_int_equal(get(OUTER_udp_sport), 7);

	pkt_set16(&p, 14 + 6, 0x0010);
	fill(&key, &p);
	assert_int_equal(get(OUTER_frag), 1);
	assert_int_equal(get(OUTER_ip_protocol), 17);
	assert_int_equal(get(OUTER_udp_sport), 0);
}

static void vxlan_has_inner_headers(void **state)
{
	struct pkt p = pkt_vxlan(1234, 5678);
	struct flow_key key;

	fill(&key, &p);
	assert_int_equal(get(vxlan_vni), 0x123456);
	assert_int_equal(get(tunnel_header_0), 0x08000000);
	assert_int_equal(get(OUTER_udp_dport), 4789);
	assert_true(get(OUTER_smac) == 0x02000000000b);
	assert_true(get(INNER_smac) == 0x020000000001);
	assert_int_equal(get(INNER_ethertype), 0x0800);
	assert_int_equal(get(INNER_src_ip_l), 0x01010101);
	assert_int_equal(get(INNER_udp_dport), 5678);

	pkt_set16(&p, p.udp[0] + 2, 4788); /* any other port is just UDP */
	fill(&key, &p);
	assert_int_equal(get(vxlan_vni), 0);
	assert_int_equal(get(INNER_ip_version), 0);
}

static void gpe_and_geneve(void **state)
{
	struct pkt p = { 0 };
	struct flow_key key;

	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 17);
	pkt_udp(&p, 7, 4790);
	pkt_u32(&p, 0x0c000002); /* IPv6 follows */
	pkt_u32(&p, 0x55667700);
	pkt_ip6(&p, 3, 4, 6);
	pkt_tcp(&p, 9, 10);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(vxlan_gpe_vni), 0x556677);
	assert_int_equal(get(vxlan_gpe_next_protocol), 2);
	assert_int_equal(get(vxlan_gpe_flags), 0x0c);
	assert_int_equal(get(INNER_ip_version), 6);
	assert_int_equal(get(INNER_tcp_sport), 9);
	assert_int_equal(get(inner_ipv6_flow_label), 0x12345);
	assert_int_equal(get(inner_tcp_seq), 0x01020304);

	memset(&p, 0, sizeof(p));
	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 17);
	pkt_udp(&p, 7, 6081);
	pkt_u32(&p, 0x01806558); /* 4 bytes of options, OAM */
	pkt_u32(&p, 0xabcdef00);
	pkt_u32(&p, 0);
	pkt_eth(&p, 4, 3, 0x0800);
	pkt_ip4(&p, 5, 6, 17);
	pkt_udp(&p, 11, 12);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(geneve_vni), 0xabcdef);
	assert_int_equal(get(geneve_oam), 1);
	assert_int_equal(get(geneve_opt_len), 1);
	assert_int_equal(get(geneve_protocol_type), 0x6558);
	assert_true(get(INNER_smac) == 0x020000000003);
	assert_int_equal(get(INNER_udp_sport), 11);
}

static void gre_with_its_options(void **state)
{
	struct pkt p = { 0 };
	struct flow_key key;

	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 47);
	pkt_u32(&p, 0xb0000800); /* check sum, key, number */
	pkt_u32(&p, 0x11112222);
	pkt_u32(&p, 0xcafebabe);
	pkt_u32(&p, 0x33334444);
	pkt_ip4(&p, 5, 6, 17);
	pkt_udp(&p, 11, 12);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(gre_c_present), 1);
	assert_int_equal(get(gre_k_present), 1);
	assert_int_equal(get(gre_s_present), 1);
	assert_int_equal(get(gre_protocol), 0x0800);
	assert_int_equal(get(gre_key), 0xcafebabe);
	assert_int_equal(get(INNER_src_ip_l), 5);
	assert_int_equal(get(INNER_udp_dport), 12);
}

/* RFC 2637: the key holds payload length and call; PPP is no inner packet, IP is one. */
static void gre_of_version_1_is_told_by_its_type(void **state)
{
	struct pkt p = { 0 };
	struct flow_key key;

	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 47);
	pkt_u32(&p, 0x3081880b); /* key, number, acknowledgement */
	pkt_u32(&p, 0x0004cafe);
	pkt_u32(&p, 1);
	pkt_u32(&p, 2);
	pkt_u32(&p, 0x45000000);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(gre_c_present), 0);
	assert_int_equal(get(gre_k_present), 1);
	assert_int_equal(get(gre_s_present), 1);
	assert_int_equal(get(gre_protocol), 0x880b);
	assert_int_equal(get(gre_key), 0x0004cafe);
	assert_int_equal(get(INNER_ip_version), 0);

	memset(&p, 0, sizeof(p));
	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 47);
	pkt_u32(&p, 0x20810800); /* key, acknowledgement */
	pkt_u32(&p, 0x12345678);
	pkt_u32(&p, 2);
	pkt_ip4(&p, 5, 6, 17);
	pkt_udp(&p, 11, 12);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(gre_key), 0x12345678);
	assert_int_equal(get(INNER_src_ip_l), 5);
	assert_int_equal(get(INNER_udp_dport), 12);
}

static void checksums_are_fields(void **state)
{
	struct pkt good = pkt_plain(1, 2), bad;
	struct flow_key key, mask;

	memset(&mask, 0, sizeof(mask));
	flow_key_set(&mask, FLOW_OUTER_ip_ttl, 0xff);
	assert_int_equal(flow_key_parts(&mask), 1);
	flow_key_set(&mask, FLOW_OUTER_l4_ok, 1);
	assert_int_equal(flow_key_parts(&mask), 1 | FLOW_KEY_CHECKS);

	fill(&key, &good);
	assert_int_equal(get(OUTER_l3_ok), 1);
	assert_int_equal(get(OUTER_ipv4_checksum_ok), 1);
	assert_int_equal(get(OUTER_l4_ok), 1);
	assert_int_equal(get(OUTER_l4_checksum_ok), 1);
	assert_int_equal(get(OUTER_ipv4_ihl), 5);
	bad = good;
	bad.b[bad.ip[0] + 10] ^= 1;
	fill(&key, &bad);
	assert_int_equal(get(OUTER_l3_ok), 0);
	assert_int_equal(get(OUTER_ipv4_checksum_ok), 0);
	assert_int_equal(get(OUTER_l4_ok), 1);
	bad = good;
	bad.b[bad.udp[0] + 6] = 1; /* 0 was: not computed */
	fill(&key, &bad);
	assert_int_equal(get(OUTER_l3_ok), 1);
	assert_int_equal(get(OUTER_l4_ok), 0);
	assert_int_equal(get(OUTER_l4_checksum_ok), 0);
}

static void geneve_with_options(struct pkt *p, uint32_t second)
{
	memset(p, 0, sizeof(*p));
	pkt_eth(p, 2, 1, 0x0800);
	pkt_ip4(p, 1, 2, 17);
	pkt_udp(p, 7, 6081);
	pkt_u32(p, 0x05006558); /* 20 bytes of options */
	pkt_u32(p, 0xabcdef00);
	pkt_u32(p, 0x01020301); /* class 0x102, type 3, a word */
	pkt_u32(p, 0x11111111);
	pkt_u32(p, second);
	pkt_u32(p, 0x22222222);
	pkt_u32(p, 0x33333333);
	pkt_eth(p, 4, 3, 0x0800);
	pkt_end(p);
}

static void the_option_that_the_parser_looks_for_is_found(void **state)
{
	static const struct {
		uint32_t want, second;
		bool exists;
		uint32_t data;
	} rows[] = {
		{ 0, 0x01038102, false, 0 },
		{ ETHER_GENEVE_OPTION(0x102, 3, 0), 0x01038102, true, 0x11111111 },
		{ ETHER_GENEVE_OPTION(0x103, 0x81, 0), 0x01038102, true, 0x22222222 },
		{ ETHER_GENEVE_OPTION(0x103, 0x81, 1), 0x01038102, true, 0x33333333 },
		{ ETHER_GENEVE_OPTION(0x103, 0x81, 2), 0x01038102, true, 0 }, /* beyond its data */
		{ ETHER_GENEVE_OPTION(0x103, 0x82, 0), 0x01038102, false, 0 },
		{ ETHER_GENEVE_OPTION(0x103, 0x81, 0), 0x01038103, false, 0 }, /* too long */
	};

	for (size_t i = 0; i < array_size(rows); i++) {
		struct ether_frame frame = { .geneve_option = rows[i].want };
		struct flow_key key;
		struct pkt p;

		geneve_with_options(&p, rows[i].second);
		frame.data = p.b;
		frame.len = p.len;
		memset(&key, 0, sizeof(key));
		flow_key_fill(&key, &frame);
		assert_int_equal(get(geneve_option_exist), rows[i].exists);
		assert_int_equal(get(geneve_option_data), rows[i].data);
		assert_int_equal(get(geneve_opt_len), 5);
		assert_true(get(INNER_smac) == 0x020000000003);
	}
}

static void labels_on_ethernet_gre_and_udp(void **state)
{
	struct pkt p = { 0 };
	struct flow_key key;

	pkt_eth(&p, 2, 1, 0x8847);
	pkt_u32(&p, 0x00064240); /* label 100, not the last */
	pkt_u32(&p, 0x000c8140);
	pkt_ip4(&p, 5, 6, 17);
	pkt_udp(&p, 11, 12);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(outer_mpls), 0x00064240);
	assert_int_equal(get(OUTER_ethertype), 0x8847);
	assert_int_equal(get(OUTER_udp_dport), 12);

	memset(&p, 0, sizeof(p));
	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 47);
	pkt_u32(&p, 0x00008847);
	pkt_u32(&p, 0x00064140);
	pkt_ip4(&p, 5, 6, 17);
	pkt_udp(&p, 11, 12);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(mpls_over_gre), 0x00064140);
	assert_int_equal(get(mpls_over_udp), 0);
	assert_int_equal(get(INNER_udp_dport), 12);

	memset(&p, 0, sizeof(p));
	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 17);
	pkt_udp(&p, 7, 6635);
	pkt_u32(&p, 0x00064140);
	pkt_ip4(&p, 5, 6, 17);
	pkt_udp(&p, 11, 13);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(mpls_over_udp), 0x00064140);
	assert_int_equal(get(INNER_udp_dport), 13);
}

static void esp_icmp_gtp_and_roce(void **state)
{
	struct pkt p = { 0 };
	struct flow_key key;

	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 50);
	pkt_u32(&p, 0xdeadbeef);
	pkt_u32(&p, 1);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(outer_esp_spi), 0xdeadbeef);

	memset(&p, 0, sizeof(p));
	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 1);
	pkt_u32(&p, 0x08030000);
	pkt_u32(&p, 0x00010002);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(icmp_type), 8);
	assert_int_equal(get(icmp_code), 3);
	assert_int_equal(get(icmp_data), 0x00010002);

	memset(&p, 0, sizeof(p));
	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 17);
	pkt_udp(&p, 7, 2152);
	pkt_u32(&p, 0x34ff0020); /* with extension headers */
	pkt_u32(&p, 0x77777777);
	pkt_u32(&p, 0x00000085);
	pkt_u32(&p, 0x01000000); /* one of 4 bytes, the last */
	pkt_ip4(&p, 5, 6, 17);
	pkt_udp(&p, 11, 12);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(gtpu_teid), 0x77777777);
	assert_int_equal(get(gtpu_msg_type), 0xff);
	assert_int_equal(get(gtpu_msg_flags), 4);
	assert_int_equal(get(gtpu_dw_0), 0x34ff0020);
	assert_int_equal(get(gtpu_dw_2), 0x00000085);
	assert_int_equal(get(gtpu_first_ext_dw_0), 0x01000000);
	assert_int_equal(get(INNER_udp_dport), 12);

	memset(&p, 0, sizeof(p));
	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 17);
	pkt_udp(&p, 7, 4791);
	pkt_u32(&p, 0x6400ffff);
	pkt_u32(&p, 0x00abcdef);
	pkt_u32(&p, 0x80000001);
	pkt_end(&p);
	fill(&key, &p);
	assert_int_equal(get(bth_opcode), 0x64);
	assert_int_equal(get(bth_a), 1);
	assert_int_equal(get(bth_dst_qp), 0xabcdef);
}

/* Cut anywhere, a packet has fewer fields, never other ones. */
static void every_truncation_is_survived(void **state)
{
	struct pkt p = pkt_vxlan(1234, 5678);
	struct flow_key whole, key;

	fill(&whole, &p);
	for (unsigned int len = 0; len < p.len; len++) {
		fill_bytes(&key, p.b, len);
		for (unsigned int i = 0; i < FLOW_KEY_BYTES; i++) {
			bool checks = i == FLOW_KEY_OUTER + 26 || i == FLOW_KEY_INNER + 26;

			assert_true(!key.bytes[i] || key.bytes[i] == whole.bytes[i] || checks);
		}
		if (len < 14)
			assert_true(get(OUTER_smac) == 0);
	}
}

static void a_mask_with_unknown_bits_is_detected(void **state)
{
	struct flow_key mask;

	memset(&mask, 0, sizeof(mask));
	assert_null(flow_key_unknown(&mask));
	flow_key_set(&mask, FLOW_INNER_tcp_flags, 0x1ff);
	flow_key_set(&mask, FLOW_reg_c_0, 1);
	assert_null(flow_key_unknown(&mask));
	mask.bytes[FLOW_KEY_MISC4] = 1;
	assert_string_equal(flow_key_unknown(&mask), "misc 4");
}

static void a_key_can_be_read(void **state)
{
	struct flow_key key, mask;
	char text[200];

	memset(&mask, 0, sizeof(mask));
	memset(&key, 0, sizeof(key));
	flow_key_set(&mask, FLOW_OUTER_udp_dport, 0xffff);
	flow_key_set(&mask, FLOW_OUTER_dst_ip_l, 0xff000000);
	flow_key_set(&key, FLOW_OUTER_udp_dport, 4789);
	flow_key_set(&key, FLOW_OUTER_dst_ip_l, 0x0a000000);
	assert_int_equal(flow_key_print(&key, &mask, text, sizeof(text)), 58);
	assert_string_equal(text, "outer.udp_dport=0x12b5 outer.dst_ip_l=0xa000000/0xff000000");
	assert_int_equal(flow_key_print(&key, &mask, text, 10), 58);
	assert_int_equal(strlen(text), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_field_keeps_its_bits_and_leaves_the_others),
		cmocka_unit_test(ethernet_and_ipv4_and_udp),
		cmocka_unit_test(ipv6_with_extension_headers_and_tcp),
		cmocka_unit_test(two_vlan_tags),
		cmocka_unit_test(options_move_ports_and_later_fragments_have_none),
		cmocka_unit_test(vxlan_has_inner_headers),
		cmocka_unit_test(gpe_and_geneve),
		cmocka_unit_test(gre_with_its_options),
		cmocka_unit_test(gre_of_version_1_is_told_by_its_type),
		cmocka_unit_test(checksums_are_fields),
		cmocka_unit_test(the_option_that_the_parser_looks_for_is_found),
		cmocka_unit_test(labels_on_ethernet_gre_and_udp),
		cmocka_unit_test(esp_icmp_gtp_and_roce),
		cmocka_unit_test(every_truncation_is_survived),
		cmocka_unit_test(a_mask_with_unknown_bits_is_detected),
		cmocka_unit_test(a_key_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
