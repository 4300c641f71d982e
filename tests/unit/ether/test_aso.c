/* SPDX-License-Identifier: BSD-2-Clause */
/* Meters, first hits and connection tracking, on packets, in virtual time. */
#include "cmocka_all.h"

#include <endian.h>
#include <string.h>

#include "ether/aso.h"
#include "ether/aso_ct.h"
#include "ether/aso_meter.h"
#include "ether/state.h"
#include "flow_packets.h"

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };
#define MS 1000000ull

static uint64_t now;

static uint64_t virtual_now(void)
{
	return now;
}

/* ---- meters ---- */

struct meter {
	uint32_t flags, reserved, c, c_tokens, e, e_tokens;
	uint64_t time;
};

#define VALID    (1u << 31)
#define OVERFLOW (1u << 30)
#define GREEN    (2u << 28)
#define BOTH     (1u << 27)
#define PACKETS  (3u << 24)
#define FRAMES   (1u << 24)

/* burst = man << exp, rate = man / 2^exp per ns */
#define BUCKET(bman, bexp, rman, rexp) ((bexp) << 24 | (bman) << 16 | (rexp) << 8 | (rman))

static void set_meter(struct aso *aso, uint32_t flags, uint32_t c, uint32_t e)
{
	struct meter m = { .flags = htobe32(flags),
			   .c = htobe32(c),
			   .c_tokens = htobe32(INT32_MAX),
			   .e = htobe32(e),
			   .e_tokens = htobe32(INT32_MAX) };
	struct aso_change change = { .condition = { { .op = ASO_ALWAYS }, { .op = ASO_ALWAYS } } };
	uint8_t before[ASO_BYTES];

	memcpy(change.data, &m, sizeof(m));
	memset(change.mask, 0xff, sizeof(m));
	assert_true(aso_access(aso, 0, &change, before));
}

static enum aso_colour meter_packet(struct aso *aso, uint32_t len, enum aso_colour before)
{
	struct pkt p = { 0 };
	struct ether_frame f = { .data = p.b };

	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, 1, 2, 17);
	pkt_udp(&p, 1, 2);
	pkt_fill(&p, len - 14 - 20 - 8);
	pkt_end(&p);
	f.len = p.len;
	return aso_hit(aso, 0, before, &f);
}

/* Packets of one colour, of `count` at one moment. */
static unsigned int burst(struct aso *aso, unsigned int count, uint32_t len, enum aso_colour colour)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < count; i++)
		n += meter_packet(aso, len, ASO_NO_COLOUR) == colour;
	return n;
}

/* 137 / 2^20 tokens per ns, 128 tokens for a packet: 1020.7 packets per second; a burst of 8. */
#define PPS_1000 BUCKET(1, 10, 137, 20)

static void a_bucket_gives_its_burst_and_then_its_rate(void **state)
{
	struct aso *aso = aso_create(ASO_METER, 1);
	unsigned int green = 0;

	now = 5 * MS;
	set_meter(aso, VALID | GREEN | PACKETS, PPS_1000, 0);
	assert_int_equal(burst(aso, 20, 100, ASO_GREEN), 8);
	assert_int_equal(burst(aso, 20, 100, ASO_RED), 20);
	/* Never more than the rate, whatever the steps: fractions of tokens are kept. */
	for (unsigned int i = 0; i < 100000; i++) {
		now += 10007;
		green += burst(aso, 1, 100, ASO_GREEN);
	}
	assert_in_range(green, 1020, 1022); /* in 1.0007 s */
	now += 1000 * MS;
	assert_int_equal(burst(aso, 20, 100, ASO_GREEN), 8);
	aso_put(aso);
}

