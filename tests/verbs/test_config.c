/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration, end to end: each case is a process of its own, for adapters are made once.
 */
#include "verbs_test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/verbena-test-XXXXXX";
static char file[PATH_MAX], errors[PATH_MAX];
static char said[4096];

static int make_dir(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/verbena.conf", dir);
	snprintf(errors, sizeof(errors), "%s/stderr", dir);
	return 0;
}

static int remove_dir(void **state)
{
	unlink(file);
	unlink(errors);
	return rmdir(dir);
}

static void write_config(const char *text)
{
	FILE *f = fopen(file, "we");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

struct run {
	const char *variable, *value;
	int (*body)(void);
};

static int run_body(void *arg)
{
	struct run *r = arg;
	int fd = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		return 100;
	close(fd);
	unsetenv("VERBENA_ADAPTERS");
	unsetenv("VERBENA_CONFIG");
	setenv(r->variable, r->value, 1);
	return r->body();
}

/* Runs body with one variable set; what it wrote to stderr is in `said`. */
static int run_with(const char *variable, const char *value, int (*body)(void))
{
	struct run r = { variable, value, body };
	int status = test_in_child(run_body, &r);
	FILE *f = fopen(errors, "re");

	assert_non_null(f);
	said[fread(said, 1, sizeof(said) - 1, f)] = 0;
	fclose(f);
	return status;
}

/* The errno that comes with no list. */
static int expect_no_list(void)
{
	int count = 77;
	struct ibv_device **list;

	errno = 0;
	list = ibv_get_device_list(&count);
	return list || count ? 120 : errno;
}

static void a_bad_file_gives_no_list_and_says_where(void **state)
{
	char where[PATH_MAX + 16];

	write_config("# mine\n[mlx5_0]\nmodel = ConnectX-99\n");
	assert_int_equal(run_with("VERBENA_CONFIG", file, expect_no_list), EINVAL);
	snprintf(where, sizeof(where), "verbena: %s:3: ", file);
	assert_non_null(strstr(said, where));
	assert_non_null(strstr(said, "ConnectX-99"));
	assert_non_null(strstr(said, "ConnectX-6"));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line, said once */
}

static void a_file_that_is_not_there_gives_no_list(void **state)
{
	unlink(file);
	assert_int_equal(run_with("VERBENA_CONFIG", file, expect_no_list), ENOENT);
	assert_non_null(strstr(said, file));
}

static void a_bad_variable_gives_no_list_and_names_it(void **state)
{
	assert_int_equal(run_with("VERBENA_ADAPTERS", "mlx5_0,speed=fast", expect_no_list), EINVAL);
	assert_non_null(strstr(said, "verbena: VERBENA_ADAPTERS: unknown key 'speed'"));
}

static int mend_and_ask_again(void)
{
	int err = expect_no_list();
	struct ibv_device **list;

	if (err != EINVAL)
		return 1;
	unsetenv("VERBENA_ADAPTERS");
	list = ibv_get_device_list(NULL);
	if (!list || !list[0] || !list[1] || list[2])
		return 2;
	ibv_free_device_list(list);
	return 0;
}

static void a_corrected_environment_is_read_again(void **state)
{
	assert_int_equal(run_with("VERBENA_ADAPTERS", "[", mend_and_ask_again), 0);
}

#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return __LINE__ & 0x7f;                                                    \
	} while (0)

static int see_what_the_file_says(void)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_device_attr_ex attr;
	struct ibv_context *context;
	struct ibv_port_attr port;
	union ibv_gid gid;

	check(list && count == 2);
	check(!strcmp(ibv_get_device_name(list[0]), "rocks"));
	check(ibv_get_device_guid(list[0]) == htobe64(0x0002c90300a0b0c0));
	context = ibv_open_device(list[0]);
	check(context && !ibv_query_device_ex(context, NULL, &attr));
	check(attr.orig_attr.vendor_part_id == 4119);
	check(attr.orig_attr.max_qp == 100 && attr.orig_attr.phys_port_cnt == 2);
	check(!ibv_query_port(context, 2, &port) && port.link_layer == IBV_LINK_LAYER_INFINIBAND);
	check(!ibv_query_port(context, 1, &port) && port.link_layer == IBV_LINK_LAYER_ETHERNET);
	check(ibv_query_port(context, 3, &port) == EINVAL);
	check(!ibv_query_gid(context, 1, 0, &gid));
	check(gid.raw[10] == 0xff && gid.raw[11] == 0xff && gid.raw[12] == 10 && gid.raw[15] == 9);
	check(!ibv_close_device(context));
	check(!strcmp(ibv_get_device_name(list[1]), "mlx4_9"));
	context = ibv_open_device(list[1]);
	check(context && !ibv_query_device_ex(context, NULL, &attr));
	check(attr.orig_attr.vendor_part_id == 4099);
	check(!ibv_close_device(context));
	ibv_free_device_list(list);
	return 0;
}

static void a_good_file_is_what_programs_see(void **state)
{
	write_config("[rocks]\n"
		     "model = ConnectX-5\n"
		     "ports = 2\n"
		     "guid = 0x0002c90300a0b0c0\n"
		     "max_qp = 100\n"
		     "port1.gids = 10.0.0.9\n"
		     "port2.link = infiniband\n"
		     "[mlx4_9]\n");
	assert_int_equal(run_with("VERBENA_CONFIG", file, see_what_the_file_says), 0);
	assert_string_equal(said, "");
}

static void the_users_own_file_is_read(void **state)
{
	write_config("[rocks]\nmodel = ConnectX-5\nports = 2\nguid = 0x0002c90300a0b0c0\n"
		     "max_qp = 100\nport1.gids = 10.0.0.9\nport2.link = infiniband\n[mlx4_9]\n");
	assert_int_equal(run_with("XDG_CONFIG_HOME", dir, see_what_the_file_says), 0);
}

static int refuse_and_explain(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list ? ibv_open_device(list[0]) : NULL;
	struct ibv_port_attr port;

	return !context || ibv_query_port(context, 2, &port) != EINVAL;
}

static void refusals_are_explained_with_verbena_explain(void **state)
{
	assert_int_equal(run_with("VERBENA_EXPLAIN", "1", refuse_and_explain), 0);
	assert_non_null(strstr(said, "port 2 does not exist; mlx5_0 has port 1"));
	assert_int_equal(run_with("VERBENA_EXPLAIN", "0", refuse_and_explain), 0);
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bad_file_gives_no_list_and_says_where),
		cmocka_unit_test(a_file_that_is_not_there_gives_no_list),
		cmocka_unit_test(a_bad_variable_gives_no_list_and_names_it),
		cmocka_unit_test(a_corrected_environment_is_read_again),
		cmocka_unit_test(a_good_file_is_what_programs_see),
		cmocka_unit_test(the_users_own_file_is_read),
		cmocka_unit_test(refusals_are_explained_with_verbena_explain),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
