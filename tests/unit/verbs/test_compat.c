/* SPDX-License-Identifier: BSD-2-Clause */
/* What libibverbs keeps for old programs and foreign drivers. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "util/explain.h"

extern const char *ibv_get_sysfs_path(void);
extern int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
extern void verbs_register_driver_34(const void *ops);

static char folder[] = "/tmp/verbena-compat-XXXXXX";

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/file", folder);
	unlink(path);
	return rmdir(folder);
}

static void write_file(const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/file", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void sysfs_is_at_its_usual_place_unless_the_environment_moves_it(void **state)
{
	unsetenv("SYSFS_PATH");
	assert_string_equal(ibv_get_sysfs_path(), "/sys");
	setenv("SYSFS_PATH", "", 1);
	assert_string_equal(ibv_get_sysfs_path(), "/sys");
	setenv("SYSFS_PATH", "/elsewhere", 1);
	assert_string_equal(ibv_get_sysfs_path(), "/elsewhere");
	unsetenv("SYSFS_PATH");
}

static void a_sysfs_file_is_read_without_its_final_newline(void **state)
{
	char buf[16];

	write_file("0x15b3\n");
	assert_int_equal(ibv_read_sysfs_file(folder, "file", buf, sizeof(buf)), 6);
	assert_string_equal(buf, "0x15b3");
	write_file("a\n\n");
	assert_int_equal(ibv_read_sysfs_file(folder, "file", buf, sizeof(buf)), 2);
	assert_string_equal(buf, "a\n");
	write_file("");
	assert_int_equal(ibv_read_sysfs_file(folder, "file", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
}

static void a_sysfs_file_longer_than_the_buffer_is_cut_and_terminated(void **state)
{
	char buf[8] = "xxxxxxx";

	write_file("abcdef");
	assert_int_equal(ibv_read_sysfs_file(folder, "file", buf, 4), 3);
	assert_string_equal(buf, "abc");
	assert_int_equal(buf[4], 'x');
	assert_int_equal(ibv_read_sysfs_file(folder, "file", buf, 0), -1);
	assert_int_equal(errno, EINVAL);
}

static void a_missing_sysfs_file_is_an_error(void **state)
{
	char buf[8];

	assert_int_equal(ibv_read_sysfs_file(folder, "nothing", buf, sizeof(buf)), -1);
	assert_int_equal(errno, ENOENT);
}

static void a_foreign_driver_may_register_itself_and_is_ignored(void **state)
{
	explain(EINVAL, "said before");
	verbs_register_driver_34((void *)8);
	assert_string_equal(explain_last(), "said before");
}

/* This program is linked to our libibverbs, so libefa gets that one and not the system's. */
static void debians_libefa_loads(void **state)
{
	void *efa = dlopen("libefa.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!efa)
		fail_msg("%s", dlerror());
	assert_non_null(dlvsym(efa, "efadv_query_device", "EFA_1.1"));
	dlclose(efa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sysfs_is_at_its_usual_place_unless_the_environment_moves_it),
		cmocka_unit_test(a_sysfs_file_is_read_without_its_final_newline),
		cmocka_unit_test(a_sysfs_file_longer_than_the_buffer_is_cut_and_terminated),
		cmocka_unit_test(a_missing_sysfs_file_is_an_error),
		cmocka_unit_test(a_foreign_driver_may_register_itself_and_is_ignored),
		cmocka_unit_test(debians_libefa_loads),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
