/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Check sums that are filled in and verified, segmentation, and the FCS.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "ether/offload.h"
#include "frames.h"

static uint8_t check(const struct frame *f)
{
	struct ether_frame frame = { .data = f->data, .len = f->len };

	return ether_check(&frame) & (ETHER_CHECK_L3_OK | ETHER_CHECK_L4_OK);
}

static void fill(struct frame *f)
{
	struct ether_parsed parsed;

	ether_parse(f->data, f->len, &parsed);
	ether_fill_l4(f->data, &parsed.outer);
	ether_fill_l3(f->data, &parsed.outer);
}

#define BOTH (ETHER_CHECK_L3_OK | ETHER_CHECK_L4_OK)

static void a_filled_in_checksum_verifies(void **state)
{
	static const char *const ends[][2] = { { "10.0.0.1", "10.0.0.2" },
					       { "fd00::1", "fd00::2" } };
	static const int protocols[] = { FRAME_TCP, FRAME_UDP };
	static struct frame f;

	for (int e = 0; e < 2; e++)
		for (int p = 0; p < 2; p++)
			for (uint32_t payload = 0; payload < 1500; payload += 1 + payload / 7) {
				frame_ip(&f, ends[e][0], ends[e][1], protocols[p], 1000, 2000,
					 payload);
				fill(&f);
				assert_int_equal(check(&f), BOTH);
			}
}

static void a_known_ipv4_header_has_its_known_sum(void **state)
{
	/* The example that textbooks give: the sum is 0xb861. */
	static const uint8_t header[] = { 0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40,
					  0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8,
					  0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7 };
	static struct frame f;
	struct ether_parsed parsed;

	frame_ip(&f, "1.1.1.1", "2.2.2.2", FRAME_UDP, 1, 2, 0x73 - 28);
	memcpy(f.data + 14, header, sizeof(header));
	ether_parse(f.data, f.len, &parsed);
	ether_fill_l3(f.data, &parsed.outer);
	assert_int_equal(f.data[14 + 10] << 8 | f.data[14 + 11], 0xb861);
}

static void one_changed_bit_fails_the_checksum(void **state)
{
	static struct frame f;

	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_TCP, 1000, 2000, 101);
	fill(&f);
	for (uint32_t bit = 8 * 14; bit < 8 * f.len; bit++) {
		uint32_t byte = bit / 8;

		/* Length, version, fragment and protocol bits make it another kind of frame. */
		if (byte < 14 + 10 || byte == 14 + 20 + 12)
			continue;
		f.data[byte] ^= 1 << bit % 8;
		assert_int_not_equal(check(&f), BOTH);
		f.data[byte] ^= 1 << bit % 8;
	}
	assert_int_equal(check(&f), BOTH);
}

static void udp_may_have_no_checksum_and_a_computed_one_is_never_zero(void **state)
{
	static struct frame f;

	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1000, 2000, 8);
	fill(&f);
	f.data[14 + 20 + 6] = f.data[14 + 20 + 7] = 0;
	assert_int_equal(check(&f), BOTH);
	/* Payloads until one of them sums up to all ones. */
	for (uint32_t i = 0; i < 65536; i++) {
		f.data[14 + 28] = i >> 8;
		f.data[14 + 29] = (uint8_t)i;
		fill(&f);
		assert_true(f.data[14 + 20 + 6] || f.data[14 + 20 + 7]);
	}
}

static void a_frame_of_an_unknown_protocol_has_no_checksums(void **state)
{
	static struct frame f = { .len = 100 };

	memset(f.data, 0xaa, f.len);
	assert_int_equal(check(&f), 0);
	fill(&f);
	for (uint32_t i = 0; i < f.len; i++)
		assert_int_equal(f.data[i], 0xaa);
}

static void tso_segments_continue_the_sequence(void **state)
{
	static struct frame whole, piece;
	const uint32_t header = 14 + 20 + 20, mss = 100;

	frame_ip(&whole, "10.0.0.1", "10.0.0.2", FRAME_TCP, 1000, 2000, 250);
	whole.data[14 + 20 + 13] = 0x99; /* CWR, ACK, PSH, FIN */
	whole.data[14 + 20 + 7] = 0xff;  /* the sequence number carries over */
	for (uint32_t i = 0; i * mss < 250; i++) {
		uint32_t n = 250 - i * mss < mss ? 250 - i * mss : mss, seq;
		bool last = i * mss + n == 250;
		struct ether_parsed parsed;

		memcpy(piece.data, whole.data, header);
		memcpy(piece.data + header, whole.data + header + i * mss, n);
		piece.len = header + n;
		ether_parse(whole.data, whole.len, &parsed);
		ether_tso_fix(piece.data, piece.len, &parsed, i, i * mss, last);
		fill(&piece);
		assert_int_equal(check(&piece), BOTH);
		assert_int_equal(piece.data[16] << 8 | piece.data[17], piece.len - 14);
		assert_int_equal(piece.data[18] << 8 | piece.data[19], i);
		memcpy(&seq, piece.data + 38, 4);
		assert_int_equal(ntohl(seq), 0xff + i * mss);
		assert_int_equal(piece.data[47], 0x10 | (last ? 0x09 : 0) | (i ? 0 : 0x80));
	}
}

static void the_fcs_is_the_crc_of_ethernet(void **state)
{
	assert_int_equal(ether_fcs((const uint8_t *)"123456789", 9), 0xcbf43926);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_filled_in_checksum_verifies),
		cmocka_unit_test(a_known_ipv4_header_has_its_known_sum),
		cmocka_unit_test(one_changed_bit_fails_the_checksum),
		cmocka_unit_test(udp_may_have_no_checksum_and_a_computed_one_is_never_zero),
		cmocka_unit_test(a_frame_of_an_unknown_protocol_has_no_checksums),
		cmocka_unit_test(tso_segments_continue_the_sequence),
		cmocka_unit_test(the_fcs_is_the_crc_of_ethernet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
