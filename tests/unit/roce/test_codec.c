/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "roce/decode.h"
#include "roce/encode.h"
#include "samples.h"
#include "util/api.h"

#define PKEY 0x8765

/* Memory of exactly this length, so that a sanitizer sees one byte too many. */
static enum roce_drop decode(const uint8_t *data, size_t len, struct roce_pkt *pkt,
			     struct roce_payload *payload)
{
	static const struct roce_pkt untouched = { .op = 0x5a, .psn = 77 };
	uint8_t *copy = malloc(len ? len : 1);
	enum roce_drop why;

	memcpy(copy, data, len);
	*pkt = untouched;
	why = roce_decode(copy, len, pkt, payload);
	if (why)
		assert_memory_equal(pkt, &untouched, sizeof(untouched));
	else
		payload->data = data + (payload->data - copy);
	free(copy);
	return why;
}

static void every_opcode_survives_the_wire(void **state)
{
	static const uint32_t wishes[] = { 0, 1, 2, 3, 4, 255, 256, 1023, 4096 };
	uint8_t bytes[ROCE_MAX_PACKET];

	for (unsigned int op = 0; op < 256; op++) {
		for (size_t i = 0; i < array_size(wishes) && roce_opcode_find(op); i++) {
			struct roce_pkt pkt = sample_packet(op, wishes[i]), got;
			size_t len = sample_bytes(&pkt, PKEY, bytes) + ROCE_ICRC_BYTES;
			struct roce_payload payload;

			assert_int_equal(len & 3, 0);
			assert_int_equal(decode(bytes, len, &got, &payload), ROCE_OK);
			assert_memory_equal(&got, &pkt, sizeof(pkt));
			assert_int_equal(payload.pkey, PKEY);
			assert_int_equal(payload.len, pkt.len);
			assert_int_equal(payload.pad, roce_pad(pkt.len));
			assert_ptr_equal(payload.data, bytes + roce_opcode_table[op].length);
		}
	}
}

static void a_known_packet_has_the_bytes_of_the_specification(void **state)
{
	static const uint8_t write_only_imm[] = {
		0x0b, 0xb0, 0xff, 0xff, 0xc0, 0xab, 0xcd, 0xe1, 0x80, 0x12, 0x34,
		0x56, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa,
		0xbb, 0xcc, 0x01, 0x02, 0x03, 0x04, 0xd1, 0xd2, 0xd3, 0xd4,
	};
	static const uint8_t ack[] = {
		0x11, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x12,
		0x00, 0xff, 0xff, 0xff, 0x62, 0x00, 0x00, 0x07,
	};
	/* as Linux rxe sends it: FETH before RETH */
	static const uint8_t flush[] = {
		0x1c, 0x80, 0xff, 0xff, 0x00, 0xab, 0xcd, 0xe1, 0x80, 0x12, 0x34,
		0x56, 0x00, 0x00, 0x00, 0x12, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
		0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0x01, 0x02, 0x03, 0x04,
	};
	uint8_t out[ROCE_MAX_HEADER];
	struct roce_pkt pkt = sample_packet(ROCE_PKT_FLUSH, 0);

	assert_int_equal(roce_encode(&pkt, 0xffff, out), sizeof(flush));
	assert_memory_equal(out, flush, sizeof(flush));
	pkt = sample_packet(ROCE_PKT_WRITE_ONLY_IMM, 1);

	pkt.flags |= ROCE_PKT_FECN | ROCE_PKT_BECN;
	assert_int_equal(roce_encode(&pkt, 0xffff, out), sizeof(write_only_imm));
	assert_memory_equal(out, write_only_imm, sizeof(write_only_imm));

	pkt = (struct roce_pkt){
		.op = ROCE_PKT_ACK,
		.flags = ROCE_PKT_MIGREQ,
		.dqpn = 0x12,
		.psn = 0xffffff,
		.ack = { .syndrome = ROCE_SYN_NAK_ACCESS, .msn = 7 },
	};
	assert_int_equal(roce_encode(&pkt, 0xffff, out), sizeof(ack));
	assert_memory_equal(out, ack, sizeof(ack));
}

static void numbers_wider_than_24_bits_do_not_spill(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_TR_UD | ROCE_PKT_SEND_ONLY, 0);
	uint8_t out[ROCE_MAX_HEADER];

	pkt.flags = 0;
	pkt.dqpn = 0xff000001;
	pkt.psn = 0xff000002;
	pkt.sqpn = 0xff000003;
	roce_encode(&pkt, 0xffff, out);
	assert_int_equal(out[4], 0);
	assert_int_equal(out[8], 0);
	assert_int_equal(out[ROCE_BTH_BYTES + 4], 0);
}