static void bytes_count_by_the_mode(void **state)
{
	static const struct {
		uint32_t mode;
		unsigned int packets; /* of 142 bytes, in a burst of 1280 */
	} rows[] = { { 0, 10 }, { 1, 8 }, { 2, 7 }, { 3, 10 } };
	struct aso *aso = aso_create(ASO_METER, 1);

	for (size_t i = 0; i < array_size(rows); i++) {
		set_meter(aso, VALID | GREEN | rows[i].mode << 24, BUCKET(5, 8, 0, 0), 0);
		assert_int_equal(burst(aso, 20, 142, ASO_GREEN), rows[i].packets);
	}
	aso_put(aso);
}

static void a_packet_longer_than_the_burst_waits_for_a_full_bucket(void **state)
{
	struct aso *aso = aso_create(ASO_METER, 1);

	now = 7;
	set_meter(aso, VALID | GREEN | FRAMES, BUCKET(0, 0, 1, 0), 0); /* a byte per ns, no burst */
	assert_int_equal(meter_packet(aso, 96, ASO_NO_COLOUR), ASO_GREEN);
	now += 99;
	assert_int_equal(meter_packet(aso, 96, ASO_NO_COLOUR), ASO_RED);
	now += 1;
	assert_int_equal(meter_packet(aso, 96, ASO_NO_COLOUR), ASO_GREEN);
	aso_put(aso);
}

static void the_second_bucket_makes_packets_yellow(void **state)
{
	struct aso *aso = aso_create(ASO_METER, 1);

	now = 1;
	/* RFC 2697: the second bucket gets what the first cannot hold. */
	set_meter(aso, VALID | OVERFLOW | GREEN | PACKETS, PPS_1000, BUCKET(1, 9, 0, 0));
	assert_int_equal(burst(aso, 8, 100, ASO_GREEN), 8);
	assert_int_equal(burst(aso, 8, 100, ASO_YELLOW), 4);
	now += 6 * MS; /* for the first */
	assert_int_equal(burst(aso, 8, 100, ASO_YELLOW), 0);
	now += 20 * MS;
	assert_int_equal(burst(aso, 8, 100, ASO_GREEN), 8);
	assert_int_equal(burst(aso, 8, 100, ASO_YELLOW), 4);
	/* RFC 4115: it has its own rate. */
	set_meter(aso, VALID | GREEN | PACKETS, BUCKET(1, 10, 0, 0), PPS_1000);
	assert_int_equal(burst(aso, 8, 100, ASO_GREEN), 8);
	assert_int_equal(burst(aso, 20, 100, ASO_YELLOW), 8);
	now += 20 * MS;
	assert_int_equal(burst(aso, 8, 100, ASO_GREEN), 0);
	/* RFC 2698: a green packet needs tokens of both. */
	set_meter(aso, VALID | BOTH | GREEN | PACKETS, BUCKET(1, 10, 0, 0), BUCKET(3, 9, 0, 0));
	assert_int_equal(burst(aso, 8, 100, ASO_GREEN), 8);
	assert_int_equal(burst(aso, 8, 100, ASO_YELLOW), 4);
	assert_int_equal(burst(aso, 8, 100, ASO_RED), 8);
	aso_put(aso);
}

static void a_colour_never_gets_better(void **state)
{
	struct aso *aso = aso_create(ASO_METER, 1);

	set_meter(aso, VALID | PACKETS | GREEN, BUCKET(1, 10, 0, 0), BUCKET(1, 8, 0, 0));
	assert_int_equal(meter_packet(aso, 100, ASO_RED), ASO_RED);
	assert_int_equal(meter_packet(aso, 100, ASO_YELLOW), ASO_YELLOW);
	assert_int_equal(meter_packet(aso, 100, ASO_YELLOW), ASO_YELLOW);
	assert_int_equal(meter_packet(aso, 100, ASO_YELLOW), ASO_RED);
	assert_int_equal(burst(aso, 20, 100, ASO_GREEN), 8);
	set_meter(aso, GREEN, 0, 0); /* not valid: does nothing */
	assert_int_equal(burst(aso, 20, 100, ASO_GREEN), 20);
	assert_int_equal(meter_packet(aso, 100, ASO_RED), ASO_RED);
	aso_put(aso);
}

