/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/ip_header.h"
#include "cm/support.h"

static uint8_t header[IP_HEADER_BYTES];

static const uint8_t ipv4_header[IP_HEADER_BYTES] = {
	0, 0x40, 0x12, 0x34,                                       /* version, family, port */
	0, 0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 7, /* source */
	0, 0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 9, /* destination */
};

static const uint8_t ipv6_header[IP_HEADER_BYTES] = {
	0,    0x60, 0x12, 0x34,                                     /* version, family, port */
	0x20, 1,    0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, /* source */
	0x20, 1,    0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, /* destination */
};

static void ipv4_addresses_are_the_last_bytes_of_their_fields(void **state)
{
	struct address src, dst;

	memset(header, 0xff, sizeof(header));
	ip_header_put(ip(&src, "192.0.2.7", 0x1234), ip(&dst, "192.0.2.9", 7174), header);
	assert_memory_equal(header, ipv4_header, sizeof(header));
}

static void ipv6_addresses_fill_their_fields(void **state)
{
	struct address src, dst;

	memset(header, 0xff, sizeof(header));
	ip_header_put(ip(&src, "2001:db8::7", 0x1234), ip(&dst, "2001:db8::9", 7174), header);
	assert_memory_equal(header, ipv6_header, sizeof(header));
}

static void check_get(const uint8_t *bytes, const char *src_text, const char *dst_text)
{
	struct sockaddr_storage src, dst, want = { 0 };
	struct address addr;

	memset(&src, 0xff, sizeof(src));
	memset(&dst, 0xff, sizeof(dst));
	assert_true(ip_header_get(bytes, 7174, &src, &dst));
	memcpy(&want, ip(&addr, src_text, 0x1234), sizeof(struct sockaddr_in6));
	assert_memory_equal(&src, &want, sizeof(want));
	memcpy(&want, ip(&addr, dst_text, 7174), sizeof(struct sockaddr_in6));
	assert_memory_equal(&dst, &want, sizeof(want));
}

static void addresses_come_with_the_ports_of_header_and_service(void **state)
{
	check_get(ipv4_header, "192.0.2.7", "192.0.2.9");
	check_get(ipv6_header, "2001:db8::7", "2001:db8::9");
}

static void reserved_bits_and_the_bytes_before_an_ipv4_address_are_ignored(void **state)
{
	memcpy(header, ipv4_header, sizeof(header));
	header[1] |= 0x0f;
	memset(header + 4, 0xff, 12);
	memset(header + 20, 0xff, 12);
	check_get(header, "192.0.2.7", "192.0.2.9");
}

static void headers_of_another_version_or_family_are_refused(void **state)
{
	struct sockaddr_storage src, dst;

	for (unsigned version = 0; version < 256; version++)
		for (unsigned family = 0; family < 16; family++) {
			memcpy(header, ipv6_header, sizeof(header));
			header[0] = version;
			header[1] = family << 4;
			assert_int_equal(ip_header_get(header, 1, &src, &dst),
					 version == 0 && (family == 4 || family == 6));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ipv4_addresses_are_the_last_bytes_of_their_fields),
		cmocka_unit_test(ipv6_addresses_fill_their_fields),
		cmocka_unit_test(addresses_come_with_the_ports_of_header_and_service),
		cmocka_unit_test(reserved_bits_and_the_bytes_before_an_ipv4_address_are_ignored),
		cmocka_unit_test(headers_of_another_version_or_family_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
