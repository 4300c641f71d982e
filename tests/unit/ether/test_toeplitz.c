/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Toeplitz hash against the vectors that Microsoft publishes with its definition of RSS, and
 * which fields of a frame go into it.
 */
#include "cmocka_all.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "ether/rss.h"
#include "frames.h"

static const uint8_t key[ETHER_RSS_KEY] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct vector {
	const char *src, *dst;
	uint16_t sport, dport;
	uint32_t with_ports, addresses;
} vectors[] = {
	{ "66.9.149.187", "161.142.100.80", 2794, 1766, 0x51ccc178, 0x323e8fc2 },
	{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xc626b0ea, 0xd718262a },
	{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0x5c2b394a, 0xd2d0a5de },
	{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0xafc7327f, 0x82989176 },
	{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x10e828a2, 0x5d1809c5 },
	{ "3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x40207d3d, 0x2cc18cd5 },
	{ "3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0xdde51bbf, 0x0f0c461c },
	{ "3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024,
	  0x02d1feef, 0x4b61e985 },
};

/* The definition, bit by bit. */
static uint32_t reference(const uint8_t *input, size_t len)
{
	uint32_t hash = 0, window = (uint32_t)key[0] << 24 | key[1] << 16 | key[2] << 8 | key[3];

	for (size_t bit = 0; bit < 8 * len; bit++) {
		size_t next = bit + 32;

		if (input[bit / 8] & 0x80 >> bit % 8)
			hash ^= window;
		window = window << 1 | (next < 8 * sizeof(key) && key[next / 8] & 0x80 >> next % 8);
	}
	return hash;
}

static uint32_t hash_frame(const struct frame *f, uint32_t fields, uint32_t *used)
{
	static struct ether_toeplitz t;
	struct ether_parsed parsed;
	uint8_t input[ETHER_RSS_INPUT];
	size_t len;

	ether_toeplitz_init(&t, key);
	ether_parse(f->data, f->len, &parsed);
	len = ether_rss_input(f->data, &parsed, fields, input, used);
	return ether_toeplitz(&t, input, len);
}

#define V4   (ETHER_RSS_SRC_IPV4 | ETHER_RSS_DST_IPV4)
#define V6   (ETHER_RSS_SRC_IPV6 | ETHER_RSS_DST_IPV6)
#define TCPS (ETHER_RSS_SRC_PORT_TCP | ETHER_RSS_DST_PORT_TCP)
#define UDPS (ETHER_RSS_SRC_PORT_UDP | ETHER_RSS_DST_PORT_UDP)

static void frames_hash_as_the_published_vectors_say(void **state)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct vector *v = &vectors[i];
		uint32_t used;
		struct frame f;

		frame_ip(&f, v->src, v->dst, FRAME_TCP, v->sport, v->dport, 10);
		assert_int_equal(hash_frame(&f, V4 | V6, &used), v->addresses);
		assert_int_equal(hash_frame(&f, V4 | V6 | TCPS, &used), v->with_ports);
		/* Ports of another protocol than the frame's are no ports. */
		assert_int_equal(hash_frame(&f, V4 | V6 | UDPS, &used), v->addresses);
		frame_ip(&f, v->src, v->dst, FRAME_UDP, v->sport, v->dport, 10);
		assert_int_equal(hash_frame(&f, V4 | V6 | UDPS, &used), v->with_ports);
	}
}

static void the_tables_agree_with_the_definition_on_any_input(void **state)
{
	static struct ether_toeplitz t;
	uint8_t input[ETHER_RSS_INPUT];

	srand(7);
	ether_toeplitz_init(&t, key);
	for (int round = 0; round < 2000; round++) {
		size_t len = 1 + rand() % sizeof(input);

		for (size_t i = 0; i < len; i++)
			input[i] = rand();
		assert_int_equal(ether_toeplitz(&t, input, len), reference(input, len));
	}
}

