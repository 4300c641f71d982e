/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "icrc_reference.h"
#include "roce/decode.h"
#include "roce/encode.h"
#include "roce/icrc.h"
#include "rxe_packets.h"
#include "samples.h"

struct wire {
	struct roce_icrc_flow flow;
	uint8_t ip[40 + 8 + ROCE_MAX_PACKET];
	uint8_t *packet; /* BTH */
	size_t len;      /* to the pad */
	size_t header;   /* IP and UDP */
};

static void random_wire(struct wire *w, bool ipv4, size_t len, uint16_t id, uint64_t *seed)
{
	struct roce_addr src = { .ifindex = 0 }, dst = { .ifindex = 0 };
	uint16_t sport = sample_random(seed), udp_len = 8 + len + 4;
	uint8_t *udp;

	w->header = (ipv4 ? 20 : 40) + 8;
	w->packet = w->ip + w->header;
	w->len = len;
	for (size_t i = 0; i < w->header + len; i++)
		w->ip[i] = sample_random(seed);
	if (ipv4) {
		src.gid[10] = src.gid[11] = dst.gid[10] = dst.gid[11] = 0xff;
		memcpy(src.gid + 12, w->ip + 12, 4);
		memcpy(dst.gid + 12, w->ip + 16, 4);
		w->ip[0] = 0x45;
		w->ip[2] = (udp_len + 20) >> 8;
		w->ip[3] = udp_len + 20;
		w->ip[4] = id >> 8;
		w->ip[5] = id;
		w->ip[6] = 0x40;
		w->ip[7] = 0;
		w->ip[9] = 17;
	} else {
		memcpy(src.gid, w->ip + 8, 16);
		memcpy(dst.gid, w->ip + 24, 16);
		w->ip[0] = 0x60 | (w->ip[0] & 0x0f);
		w->ip[4] = udp_len >> 8;
		w->ip[5] = udp_len;
		w->ip[6] = 17;
	}
	udp = w->packet - 8;
	udp[0] = sport >> 8;
	udp[1] = sport;
	udp[2] = 4791 >> 8;
	udp[3] = 4791 & 0xff;
	udp[4] = udp_len >> 8;
	udp[5] = udp_len;
	roce_icrc_flow_init(&w->flow, &src, &dst, sport, 4791);
}

static void seal(struct wire *w, uint32_t icrc)
{
	icrc = htole32(icrc);
	memcpy(w->packet + w->len, &icrc, 4);
}

static bool check(struct wire *w, uint16_t guess, uint16_t *id)
{
	*id = guess;
	return roce_icrc_check(&w->flow, w->packet, w->len + 4, id);
}

static void icrc_is_the_one_of_the_definition(void **state)
{
	uint64_t seed = 1;
	struct wire w;

	for (size_t len = 12; len <= ROCE_MAX_PACKET - 4; len += 4) {
		uint16_t id = len % 3 ? sample_random(&seed) : len & 0x3f;

		random_wire(&w, true, len, id, &seed);
		assert_int_equal(roce_icrc_compute(&w.flow, w.packet, len, id),
				 icrc_reference(w.ip, w.header + len));
		random_wire(&w, false, len, 0, &seed);
		assert_int_equal(roce_icrc_compute(&w.flow, w.packet, len, id),
				 icrc_reference(w.ip, w.header + len));
	}
}

static void the_id_of_an_ipv4_packet_is_found_whatever_the_guess(void **state)
{
	uint64_t seed = 2;
	struct wire w;
	uint16_t id;

	for (size_t len = 12; len <= ROCE_MAX_PACKET - 4; len += 4) {
		uint16_t sent = sample_random(&seed);

		random_wire(&w, true, len, sent, &seed);
		seal(&w, icrc_reference(w.ip, w.header + len));
		assert_true(check(&w, sample_random(&seed), &id));
		assert_int_equal(id, sent);
		assert_true(check(&w, sent, &id));
		assert_int_equal(id, sent);
	}
}

static void every_id_is_found_at_one_length(void **state)
{
	uint64_t seed = 3;
	struct wire w;
	uint32_t icrc;

	random_wire(&w, true, 12 + 16 + 1024, 0, &seed);
	icrc = icrc_reference(w.ip, w.header + w.len);
	for (unsigned int sent = 0; sent < 65536; sent++) {
		uint16_t id;

		seal(&w, icrc ^ roce_icrc_id_term(w.len, sent));
		assert_true(check(&w, 7, &id));
		assert_int_equal(id, sent);
	}
}

