/* SPDX-License-Identifier: BSD-2-Clause */
/* The administrator's files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "rsocket/config.h"

static int make_folder(void **state)
{
	static char folder[64];

	strcpy(folder, "/tmp/rsocket-config-XXXXXX");
	*state = mkdtemp(folder);
	return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", (char *)*state);
	return system(command);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void without_files_the_defaults_are_those_of_rdma_core(void **state)
{
	struct rs_config config;

	rs_config_load(*state, &config);
	assert_int_equal(config.polling_us, 10);
	assert_int_equal(config.wake_up_ms, 5000);
	assert_int_equal(config.sizes.send_buf, 131072);
	assert_int_equal(config.sizes.recv_buf, 131072);
	assert_int_equal(config.sizes.send_queue, 384);
	assert_int_equal(config.sizes.recv_queue, 384);
	assert_int_equal(config.sizes.inline_max, 64);
	assert_int_equal(config.sizes.iomap, 0);
}

static void each_file_sets_its_value(void **state)
{
	struct rs_config config;

	write_file(*state, "polling_time", "0\n");
	write_file(*state, "wake_up_interval", "700");
	write_file(*state, "wmem_default", "1000000\n");
	write_file(*state, "mem_default", "2000000\n");
	write_file(*state, "sqsize_default", "100\n");
	write_file(*state, "rqsize_default", "200\n");
	write_file(*state, "inline_default", "32\n");
	write_file(*state, "iomap_size", "300\n");
	rs_config_load(*state, &config);
	assert_int_equal(config.polling_us, 0);
	assert_int_equal(config.wake_up_ms, 700);
	assert_int_equal(config.sizes.send_buf, 1000000);
	assert_int_equal(config.sizes.recv_buf, 2000000);
	assert_int_equal(config.sizes.send_queue, 100);
	assert_int_equal(config.sizes.recv_queue, 200);
	assert_int_equal(config.sizes.inline_max, 32);
	assert_int_equal(config.sizes.iomap, 256);
}

static void values_that_cannot_work_are_replaced(void **state)
{
	struct rs_config config;

	write_file(*state, "wmem_default", "1");
	write_file(*state, "mem_default", "0");
	write_file(*state, "sqsize_default", "99999999999");
	write_file(*state, "rqsize_default", "many");
	rs_config_load(*state, &config);
	assert_int_equal(config.sizes.send_buf, 2 * RS_SEND_LOW);
	assert_int_equal(config.sizes.recv_buf, 2);
	assert_int_equal(config.sizes.send_queue, RS_QUEUE_MAX);
	assert_int_equal(config.sizes.recv_queue, 384);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_files_the_defaults_are_those_of_rdma_core,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(each_file_sets_its_value, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(values_that_cannot_work_are_replaced, make_folder,
						remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
