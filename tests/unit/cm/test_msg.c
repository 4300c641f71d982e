/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cm/ip_header.h"
#include "cm/msg.h"
#include "cmocka_all.h"
#include "util/api.h"

#define DATA 24 /* where a message begins, behind the header of the MAD */

static uint8_t mad[MSG_BYTES];

/* Every kind, read and written again. */
#define AGAIN(name)                                                                                \
	static void again_##name(const uint8_t *in, uint64_t tid, uint8_t *out)                    \
	{                                                                                          \
		struct msg_##name m;                                                               \
                                                                                                   \
		msg_get_##name(in, &m);                                                            \
		msg_put_##name(&m, tid, out);                                                      \
	}
AGAIN(req)
AGAIN(rep)
AGAIN(mra)
AGAIN(rej)
AGAIN(dreq)
AGAIN(lap)
AGAIN(apr)
AGAIN(sidr_req)
AGAIN(sidr_rep)

static void again_rtu(const uint8_t *in, uint64_t tid, uint8_t *out)
{
	struct msg_rtu m;

	msg_get_rtu(in, &m);
	msg_put_rtu(&m, MSG_RTU, tid, out);
}

static void again_drep(const uint8_t *in, uint64_t tid, uint8_t *out)
{
	struct msg_rtu m;

	msg_get_rtu(in, &m);
	msg_put_rtu(&m, MSG_DREP, tid, out);
}

/* Bits that a message does not hold: `count` bits from bit `bit` of byte `byte` on. */
struct gap {
	uint8_t byte, bit, count;
};

static const struct {
	enum msg_kind kind;
	void (*again)(const uint8_t *in, uint64_t tid, uint8_t *out);
	bool has_attr_mod;
	struct gap gaps[11];
} kinds[] = {
	/* the two EECNs of a REQ are for RD; byte 139 has a bit for the suggested alternate path */
	{ MSG_REQ,
	  again_req,
	  true,
	  { { 4, 0, 8 },
	    { 24, 0, 32 },
	    { 36, 0, 24 },
	    { 40, 0, 24 },
	    { 90, 4, 6 },
	    { 94, 5, 3 },
	    { 95, 5, 3 },
	    { 134, 4, 6 },
	    { 138, 5, 3 },
	    { 139, 5, 3 } } },
	{ MSG_MRA, again_mra, false, { { 8, 2, 6 }, { 9, 5, 3 } } },
	{ MSG_REJ, again_rej, false, { { 8, 2, 6 }, { 9, 7, 1 } } },
	{ MSG_REP, again_rep, true, { { 27, 4, 4 } } },
	{ MSG_RTU, again_rtu, false, { { 0 } } },
	{ MSG_DREQ, again_dreq, false, { { 11, 0, 8 } } },
	{ MSG_DREP, again_drep, false, { { 0 } } },
	{ MSG_SIDR_REQ, again_sidr_req, false, { { 6, 0, 16 } } },
	{ MSG_SIDR_REP, again_sidr_rep, true, { { 0 } } },
	{ MSG_LAP,
	  again_lap,
	  false,
	  { { 8, 0, 32 },
	    { 15, 5, 3 },
	    { 16, 0, 32 },
	    { 58, 4, 4 },
	    { 61, 0, 2 },
	    { 62, 5, 3 },
	    { 63, 5, 3 } } },
	{ MSG_APR, again_apr, false, { { 10, 0, 16 } } },
};

static bool is_in_gap(const struct gap *gaps, unsigned bit)
{
	for (; gaps->count; gaps++) {
		unsigned first = (DATA + gaps->byte) * 8 + gaps->bit;

		if (bit >= first && bit < first + gaps->count)
			return true;
	}
	return false;
}

/* Whether bit `bit` of a MAD is of the message of kinds[k], rather than reserved or the header's. */
static bool is_held(size_t k, unsigned bit)
{
	if (bit < DATA * 8)
		return kinds[k].has_attr_mod && bit >= 20 * 8;
	return !is_in_gap(kinds[k].gaps, bit);
}

