/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <infiniband/ib.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "rspreload/config.h"

static struct rsp_config parsed(const char *text)
{
	struct rsp_config config = { 0 };
	FILE *file = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(file);
	rsp_config_read(&config, file);
	fclose(file);
	return config;
}

static void without_a_line_every_socket_matches(void **state)
{
	struct rsp_config config = { 0 };

	assert_true(rsp_config_matches(&config, "nc", AF_INET, SOCK_STREAM, 0));
	assert_true(rsp_config_matches(&config, "nc", AF_UNIX, SOCK_DGRAM, 0));
}

static void a_file_of_comments_is_a_file_without_a_line(void **state)
{
	struct rsp_config config = parsed("# nc INET STREAM TCP\n\n   \n");

	assert_true(rsp_config_matches(&config, "curl", AF_INET, SOCK_STREAM, 0));
	rsp_config_fini(&config);
}

static void every_column_must_match(void **state)
{
	struct rsp_config config = parsed("nc INET STREAM TCP\n");

	assert_true(rsp_config_matches(&config, "nc", AF_INET, SOCK_STREAM, IPPROTO_TCP));
	assert_false(rsp_config_matches(&config, "curl", AF_INET, SOCK_STREAM, IPPROTO_TCP));
	assert_false(rsp_config_matches(&config, "nc", AF_INET6, SOCK_STREAM, IPPROTO_TCP));
	assert_false(rsp_config_matches(&config, "nc", AF_INET, SOCK_DGRAM, IPPROTO_TCP));
	assert_false(rsp_config_matches(&config, "nc", AF_INET, SOCK_STREAM, IPPROTO_SCTP));
	rsp_config_fini(&config);
}

static void protocol_0_is_the_usual_one_of_the_type(void **state)
{
	struct rsp_config config = parsed("* * * UDP\n");

	assert_true(rsp_config_matches(&config, "nc", AF_INET, SOCK_DGRAM, 0));
	assert_false(rsp_config_matches(&config, "nc", AF_INET, SOCK_STREAM, 0));
	rsp_config_fini(&config);
}

static void a_program_matches_by_the_beginning_of_its_name(void **state)
{
	struct rsp_config config = parsed("Redis * * *\n");

	assert_true(rsp_config_matches(&config, "redis-server", AF_INET, SOCK_STREAM, 0));
	assert_false(rsp_config_matches(&config, "red", AF_INET, SOCK_STREAM, 0));
	rsp_config_fini(&config);
}

static void words_may_have_their_prefix_in_either_case(void **state)
{
	struct rsp_config config = parsed("a af_inet sock_stream ipproto_tcp\n"
					  "b PF_INET6 Dgram udp\n"
					  "c ib * *\n");

	assert_true(rsp_config_matches(&config, "a", AF_INET, SOCK_STREAM, 0));
	assert_true(rsp_config_matches(&config, "b", AF_INET6, SOCK_DGRAM, 0));
	assert_true(rsp_config_matches(&config, "c", AF_IB, SOCK_STREAM, 0));
	assert_false(rsp_config_matches(&config, "c", AF_INET, SOCK_STREAM, 0));
	rsp_config_fini(&config);
}

static void lines_that_are_not_understood_are_ignored(void **state)
{
	struct rsp_config config = parsed("nc INET STREAM\n"
					  "nc INET STREAM SCTP\n"
					  "nc INET RAW *\n"
					  "nc UNIX * *\n"
					  "curl * * *\n");

	assert_int_equal(config.rules.count, 1);
	assert_false(rsp_config_matches(&config, "nc", AF_INET, SOCK_STREAM, 0));
	assert_true(rsp_config_matches(&config, "curl", AF_INET, SOCK_STREAM, 0));
	rsp_config_fini(&config);
}

static void a_long_line_is_one_line(void **state)
{
	char text[1000];
	struct rsp_config config;

	memset(text, 'x', sizeof(text));
	strcpy(text + 900, " * * *\n");
	config = parsed(text);
	assert_false(rsp_config_matches(&config, "nc", AF_INET, SOCK_STREAM, 0) &&
		     config.rules.count);
	rsp_config_fini(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_line_every_socket_matches),
		cmocka_unit_test(a_file_of_comments_is_a_file_without_a_line),
		cmocka_unit_test(every_column_must_match),
		cmocka_unit_test(protocol_0_is_the_usual_one_of_the_type),
		cmocka_unit_test(a_program_matches_by_the_beginning_of_its_name),
		cmocka_unit_test(words_may_have_their_prefix_in_either_case),
		cmocka_unit_test(lines_that_are_not_understood_are_ignored),
		cmocka_unit_test(a_long_line_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
