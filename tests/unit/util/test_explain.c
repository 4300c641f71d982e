/* SPDX-License-Identifier: BSD-2-Clause */
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

static void explain_returns_the_negative_error_and_keeps_errno(void **state)
{
	errno = ENOENT;
	assert_int_equal(explain(EINVAL, "port %d", 9), -EINVAL);
	assert_int_equal(errno, ENOENT);
	assert_string_equal(explain_last(), "port 9");
}

static void explain_null_sets_errno(void **state)
{
	errno = 0;
	assert_null(explain_null(ENODEV, "no adapter"));
	assert_int_equal(errno, ENODEV);
}

static void a_stub_answers_eopnotsupp_and_names_the_call(void **state)
{
	errno = 0;
	assert_int_equal(explain_stub("ibv_frob"), EOPNOTSUPP);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_non_null(strstr(explain_last(), "ibv_frob"));
}

static void an_overlong_sentence_is_cut(void **state)
{
	char big[2048];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	explain(EINVAL, "%s", big);
	assert_true(strlen(explain_last()) < 600);
}

static void the_file_destination_gets_one_line_per_refusal(void **state)
{
	char path[] = "/tmp/vb-explain-XXXXXX", line[256], expect[64];
	int lines;
	FILE *f;

	close(mkstemp(path));
	setenv("VERBENA_EXPLAIN", path, 1);
	explain(ERANGE, "too much");
	f = fopen(path, "r");
	assert_non_null(f);
	/* The destination is read once per process, and this test is the first to ask. */
	assert_non_null(fgets(line, sizeof(line), f));
	snprintf(expect, sizeof(expect), "verbena[%d]: too much [ERANGE]\n", (int)getpid());
	assert_string_equal(line, expect);
	assert_null(fgets(line, sizeof(line), f));
	for (int i = 0; i < 100; i++)
		explain(ENODATA, "entry %d is empty", i);
	clearerr(f);
	for (lines = 0; fgets(line, sizeof(line), f); lines++)
		;
	/* A refusal that repeats is cut short, and says so. */
	assert_int_equal(lines, 8);
	assert_non_null(strstr(line, "not shown"));
	assert_string_equal(explain_last(), "entry 99 is empty");
	fclose(f);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_destination_gets_one_line_per_refusal),
		cmocka_unit_test(explain_returns_the_negative_error_and_keeps_errno),
		cmocka_unit_test(explain_null_sets_errno),
		cmocka_unit_test(a_stub_answers_eopnotsupp_and_names_the_call),
		cmocka_unit_test(an_overlong_sentence_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