static void messages_hold_each_of_their_bits_and_no_reserved_one(void **state)
{
	for (size_t k = 0; k < array_size(kinds); k++)
		for (unsigned bit = 0; bit < MSG_BYTES * 8; bit++) {
			uint8_t in[MSG_BYTES] = { 0 }, want[MSG_BYTES];

			kinds[k].again(in, 0, mad);
			memcpy(want, mad, MSG_BYTES);
			in[bit / 8] = 0x80 >> bit % 8;
			if (is_held(k, bit))
				want[bit / 8] |= in[bit / 8];
			/* Additional information is never longer than its room. */
			if ((kinds[k].kind == MSG_APR && bit == (DATA + 8) * 8) ||
			    (kinds[k].kind == MSG_SIDR_REP && bit == (DATA + 5) * 8))
				want[bit / 8] = MSG_REJ_INFO;
			kinds[k].again(in, 0, mad);
			assert_memory_equal(mad, want, MSG_BYTES);
		}
}

/* Every bit of the message in mad is set, and no reserved one. */
static void check_ones(enum msg_kind kind)
{
	size_t k = 0;

	while (kinds[k].kind != kind)
		k++;
	for (unsigned bit = 20 * 8; bit < MSG_BYTES * 8; bit++)
		assert_int_equal(mad[bit / 8] >> (7 - bit % 8) & 1, is_held(k, bit));
}

static void values_that_are_too_wide_are_cut(void **state)
{
	struct msg_req req;
	struct msg_rep rep;
	struct msg_lap lap;

	memset(&req, 0xff, sizeof(req));
	msg_put_req(&req, 0, mad);
	check_ones(MSG_REQ);
	memset(&rep, 0xff, sizeof(rep));
	msg_put_rep(&rep, 0, mad);
	check_ones(MSG_REP);
	memset(&lap, 0xff, sizeof(lap));
	msg_put_lap(&lap, 0, mad);
	check_ones(MSG_LAP);
}

static void headers_have_the_class_the_attribute_and_the_transaction(void **state)
{
	static const uint8_t want[DATA] = { 1,    7,    2,    3,    0,    0,    0,    0,
					    0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0 };

	for (size_t k = 0; k < array_size(kinds); k++) {
		const uint8_t in[MSG_BYTES] = { 0 };
		struct msg_head head;

		kinds[k].again(in, 0x123456789abcdef0, mad);
		assert_memory_equal(mad, want, 16);
		assert_int_equal(mad[16], 0);
		assert_int_equal(mad[17], kinds[k].kind);
		assert_memory_equal(mad + 18, want + 18, DATA - 18);
		assert_true(msg_get_head(mad, &head));
		assert_int_equal(head.kind, kinds[k].kind);
		assert_int_equal(head.tid, 0x123456789abcdef0);
	}
}

static void mads_of_another_version_class_or_method_are_no_messages(void **state)
{
	const struct msg_rtu rtu = { 0 };
	struct msg_head head;

	for (int byte = 0; byte < 4; byte++) {
		msg_put_rtu(&rtu, MSG_RTU, 1, mad);
		assert_true(msg_get_head(mad, &head));
		mad[byte] ^= 0x80;
		assert_false(msg_get_head(mad, &head));
	}
}

static void attributes_that_are_not_known_are_left_to_the_caller(void **state)
{
	const struct msg_rtu rtu = { 0 };
	struct msg_head head;

	msg_put_rtu(&rtu, MSG_RTU, 1, mad);
	mad[16] = 0xab;
	assert_true(msg_get_head(mad, &head));
	assert_int_equal(head.kind, 0xab14);
}

/* Writes bytes in hexadecimal, with spaces anywhere between them, and returns their number. */
static size_t parse(const char *hex, uint8_t *out)
{
	size_t count = 0;
	int used;

	while (sscanf(hex, "%2hhx%n", &out[count], &used) == 1) {
		hex += used;
		count++;
	}
	return count;
}

static void expect(size_t at, const char *hex)
{
	uint8_t want[MSG_BYTES];
	size_t count = parse(hex, want);

	assert_memory_equal(mad + DATA + at, want, count);
}