static void packets_of_linux_rxe_are_right_and_decode(void **state)
{
	for (size_t i = 0; i < sizeof(rxe_packets) / sizeof(rxe_packets[0]); i++) {
		const uint8_t *ip = rxe_packets[i].ip;
		bool ipv4 = ip[0] >> 4 == 4;
		size_t header = (ipv4 ? 20 : 40) + 8, len = rxe_packets[i].len - header;
		struct roce_addr src = { .ifindex = 0 }, dst = { .ifindex = 0 };
		uint8_t again[ROCE_MAX_HEADER];
		struct roce_icrc_flow flow;
		struct roce_payload payload;
		struct roce_pkt pkt;
		uint16_t id = 0, sport = ip[header - 8] << 8 | ip[header - 7];

		if (ipv4) {
			src.gid[10] = src.gid[11] = dst.gid[10] = dst.gid[11] = 0xff;
			memcpy(src.gid + 12, ip + 12, 4);
			memcpy(dst.gid + 12, ip + 16, 4);
		} else {
			memcpy(src.gid, ip + 8, 16);
			memcpy(dst.gid, ip + 24, 16);
		}
		roce_icrc_flow_init(&flow, &src, &dst, sport, 4791);
		assert_true(roce_icrc_check(&flow, ip + header, len, &id));
		if (ipv4)
			assert_int_equal(id, ip[4] << 8 | ip[5]);
		assert_int_equal(roce_decode(ip + header, len, &pkt, &payload), ROCE_OK);
		assert_int_equal(payload.pkey, 0xffff);
		/* Encoding gives the same bytes that rxe sent. */
		assert_int_equal(roce_encode(&pkt, payload.pkey, again),
				 roce_opcode_table[pkt.op].length);
		assert_memory_equal(again, ip + header, roce_opcode_table[pkt.op].length);
	}
}

static void ipv6_detects_every_flipped_bit(void **state)
{
	static const size_t lens[] = { 12, 28, 1036, 4108 };
	uint64_t seed = 4;
	struct wire w;
	uint16_t id;

	for (size_t i = 0; i < 4; i++) {
		random_wire(&w, false, lens[i], 0, &seed);
		seal(&w, icrc_reference(w.ip, w.header + w.len));
		assert_true(check(&w, 0, &id));
		for (size_t bit = 0; bit < (w.len + 4) * 8; bit++) {
			w.packet[bit / 8] ^= 1 << bit % 8;
			/* FECN, BECN and their byte are the only ones that routers may touch */
			assert_int_equal(check(&w, 0, &id), bit / 8 == 4);
			w.packet[bit / 8] ^= 1 << bit % 8;
		}
	}
}

static void ipv4_detects_every_flipped_bit_of_a_short_packet(void **state)
{
	static const size_t lens[] = { 12, 16, 28, 92, 268 };
	uint64_t seed = 5;
	struct wire w;
	uint16_t id;

	for (size_t i = 0; i < 5; i++) {
		random_wire(&w, true, lens[i], 0x1234, &seed);
		seal(&w, icrc_reference(w.ip, w.header + w.len));
		assert_true(check(&w, 0, &id));
		for (size_t bit = 0; bit < (w.len + 4) * 8; bit++) {
			w.packet[bit / 8] ^= 1 << bit % 8;
			assert_int_equal(check(&w, 0, &id), bit / 8 == 4);
			w.packet[bit / 8] ^= 1 << bit % 8;
		}
	}
}

/* 16 bits of the 32 are left for IPv4: one in 65,536, and no more, passes by chance. */
static void ipv4_lets_hardly_any_random_damage_pass(void **state)
{
	unsigned int passed = 0, tries = 400000;
	uint64_t seed = 6;
	struct wire w;
	uint16_t id;

	random_wire(&w, true, 12 + 64, 99, &seed);
	seal(&w, icrc_reference(w.ip, w.header + w.len));
	for (unsigned int i = 0; i < tries; i++) {
		/* after the masked byte */
		uint32_t at = 5 + sample_random(&seed) % (w.len - 5), was, damage;

		memcpy(&was, w.packet + at, 4);
		damage = was ^ (sample_random(&seed) | 1);
		memcpy(w.packet + at, &damage, 4);
		passed += check(&w, 0, &id);
		memcpy(w.packet + at, &was, 4);
	}
	/* 6 on average; three times as many would be one run in a thousand */
	assert_in_range(passed, 0, 18);
}

static void another_flow_has_another_icrc(void **state)
{
	struct roce_addr a, b, c;
	struct roce_icrc_flow flow;
	uint64_t seed = 7;
	struct wire w;
	uint16_t id;

	assert_int_equal(roce_addr_parse("10.0.0.1", &a), 0);
	assert_int_equal(roce_addr_parse("10.0.0.2", &b), 0);
	assert_int_equal(roce_addr_parse("10.0.0.3", &c), 0);
	random_wire(&w, true, 64, 0, &seed);
	roce_icrc_flow_init(&w.flow, &a, &b, 4791, 4791);
	seal(&w, roce_icrc_compute(&w.flow, w.packet, w.len, 0));
	assert_true(check(&w, 0, &id));
	roce_icrc_flow_init(&flow, &a, &c, 4791, 4791);
	assert_false(roce_icrc_check(&flow, w.packet, w.len + 4, &id));
	roce_icrc_flow_init(&flow, &a, &b, 4790, 4791);
	assert_false(roce_icrc_check(&flow, w.packet, w.len + 4, &id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(icrc_is_the_one_of_the_definition),
		cmocka_unit_test(the_id_of_an_ipv4_packet_is_found_whatever_the_guess),
		cmocka_unit_test(every_id_is_found_at_one_length),
		cmocka_unit_test(packets_of_linux_rxe_are_right_and_decode),
		cmocka_unit_test(ipv6_detects_every_flipped_bit),
		cmocka_unit_test(ipv4_detects_every_flipped_bit_of_a_short_packet),
		cmocka_unit_test(ipv4_lets_hardly_any_random_damage_pass),
		cmocka_unit_test(another_flow_has_another_icrc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