static void every_combination_of_fields_is_hashed_in_one_order(void **state)
{
	struct frame v4, v6;

	frame_ip(&v4, "1.2.3.4", "5.6.7.8", FRAME_UDP, 0x1122, 0x3344, 0);
	frame_ip(&v6, "2001:db8::1", "2001:db8::2", FRAME_TCP, 0x1122, 0x3344, 0);
	for (uint32_t fields = 0; fields < 1 << 8; fields++)
		for (int is_v6 = 0; is_v6 < 2; is_v6++) {
			const struct frame *f = is_v6 ? &v6 : &v4;
			uint8_t want[64], at[ETHER_RSS_INPUT];
			size_t n = 0, alen = is_v6 ? 16 : 4, l3 = is_v6 ? 14 + 8 : 14 + 12;
			uint32_t l4 = is_v6 ? fields >> 4 & 3 : fields >> 6 & 3;
			uint32_t addr = is_v6 ? fields >> 2 & 3 : fields & 3, used;
			struct ether_parsed parsed;

			for (int i = 0; i < 2; i++)
				if (addr >> i & 1) {
					memcpy(want + n, f->data + l3 + i * alen, alen);
					n += alen;
				}
			for (int i = 0; i < 2; i++)
				if (l4 >> i & 1) {
					memcpy(want + n, i ? "\x33\x44" : "\x11\x22", 2);
					n += 2;
				}
			ether_parse(f->data, f->len, &parsed);
			assert_int_equal(ether_rss_input(f->data, &parsed, fields, at, &used), n);
			assert_memory_equal(at, want, n);
			assert_int_equal(!!used, n > 0);
		}
}

static void fragments_have_addresses_but_no_ports(void **state)
{
	uint32_t used;
	struct frame f;

	frame_ip(&f, vectors[0].src, vectors[0].dst, FRAME_TCP, 2794, 1766, 64);
	f.data[14 + 6] = 0x20; /* more to come */
	assert_int_equal(hash_frame(&f, V4 | TCPS, &used), vectors[0].addresses);
	assert_int_equal(used, V4);
	f.data[14 + 6] = 0x00;
	f.data[14 + 7] = 0x10; /* a later one */
	assert_int_equal(hash_frame(&f, V4 | TCPS, &used), vectors[0].addresses);
}

static void a_frame_without_the_fields_hashes_to_zero(void **state)
{
	struct frame f = { .len = 60 };
	uint32_t used;

	memset(f.data, 0xff, f.len);
	assert_int_equal(hash_frame(&f, V4 | V6 | TCPS, &used), 0);
	assert_int_equal(used, 0);
	frame_ip(&f, "::1", "::2", FRAME_TCP, 1, 2, 0);
	assert_int_equal(hash_frame(&f, V4, &used), 0);
}

static void the_spi_of_an_encrypted_frame_is_hashed(void **state)
{
	struct ether_parsed parsed;
	uint8_t input[ETHER_RSS_INPUT];
	uint32_t used;
	struct frame f;

	frame_ip(&f, "1.2.3.4", "5.6.7.8", FRAME_ESP, 0x0102, 0x0304, 16);
	ether_parse(f.data, f.len, &parsed);
	assert_int_equal(ether_rss_input(f.data, &parsed, ETHER_RSS_IPSEC_SPI, input, &used), 4);
	assert_memory_equal(input, "\x01\x02\x03\x04", 4);
	assert_int_equal(used, ETHER_RSS_IPSEC_SPI);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_hash_as_the_published_vectors_say),
		cmocka_unit_test(the_tables_agree_with_the_definition_on_any_input),
		cmocka_unit_test(every_combination_of_fields_is_hashed_in_one_order),
		cmocka_unit_test(fragments_have_addresses_but_no_ports),
		cmocka_unit_test(a_frame_without_the_fields_hashes_to_zero),
		cmocka_unit_test(the_spi_of_an_encrypted_frame_is_hashed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