/* The message in mad is the same when it has been read and written again. */
static void check_again(void (*again)(const uint8_t *in, uint64_t tid, uint8_t *out))
{
	uint8_t out[MSG_BYTES];

	again(mad, 1, out);
	assert_memory_equal(out, mad, MSG_BYTES);
}

static void fill(uint8_t *bytes, size_t size, uint8_t first)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = first + i;
}

static void fill_path(struct msg_path *path, uint8_t gids)
{
	*path = (struct msg_path){ .local_lid = 0x1234,
				   .remote_lid = 0x5678,
				   .flow_label = 0xabcde,
				   .packet_rate = 0x15,
				   .traffic_class = 0x60,
				   .hop_limit = 0x40,
				   .sl = 9,
				   .is_subnet_local = true,
				   .local_ack_timeout = 0x11 };
	fill(path->local_gid, 16, gids);
	fill(path->remote_gid, 16, gids + 16);
}

static void fields_of_a_req_are_where_the_specification_has_them(void **state)
{
	struct msg_req req = { .local_comm_id = 0x01020304,
			       .vendor_id = 0x0002c9,
			       .attr_mod = 0x0a0b0c0d,
			       .service_id = 0x0000000001061c20,
			       .local_ca_guid = 0x1122334455667788,
			       .local_qkey = 0x80010000,
			       .local_qpn = 0xabcdef,
			       .responder_resources = 0x16,
			       .initiator_depth = 0x17,
			       .remote_cm_timeout = 20,
			       .transport = MSG_TRANSPORT_UC,
			       .flow_control = true,
			       .starting_psn = 0x123456,
			       .local_cm_timeout = 19,
			       .retry_count = 5,
			       .pkey = 0xffff,
			       .path_mtu = 3,
			       .rdc_exists = true,
			       .rnr_retry_count = 6,
			       .max_cm_retries = 15,
			       .srq = false,
			       .extended_transport = 1 };

	fill_path(&req.primary, 0x80);
	fill_path(&req.alternate, 0xa0);
	fill(req.private_data, sizeof(req.private_data), 1);
	msg_put_req(&req, 1, mad);
	assert_memory_equal(mad + 20, "\x0a\x0b\x0c\x0d", 4);
	expect(0, "01020304 00 0002c9 0000000001061c20 1122334455667788 00000000");
	expect(28, "80010000 abcdef 16 000000 17 000000 a3 123456 9d");
	expect(48, "ffff 3e f1 12345678");
	expect(56, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
	expect(88, "abcde015 60 40 98 88 12345678");
	expect(100, "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf");
	expect(132, "abcde015 60 40 98 88 010203");
	expect(231, "5c");
	check_again(again_req);
}

static void fields_of_a_rep_are_where_the_specification_has_them(void **state)
{
	struct msg_rep rep = { .local_comm_id = 0x01020304,
			       .remote_comm_id = 0x05060708,
			       .local_qkey = 0x80010000,
			       .local_qpn = 0xabcdef,
			       .local_eecn = 0x234567,
			       .starting_psn = 0x123456,
			       .responder_resources = 0x16,
			       .initiator_depth = 0x17,
			       .target_ack_delay = 15,
			       .failover_accepted = 2,
			       .flow_control = true,
			       .rnr_retry_count = 5,
			       .srq = true,
			       .local_ca_guid = 0x1122334455667788,
			       .vendor_id = 0xf102c9,
			       .attr_mod = 0x0a0b0c0d };

	fill(rep.private_data, sizeof(rep.private_data), 1);
	msg_put_rep(&rep, 1, mad);
	assert_memory_equal(mad + 20, "\x0a\x0b\x0c\x0d", 4);
	expect(0, "01020304 05060708 80010000 abcdef f1 234567 02 123456 c9");
	expect(24, "16 17 7d b0 1122334455667788 010203");
	expect(231, "c4");
	check_again(again_rep);
}

static void fields_of_a_rtu_and_a_drep_are_where_the_specification_has_them(void **state)
{
	struct msg_rtu rtu = { .local_comm_id = 0x01020304, .remote_comm_id = 0x05060708 };

	fill(rtu.private_data, sizeof(rtu.private_data), 1);
	msg_put_rtu(&rtu, MSG_DREP, 1, mad);
	expect(0, "01020304 05060708 010203");
	expect(231, "e0");
	check_again(again_drep);
}

static void fields_of_a_mra_are_where_the_specification_has_them(void **state)
{
	struct msg_mra mra = { .local_comm_id = 0x01020304,
			       .remote_comm_id = 0x05060708,
			       .answered = MSG_ANSWERED_OTHER,
			       .service_timeout = 24 };

	fill(mra.private_data, sizeof(mra.private_data), 1);
	msg_put_mra(&mra, 1, mad);
	expect(0, "01020304 05060708 80 c0 010203");
	expect(231, "de");
	check_again(again_mra);
}

static void fields_of_a_rej_are_where_the_specification_has_them(void **state)
{
	struct msg_rej rej = { .local_comm_id = 0x01020304,
			       .remote_comm_id = 0x05060708,
			       .answered = MSG_ANSWERED_REP,
			       .info_len = 72,
			       .reason = MSG_REJ_CONSUMER_DEFINED };

	fill(rej.info, sizeof(rej.info), 0x81);
	fill(rej.private_data, sizeof(rej.private_data), 1);
	msg_put_rej(&rej, 1, mad);
	expect(0, "01020304 05060708 40 90 001c 818283");
	expect(83, "c8 010203");
	expect(231, "94");
	check_again(again_rej);
}

static void fields_of_a_dreq_are_where_the_specification_has_them(void **state)
{
	struct msg_dreq dreq = { .local_comm_id = 0x01020304,
				 .remote_comm_id = 0x05060708,
				 .remote_qpn = 0xabcdef };

	fill(dreq.private_data, sizeof(dreq.private_data), 1);
	msg_put_dreq(&dreq, 1, mad);
	expect(0, "01020304 05060708 abcdef00 010203");
	expect(231, "dc");
	check_again(again_dreq);
}

static void fields_of_a_lap_are_where_the_specification_has_them(void **state)
{
	struct msg_lap lap = { .local_comm_id = 0x01020304,
			       .remote_comm_id = 0x05060708,
			       .remote_qpn = 0xabcdef,
			       .remote_cm_timeout = 20 };

	fill_path(&lap.alternate, 0x80);
	fill(lap.private_data, sizeof(lap.private_data), 1);
	msg_put_lap(&lap, 1, mad);
	expect(0, "01020304 05060708 00000000 abcdef a0 00000000 12345678");
	expect(24, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
	expect(56, "abcde0 60 40 15 98 88 010203");
	expect(231, "a8");
	check_again(again_lap);
}

static void fields_of_an_apr_are_where_the_specification_has_them(void **state)
{
	struct msg_apr apr = { .local_comm_id = 0x01020304,
			       .remote_comm_id = 0x05060708,
			       .info_len = 7,
			       .status = 3 };

	fill(apr.info, sizeof(apr.info), 0x81);
	fill(apr.private_data, sizeof(apr.private_data), 1);
	msg_put_apr(&apr, 1, mad);
	expect(0, "01020304 05060708 07 03 0000 818283");
	expect(83, "c8 010203");
	expect(231, "94");
	check_again(again_apr);
}

static void fields_of_a_sidr_req_are_where_the_specification_has_them(void **state)
{
	struct msg_sidr_req req = { .request_id = 0x01020304,
				    .pkey = 0x8001,
				    .service_id = 0x0000000001111c20 };

	fill(req.private_data, sizeof(req.private_data), 1);
	msg_put_sidr_req(&req, 1, mad);
	expect(0, "01020304 8001 0000 0000000001111c20 010203");
	expect(231, "d8");
	check_again(again_sidr_req);
}

static void fields_of_a_sidr_rep_are_where_the_specification_has_them(void **state)
{
	struct msg_sidr_rep rep = { .request_id = 0x01020304,
				    .status = MSG_SIDR_NO_QP,
				    .info_len = 7,
				    .qpn = 0xabcdef,
				    .vendor_id = 0xf102c9,
				    .attr_mod = 0x0a0b0c0d,
				    .service_id = 0x0000000001111c20,
				    .qkey = 0x01234567 };

	fill(rep.info, sizeof(rep.info), 0x81);
	fill(rep.private_data, sizeof(rep.private_data), 1);
	msg_put_sidr_rep(&rep, 1, mad);
	assert_memory_equal(mad + 20, "\x0a\x0b\x0c\x0d", 4);
	expect(0, "01020304 03 07 f102 abcdef c9 0000000001111c20 01234567 818283");
	expect(95, "c8 010203");
	expect(231, "88");
	check_again(again_sidr_rep);
}

static void additional_information_is_never_longer_than_its_room(void **state)
{
	struct msg_sidr_rep sidr_rep;
	struct msg_rej rej;
	struct msg_apr apr;

	memset(mad, 0xff, MSG_BYTES);
	msg_get_rej(mad, &rej);
	assert_int_equal(rej.info_len, sizeof(rej.info));
	msg_get_apr(mad, &apr);
	assert_int_equal(apr.info_len, sizeof(apr.info));
	msg_get_sidr_rep(mad, &sidr_rep);
	assert_int_equal(sidr_rep.info_len, sizeof(sidr_rep.info));
}

/* The beginning of a MAD; zeros follow. */
static void make_mad(const char *hex)
{
	memset(mad, 0, MSG_BYTES);
	parse(hex, mad);
}

/* The next four are what Linux 6.1 sent over rxe for rping and udaddy. */
static void a_req_of_linux_is_understood(void **state)
{
	struct sockaddr_storage src, dst;
	struct msg_head head;
	struct msg_req req;

	make_mad("010702030000000000000004eb113c160010000000000000"
		 "163c11eb000000000000000001061c069ca31bfffe2bf0aa0000000000000000"
		 "0000110100000001000000a0cbae52a7ffff37f0ffffffff0000000000000000"
		 "0000ffff0a4e000100000000000000000000ffff0a4e0002581f100000400098"
		 "0000000000000000000000000000000000000000000000000000000000000000"
		 "0000000000000000000000000040b0b50000000000000000000000000a4e0001"
		 "0000000000000000000000000a4e0002");
	assert_true(msg_get_head(mad, &head));
	assert_int_equal(head.kind, MSG_REQ);
	assert_int_equal(head.tid, 0x4eb113c16);
	msg_get_req(mad, &req);
	assert_int_equal(req.local_comm_id, 0x163c11eb);
	assert_int_equal(req.service_id, 0x1061c06); /* TCP port space, port 7174 */
	assert_int_equal(req.local_ca_guid, 0x9ca31bfffe2bf0aa);
	assert_int_equal(req.local_qpn, 17);
	assert_int_equal(req.responder_resources, 1);
	assert_int_equal(req.initiator_depth, 1);
	assert_int_equal(req.remote_cm_timeout, 20);
	assert_int_equal(req.transport, MSG_TRANSPORT_RC);
	assert_false(req.flow_control);
	assert_int_equal(req.starting_psn, 0xcbae52);
	assert_int_equal(req.local_cm_timeout, 20);
	assert_int_equal(req.retry_count, 7);
	assert_int_equal(req.pkey, 0xffff);
	assert_int_equal(req.path_mtu, 3); /* 1024 bytes */
	assert_int_equal(req.rnr_retry_count, 7);
	assert_int_equal(req.max_cm_retries, 15);
	assert_int_equal(req.primary.local_lid, 0xffff);
	assert_int_equal(req.primary.local_gid[15], 1);
	assert_int_equal(req.primary.remote_gid[15], 2);
	assert_int_equal(req.primary.flow_label, 0x581f1);
	assert_int_equal(req.primary.hop_limit, 64);
	assert_int_equal(req.primary.local_ack_timeout, 19);
	assert_true(ip_header_get(req.private_data, 7174, &src, &dst));
	assert_int_equal(src.ss_family, AF_INET);
	assert_int_equal(((struct sockaddr_in *)&src)->sin_port, htons(0xb0b5));
	assert_int_equal(((struct sockaddr_in *)&src)->sin_addr.s_addr, htonl(0x0a4e0001));
	assert_int_equal(((struct sockaddr_in *)&dst)->sin_addr.s_addr, htonl(0x0a4e0002));
}

static void a_rep_of_linux_is_understood(void **state)
{
	struct msg_rep rep;

	make_mad("010702030000000000000004eb113c160013000000000000"
		 "173c11eb163c11eb00000000000011000000000032f27d00010178e028e9b1fffe112509");
	msg_get_rep(mad, &rep);
	assert_int_equal(rep.local_comm_id, 0x173c11eb);
	assert_int_equal(rep.remote_comm_id, 0x163c11eb);
	assert_int_equal(rep.local_qpn, 17);
	assert_int_equal(rep.starting_psn, 0x32f27d);
	assert_int_equal(rep.responder_resources, 1);
	assert_int_equal(rep.initiator_depth, 1);
	assert_int_equal(rep.target_ack_delay, 15);
	assert_int_equal(rep.failover_accepted, 0);
	assert_int_equal(rep.rnr_retry_count, 7);
	assert_int_equal(rep.local_ca_guid, 0x28e9b1fffe112509);
}

static void a_rej_of_linux_is_understood(void **state)
{
	struct msg_rej rej;

	/* The sender of a REQ gives up: its adapter's GUID is the additional information. */
	make_mad("010702030000000000000002eb113c120012000000000000"
		 "123c11eb0000000080100004505400fffe770002");
	msg_get_rej(mad, &rej);
	assert_int_equal(rej.local_comm_id, 0x123c11eb);
	assert_int_equal(rej.remote_comm_id, 0);
	assert_int_equal(rej.answered, MSG_ANSWERED_OTHER);
	assert_int_equal(rej.info_len, 8);
	assert_int_equal(rej.reason, MSG_REJ_TIMEOUT);
	assert_memory_equal(rej.info, "\x50\x54\x00\xff\xfe\x77\x00\x02", 8);
}

static void a_sidr_rep_of_linux_is_understood(void **state)
{
	struct msg_sidr_rep rep;

	make_mad("010702030000000000000004eb113c1b0018000000000000"
		 "1b3c11eb00000000000012000000000001111c0601234567");
	msg_get_sidr_rep(mad, &rep);
	assert_int_equal(rep.request_id, 0x1b3c11eb);
	assert_int_equal(rep.status, MSG_SIDR_VALID);
	assert_int_equal(rep.qpn, 18);
	assert_int_equal(rep.service_id, 0x1111c06);
	assert_int_equal(rep.qkey, 0x01234567);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_hold_each_of_their_bits_and_no_reserved_one),
		cmocka_unit_test(values_that_are_too_wide_are_cut),
		cmocka_unit_test(headers_have_the_class_the_attribute_and_the_transaction),
		cmocka_unit_test(mads_of_another_version_class_or_method_are_no_messages),
		cmocka_unit_test(attributes_that_are_not_known_are_left_to_the_caller),
		cmocka_unit_test(fields_of_a_req_are_where_the_specification_has_them),
		cmocka_unit_test(fields_of_a_rep_are_where_the_specification_has_them),
		cmocka_unit_test(fields_of_a_rtu_and_a_drep_are_where_the_specification_has_them),
		cmocka_unit_test(fields_of_a_mra_are_where_the_specification_has_them),
		cmocka_unit_test(fields_of_a_rej_are_where_the_specification_has_them),
		cmocka_unit_test(fields_of_a_dreq_are_where_the_specification_has_them),
		cmocka_unit_test(fields_of_a_lap_are_where_the_specification_has_them),
		cmocka_unit_test(fields_of_an_apr_are_where_the_specification_has_them),
		cmocka_unit_test(fields_of_a_sidr_req_are_where_the_specification_has_them),
		cmocka_unit_test(fields_of_a_sidr_rep_are_where_the_specification_has_them),
		cmocka_unit_test(additional_information_is_never_longer_than_its_room),
		cmocka_unit_test(a_req_of_linux_is_understood),
		cmocka_unit_test(a_rep_of_linux_is_understood),
		cmocka_unit_test(a_rej_of_linux_is_understood),
		cmocka_unit_test(a_sidr_rep_of_linux_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