static void the_two_meters_of_a_context_are_apart(void **state)
{
	struct aso *aso = aso_create(ASO_METER, 2);
	struct pkt p = pkt_plain(1, 2);
	struct ether_frame f = { .data = p.b, .len = p.len };

	assert_int_equal(aso_count(aso), 4);
	set_meter(aso, VALID | GREEN | PACKETS, 0, 0);
	assert_int_equal(aso_hit(aso, 0, ASO_NO_COLOUR, &f), ASO_GREEN);
	assert_int_equal(aso_hit(aso, 0, ASO_NO_COLOUR, &f), ASO_RED);
	assert_int_equal(aso_hit(aso, 1, ASO_GREEN, &f), ASO_GREEN);
	assert_int_equal(aso_hit(aso, 2, ASO_GREEN, &f), ASO_GREEN);
	aso_put(aso);
}

/* ---- first hits ---- */

static void a_first_hit_tells_the_first_packet(void **state)
{
	struct aso *aso = aso_create(ASO_FIRST_HIT, 2);
	struct pkt p = pkt_plain(1, 2);
	struct ether_frame f = { .data = p.b, .len = p.len };

	assert_int_equal(aso_count(aso), 1024);
	assert_int_equal(aso_hit(aso, 513, 0, &f), 0);
	assert_int_equal(aso_hit(aso, 513, ASO_ARG_SET, &f), 0);
	assert_int_equal(aso_hit(aso, 513, ASO_ARG_SET, &f), 1);
	assert_int_equal(aso_hit(aso, 512, 0, &f), 0);
	assert_int_equal(aso_hit(aso, 1, 0, &f), 0);
	assert_int_equal(aso->bytes[1][63], 2);
	aso_put(aso);
}

/* ---- conditions ---- */

static void a_change_needs_its_conditions(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t value;
		bool holds; /* for a word of 5 */
	} rows[] = {
		{ ASO_NEVER, 5, false },
		{ ASO_ALWAYS, 0, true },
		{ ASO_EQUAL, 5, true },
		{ ASO_EQUAL, 6, false },
		{ ASO_NOT_EQUAL, 5, false },
		{ ASO_GREATER_OR_EQUAL, 5, true },
		{ ASO_GREATER_OR_EQUAL, 6, false },
		{ ASO_LESSER_OR_EQUAL, 5, true },
		{ ASO_LESSER_OR_EQUAL, 4, false },
		{ ASO_LESSER, 5, false },
		{ ASO_LESSER, 6, true },
		{ ASO_GREATER, 4, true },
		{ ASO_GREATER, 5, false },
		{ ASO_CYCLIC_GREATER, 0xfffffff0, true },
		{ ASO_CYCLIC_LESSER, 0xfffffff0, false },
		{ 15, 5, false },
	};
	struct aso *aso = aso_create(ASO_CT, 1);
	uint8_t before[ASO_BYTES];

	for (size_t i = 0; i < array_size(rows); i++) {
		struct aso_change change = {
			.condition = { { rows[i].op, 3, rows[i].value, UINT32_MAX },
				       { .op = ASO_ALWAYS } },
			.data = { 0xff },
			.mask = { 0xf0 },
		};

		memset(aso->bytes[0], 0, ASO_BYTES);
		aso->bytes[0][15] = 5;
		assert_int_equal(aso_access(aso, 0, &change, before), rows[i].holds);
		assert_int_equal(before[15], 5);
		assert_int_equal(before[0], 0);
		assert_int_equal(aso->bytes[0][0], rows[i].holds ? 0xf0 : 0);
		change.any = true;
		assert_true(aso_access(aso, 0, &change, before));
	}
	aso_put(aso);
}

/* ---- connections ---- */

struct ct {
	struct aso *aso;
	uint32_t seq[2]; /* of the next byte, of initiator and responder */
};

static void word(uint8_t *bytes, unsigned int i, uint32_t value)
{
	value = htobe32(value);
	memcpy(bytes + 4 * i, &value, 4);
}