static void every_truncation_is_refused(void **state)
{
	uint8_t bytes[ROCE_MAX_PACKET];
	struct roce_payload payload;
	struct roce_pkt got;

	for (unsigned int op = 0; op < 256; op++) {
		const struct roce_opcode_info *info = roce_opcode_find(op);
		struct roce_pkt pkt;
		size_t whole;

		if (!info)
			continue;
		pkt = sample_packet(op, 0);
		whole = sample_bytes(&pkt, PKEY, bytes) + ROCE_ICRC_BYTES;
		for (size_t len = 0; len < (size_t)info->length + ROCE_ICRC_BYTES; len++) {
			enum roce_drop why = decode(bytes, len, &got, &payload);

			if (len < ROCE_MIN_PACKET)
				assert_int_equal(why, ROCE_DROP_SHORT);
			else if (len & 3)
				assert_int_equal(why, ROCE_DROP_LENGTH);
			else
				assert_int_equal(why, ROCE_DROP_HEADER);
		}
		for (size_t len = info->length + ROCE_ICRC_BYTES; len < whole; len++)
			assert_int_not_equal(decode(bytes, len, &got, &payload), ROCE_OK);
	}
}

static void unknown_opcodes_and_versions_are_refused(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 64), got;
	uint8_t bytes[ROCE_MAX_PACKET];
	size_t len = sample_bytes(&pkt, PKEY, bytes) + ROCE_ICRC_BYTES;
	struct roce_payload payload;

	for (unsigned int op = 0; op < 256; op++) {
		bytes[0] = op;
		if (!roce_opcode_find(op))
			assert_int_equal(decode(bytes, len, &got, &payload), ROCE_DROP_OPCODE);
	}
	bytes[0] = ROCE_PKT_SEND_ONLY;
	for (unsigned int version = 1; version < 16; version++) {
		bytes[1] = (bytes[1] & 0xf0) | version;
		assert_int_equal(decode(bytes, len, &got, &payload), ROCE_DROP_VERSION);
	}
}

static void pad_without_payload_is_refused(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 0), got;
	uint8_t bytes[ROCE_MAX_PACKET];
	size_t len = sample_bytes(&pkt, PKEY, bytes) + ROCE_ICRC_BYTES;
	struct roce_payload payload;

	assert_int_equal(decode(bytes, len, &got, &payload), ROCE_OK);
	for (unsigned int pad = 1; pad < 4; pad++) {
		bytes[1] = (bytes[1] & 0xcf) | pad << 4;
		assert_int_equal(decode(bytes, len, &got, &payload), ROCE_DROP_PAD);
	}
}

static void payloads_that_the_opcode_forbids_are_refused(void **state)
{
	uint8_t bytes[ROCE_MAX_PACKET + 16] = { 0 };
	struct roce_payload payload;
	struct roce_pkt got;

	for (unsigned int op = 0; op < 256; op++) {
		const struct roce_opcode_info *info = roce_opcode_find(op);

		if (!info)
			continue;
		bytes[0] = op;
		for (uint32_t pad = 0; pad < 4; pad++) {
			bytes[1] = pad << 4;
			for (uint32_t len = 4; len <= ROCE_MAX_PAYLOAD; len += 4) {
				size_t whole = info->length + len + ROCE_ICRC_BYTES;
				bool allowed = roce_payload_allowed(info->payload, len - pad);

				assert_int_equal(roce_decode(bytes, whole, &got, &payload),
						 allowed ? ROCE_OK : ROCE_DROP_PAYLOAD);
			}
		}
	}
}

static void packets_longer_than_the_maximum_are_refused(void **state)
{
	uint8_t bytes[ROCE_MAX_PACKET + 4] = { [0] = ROCE_PKT_SEND_ONLY };
	struct roce_payload payload;
	struct roce_pkt got;

	assert_int_equal(decode(bytes, ROCE_MAX_PACKET + 4, &got, &payload), ROCE_DROP_LENGTH);
	assert_int_equal(decode(bytes, ROCE_MAX_PACKET, &got, &payload), ROCE_DROP_PAYLOAD);
}

static void reserved_bits_are_ignored(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_TR_XRC | ROCE_PKT_SEND_ONLY, 8), got;
	uint8_t bytes[ROCE_MAX_PACKET];
	size_t len = sample_bytes(&pkt, PKEY, bytes) + ROCE_ICRC_BYTES;
	struct roce_payload payload;

	bytes[4] |= 0x3f;
	bytes[8] |= 0x7f;
	bytes[ROCE_BTH_BYTES] = 0xff;
	assert_int_equal(decode(bytes, len, &got, &payload), ROCE_OK);
	assert_memory_equal(&got, &pkt, sizeof(pkt));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_opcode_survives_the_wire),
		cmocka_unit_test(a_known_packet_has_the_bytes_of_the_specification),
		cmocka_unit_test(numbers_wider_than_24_bits_do_not_spill),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(unknown_opcodes_and_versions_are_refused),
		cmocka_unit_test(pad_without_payload_is_refused),
		cmocka_unit_test(payloads_that_the_opcode_forbids_are_refused),
		cmocka_unit_test(packets_longer_than_the_maximum_are_refused),
		cmocka_unit_test(reserved_bits_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
