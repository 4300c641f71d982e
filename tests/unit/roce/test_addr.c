/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "roce/addr.h"
#include "util/api.h"

static void text_and_back(void **state)
{
	static const char *const texts[] = { "10.1.2.3", "224.0.0.5", "fd00::1", "ff0e::1:2",
					     "::1" };
	char text[ROCE_ADDR_TEXT];

	for (size_t i = 0; i < array_size(texts); i++) {
		struct roce_addr a;

		assert_int_equal(roce_addr_parse(texts[i], &a), 0);
		assert_string_equal(roce_addr_format(&a, text), texts[i]);
	}
}

static void a_link_local_address_has_its_interface(void **state)
{
	union roce_sockaddr ss;
	struct roce_addr a, back;
	char text[ROCE_ADDR_TEXT];
	uint16_t port;

	assert_int_equal(roce_addr_parse("fe80::2%lo", &a), 0);
	assert_int_equal(a.ifindex, 1);
	assert_string_equal(roce_addr_format(&a, text), "fe80::2%1");
	assert_int_equal(roce_addr_parse("fe80::2%17", &a), 0);
	assert_int_equal(roce_addr_to_sockaddr(&a, 4791, &ss), sizeof(struct sockaddr_in6));
	assert_int_equal(ss.v6.sin6_scope_id, 17);
	assert_true(roce_addr_from_sockaddr(&ss, &back, &port));
	assert_memory_equal(&a, &back, sizeof(a));
	assert_int_equal(port, 4791);
}

static void malformed_text_is_refused(void **state)
{
	static const char *const texts[] = { "",
					     "10.1.2",
					     "10.1.2.3.4",
					     "fe80::1%nosuch0",
					     "fe80::1%",
					     "fe80::1%0",
					     "x",
					     "1:2:3:4:5:6:7:8:9",
					     "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa" };
	struct roce_addr a;

	for (size_t i = 0; i < array_size(texts); i++)
		assert_int_equal(roce_addr_parse(texts[i], &a), -EINVAL);
}

static void multicast_addresses_are_recognized(void **state)
{
	struct roce_addr a;

	roce_addr_parse("239.1.2.3", &a);
	assert_true(roce_addr_is_multicast(&a));
	assert_true(roce_addr_is_ipv4(&a));
	roce_addr_parse("240.1.2.3", &a);
	assert_false(roce_addr_is_multicast(&a));
	roce_addr_parse("ff0e::1", &a);
	assert_true(roce_addr_is_multicast(&a));
	assert_false(roce_addr_is_ipv4(&a));
}

static void interfaces_of_local_addresses_are_found(void **state)
{
	struct roce_addr a;
	uint32_t index, mtu;

	roce_addr_parse("127.0.0.7", &a);
	assert_int_equal(roce_addr_interface(&a, &index), 0);
	assert_int_equal(index, 1);
	assert_int_equal(roce_interface_mtu(index, &mtu), 0);
	assert_true(mtu >= 1280);
	roce_addr_parse("192.0.2.77", &a);
	assert_int_equal(roce_addr_interface(&a, &index), -EADDRNOTAVAIL);
	assert_int_equal(roce_interface_mtu(999999, &mtu), -ENODEV);
}

/* As in Linux and rxe: 1024 of 1500, 4096 of 9000. */
static void path_mtus_leave_room_for_headers(void **state)
{
	assert_int_equal(roce_mtu_from_ip(1500), 1024);
	assert_int_equal(roce_mtu_from_ip(9000), 4096);
	assert_int_equal(roce_mtu_from_ip(65536), 4096);
	assert_int_equal(roce_mtu_from_ip(4096 + 96), 4096);
	assert_int_equal(roce_mtu_from_ip(4096 + 95), 2048);
	assert_int_equal(roce_mtu_from_ip(576), 256);
	assert_int_equal(roce_mtu_from_ip(300), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_and_back),
		cmocka_unit_test(a_link_local_address_has_its_interface),
		cmocka_unit_test(malformed_text_is_refused),
		cmocka_unit_test(multicast_addresses_are_recognized),
		cmocka_unit_test(interfaces_of_local_addresses_are_found),
		cmocka_unit_test(path_mtus_leave_room_for_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