static uint32_t get(const struct ct *c, unsigned int i)
{
	uint32_t v;

	memcpy(&v, c->aso->bytes[0] + 4 * i, 4);
	return be32toh(v);
}

static unsigned int state_of(const struct ct *c)
{
	return get(c, 15) >> 28 & 7;
}

/* After SYN and SYN-ACK: both have sent one number, and offered a window of 1000. */
static struct ct ct_make(void)
{
	struct ct c = { aso_create(ASO_CT, 1), { 0xfffffff1, 501 } };
	uint8_t *b = c.aso->bytes[0];

	word(b, 4, 0);
	word(b, 5, 1000);
	word(b, 6, 0xfffffff1 + 1000);
	word(b, 7, 0xfffffff1);
	word(b, 0, 0xfffffff1);
	word(b, 1, 1000);
	word(b, 2, 501 + 1000);
	word(b, 3, 501);
	word(b, 14, 0xf000f000u | 1 << 25); /* no scales; the SYN-ACK is not acknowledged */
	word(b, 15, 1u << 31 | 3);
	return c;
}

static uint32_t ct_send(struct ct *c, bool responder, uint32_t seq, uint32_t ack, uint8_t flags,
			unsigned int len)
{
	struct pkt p = { 0 };
	struct ether_frame f = { .data = p.b };

	pkt_eth(&p, 2, 1, 0x0800);
	pkt_ip4(&p, responder ? 2 : 1, responder ? 1 : 2, 6);
	pkt_u16(&p, 1);
	pkt_u16(&p, 2);
	pkt_u32(&p, seq);
	pkt_u32(&p, ack);
	pkt_u16(&p, 0x5000 | flags);
	pkt_u16(&p, 1000);
	pkt_u32(&p, 0);
	pkt_fill(&p, len);
	pkt_end(&p);
	pkt_tcp_sum(&p, p.ip[0]);
	f.len = p.len;
	return aso_hit(c->aso, 0, responder ? ASO_ARG_RESPONDER : 0, &f);
}

/* The next bytes of one side. */
static uint32_t ct_next(struct ct *c, bool responder, uint8_t flags, unsigned int len)
{
	uint32_t seq = c->seq[responder];

	c->seq[responder] += len + !!(flags & FIN);
	return ct_send(c, responder, seq, c->seq[!responder], flags, len);
}

static void a_connection_is_followed_from_its_handshake_to_its_end(void **state)
{
	struct ct c = ct_make();

	assert_int_equal(ct_next(&c, false, ACK, 0), ASO_CT_STATE_CHANGE);
	assert_int_equal(state_of(&c), 1);
	assert_int_equal(ct_next(&c, false, ACK | PSH, 100), ASO_CT_VALID);
	assert_int_equal(get(&c, 7), 0xfffffff1 + 100);
	assert_int_equal(get(&c, 14) >> 9 & 1, 1); /* not acknowledged */
	assert_int_equal(ct_next(&c, true, ACK, 50), ASO_CT_VALID);
	assert_int_equal(get(&c, 14) >> 9 & 1, 0);
	assert_int_equal(get(&c, 6), c.seq[0] + 1000);
	assert_int_equal(ct_next(&c, false, ACK | FIN, 0), ASO_CT_STATE_CHANGE);
	assert_int_equal(state_of(&c), 2);
	assert_int_equal(ct_next(&c, true, ACK, 10), ASO_CT_STATE_CHANGE);
	assert_int_equal(state_of(&c), 3);
	assert_int_equal(ct_next(&c, true, ACK | FIN, 0), ASO_CT_STATE_CHANGE);
	assert_int_equal(state_of(&c), 4);
	assert_int_equal(ct_next(&c, false, ACK, 0), ASO_CT_STATE_CHANGE);
	assert_int_equal(state_of(&c), 5);
	aso_put(c.aso);
}

