/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers of datagrams, against the bytes that rdma-core's rsockets have. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "rsocket/dgram_wire.h"

static union rs_addr ipv4(void)
{
	union rs_addr addr;

	memset(&addr, 0, sizeof(addr)); /* an initialiser leaves the bytes of other members open */
	addr.in.sin_family = AF_INET;
	addr.in.sin_port = htons(0x1234);
	addr.in.sin_addr.s_addr = htonl(0xc0000207);
	return addr;
}

static union rs_addr ipv6(void)
{
	union rs_addr addr;

	memset(&addr, 0, sizeof(addr));
	addr.in6.sin6_family = AF_INET6;
	addr.in6.sin6_port = htons(0x1234);
	inet_pton(AF_INET6, "2001:db8::7", &addr.in6.sin6_addr);
	return addr;
}

static const uint8_t ud4[] = { 4, 8, 0x12, 0x34, 192, 0, 2, 7 };
static const uint8_t ud6[] = { 6, 24, 0x12, 0x34, 0, 0, 0, 0, 0x20, 0x01, 0x0d, 0xb8,
			       0, 0,  0,    0,    0, 0, 0, 0, 0,    0,    0,    7 };
static const uint8_t udp4[] = { 0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0, 0, 0, 1, 2, 192, 0, 2, 7 };

static void a_datagram_carries_its_senders_address(void **state)
{
	const union rs_addr from4 = ipv4(), from6 = ipv6();
	uint8_t buf[RS_UD_HEADER_MAX];
	union rs_addr from;

	assert_int_equal(rs_ud_header_encode(&from4, buf), sizeof(ud4));
	assert_memory_equal(buf, ud4, sizeof(ud4));
	assert_int_equal(rs_ud_header_decode(ud4, sizeof(ud4), &from), sizeof(ud4));
	assert_memory_equal(&from, &from4, sizeof(from));
	assert_int_equal(rs_ud_header_encode(&from6, buf), sizeof(ud6));
	assert_memory_equal(buf, ud6, sizeof(ud6));
	assert_int_equal(rs_ud_header_decode(ud6, sizeof(ud6), &from), sizeof(ud6));
	assert_memory_equal(&from, &from6, sizeof(from));
}

static void short_and_wrong_headers_of_datagrams_are_refused(void **state)
{
	uint8_t buf[sizeof(ud6)];
	union rs_addr from;

	for (size_t len = 0; len < sizeof(ud4); len++)
		assert_int_equal(rs_ud_header_decode(ud4, len, &from), -EPROTO);
	for (size_t len = 0; len < sizeof(ud6); len++)
		assert_int_equal(rs_ud_header_decode(ud6, len, &from), -EPROTO);
	memcpy(buf, ud6, sizeof(buf));
	buf[0] = 5;
	assert_int_equal(rs_ud_header_decode(buf, sizeof(buf), &from), -EPROTO);
	memcpy(buf, ud4, sizeof(ud4));
	buf[1] = 24;
	assert_int_equal(rs_ud_header_decode(buf, sizeof(buf), &from), -EPROTO);
}

static void a_udp_message_carries_the_queue_pair(void **state)
{
	const union rs_addr from4 = ipv4(), from6 = ipv6();
	uint8_t buf[RS_UDP_HEADER_MAX];
	enum rs_udp_op op;
	uint32_t qpn;

	assert_int_equal(rs_udp_header_encode(RS_UDP_DATA, 0x102, &from4, buf), sizeof(udp4));
	assert_memory_equal(buf, udp4, sizeof(udp4));
	assert_int_equal(rs_udp_header_encode(RS_UDP_CTRL, 0xffffff, &from6, buf), 28);
	assert_int_equal(rs_udp_header_decode(buf, 28, AF_INET6, &op, &qpn), 28);
	assert_int_equal(op, RS_UDP_CTRL);
	assert_int_equal(qpn, 0xffffff);
}

static void udp_messages_of_others_are_refused(void **state)
{
	uint8_t buf[sizeof(udp4)];
	enum rs_udp_op op;
	uint32_t qpn;

	for (size_t len = 0; len < sizeof(udp4); len++)
		assert_int_equal(rs_udp_header_decode(udp4, len, AF_INET, &op, &qpn), -EPROTO);
	assert_int_equal(rs_udp_header_decode(udp4, sizeof(udp4), AF_INET6, &op, &qpn), -EPROTO);
	for (int i = 0; i < 7; i++) {
		if (i == 5)
			continue; /* the operation */
		memcpy(buf, udp4, sizeof(buf));
		buf[i] ^= 1;
		assert_int_equal(rs_udp_header_decode(buf, sizeof(buf), AF_INET, &op, &qpn),
				 -EPROTO);
	}
}

static void addresses_of_other_families_and_short_ones_are_refused(void **state)
{
	const struct sockaddr other = { .sa_family = AF_UNIX };
	const union rs_addr addr = ipv4();
	union rs_addr out;

	assert_int_equal(rs_addr_set(&out, NULL, 16), -EINVAL);
	assert_int_equal(rs_addr_set(&out, &addr.sa, 1), -EINVAL);
	assert_int_equal(rs_addr_set(&out, &addr.sa, 8), -EAFNOSUPPORT);
	assert_int_equal(rs_addr_set(&out, &other, sizeof(other)), -EAFNOSUPPORT);
	assert_int_equal(rs_addr_set(&out, &addr.sa, sizeof(addr.in)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_datagram_carries_its_senders_address),
		cmocka_unit_test(short_and_wrong_headers_of_datagrams_are_refused),
		cmocka_unit_test(a_udp_message_carries_the_queue_pair),
		cmocka_unit_test(udp_messages_of_others_are_refused),
		cmocka_unit_test(addresses_of_other_families_and_short_ones_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