static void segments_outside_of_the_windows_are_invalid(void **state)
{
	struct ct c = ct_make();
	uint32_t seq = c.seq[0], ack = c.seq[1];
	uint8_t kept[ASO_BYTES];

	assert_int_equal(ct_next(&c, false, ACK, 0), ASO_CT_STATE_CHANGE);
	memcpy(kept, c.aso->bytes[0], ASO_BYTES);
	assert_int_equal(ct_send(&c, false, seq + 1001, ack, ACK, 0), ASO_CT_INVALID);
	assert_int_equal(ct_send(&c, false, seq - 1002, ack, ACK, 1), ASO_CT_INVALID);
	assert_int_equal(ct_send(&c, false, seq, ack + 1, ACK, 0), ASO_CT_INVALID);
	assert_int_equal(ct_send(&c, false, seq, ack - 1001, ACK, 0), ASO_CT_INVALID);
	assert_int_equal(ct_send(&c, false, seq, ack, SYN, 0), ASO_CT_TRAP);
	assert_memory_equal(kept, c.aso->bytes[0], ASO_BYTES);
	assert_int_equal(ct_send(&c, false, seq + 1000, ack, ACK, 0), ASO_CT_VALID);
	/* A liberal direction is not checked. */
	word(c.aso->bytes[0], 14, get(&c, 14) | 1 << 10);
	assert_int_equal(ct_send(&c, false, seq + 5000, ack, ACK, 0), ASO_CT_VALID);
	aso_put(c.aso);
}

static void a_frame_that_is_no_tcp_segment_is_a_bad_packet(void **state)
{
	struct ct c = ct_make();
	struct pkt p = pkt_plain(1, 2);
	struct ether_frame f = { .data = p.b, .len = p.len };

	assert_int_equal(aso_hit(c.aso, 0, 0, &f), ASO_CT_INVALID | ASO_CT_BAD_PACKET);
	word(c.aso->bytes[0], 15, 3);
	assert_int_equal(ct_next(&c, false, ACK, 0), ASO_CT_INVALID);
	word(c.aso->bytes[0], 15, 1u << 31 | 1 << 27); /* frozen */
	assert_int_equal(ct_send(&c, false, 99999, 0, ACK, 0), ASO_CT_VALID);
	aso_put(c.aso);
}

static void segments_that_are_sent_again_are_counted(void **state)
{
	struct ct c = ct_make();
	uint32_t seq = c.seq[0], ack = c.seq[1];

	ct_next(&c, false, ACK, 0);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(ct_send(&c, false, seq, ack, ACK, 10), ASO_CT_VALID);
		assert_int_equal(get(&c, 15) >> 4 & 7, i);
		assert_int_equal(get(&c, 15) >> 3 & 1, i > 3);
	}
	assert_int_equal(ct_send(&c, false, seq + 10, ack, ACK, 10), ASO_CT_VALID);
	assert_int_equal(get(&c, 15) >> 4 & 7, 0);
	assert_int_equal(ct_send(&c, true, ack, seq + 20, RST, 0), ASO_CT_STATE_CHANGE);
	assert_int_equal(state_of(&c), 5);
	aso_put(c.aso);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_gives_its_burst_and_then_its_rate),
		cmocka_unit_test(bytes_count_by_the_mode),
		cmocka_unit_test(a_packet_longer_than_the_burst_waits_for_a_full_bucket),
		cmocka_unit_test(the_second_bucket_makes_packets_yellow),
		cmocka_unit_test(a_colour_never_gets_better),
		cmocka_unit_test(the_two_meters_of_a_context_are_apart),
		cmocka_unit_test(a_first_hit_tells_the_first_packet),
		cmocka_unit_test(a_change_needs_its_conditions),
		cmocka_unit_test(a_connection_is_followed_from_its_handshake_to_its_end),
		cmocka_unit_test(segments_outside_of_the_windows_are_invalid),
		cmocka_unit_test(a_frame_that_is_no_tcp_segment_is_a_bad_packet),
		cmocka_unit_test(segments_that_are_sent_again_are_counted),
	};

	ether_set_clock(virtual_now);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
