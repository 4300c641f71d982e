/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca/device/config.h"
#include "util/explain.h"

static struct hca_config cfg;

static void a_file_describes_adapters_in_order(void **state)
{
	const char *text = "# two of them\n"
			   "[mlx5_7]\n"
			   "model = connectx-5\n"
			   "interface = eth1\n"
			   "max_qp = 0x100\n"
			   "\n"
			   "[ib0]\n"
			   "model=ConnectX-3\n"
			   "ports = 2\n"
			   "port2.gids = fe80::2, 10.0.0.9\n"
			   "guid = 0x0002c90300a0b0c0\n";

	assert_int_equal(hca_config_parse(text, "t", &cfg), 0);
	assert_int_equal(cfg.count, 2);
	assert_string_equal(cfg.adapters[0].name, "mlx5_7");
	assert_string_equal(cfg.adapters[0].model->name, "ConnectX-5");
	assert_string_equal(cfg.adapters[0].ports[0].interface, "eth1");
	assert_int_equal(cfg.adapters[0].limits.max_qp, 256);
	assert_int_equal(cfg.adapters[1].index, 1);
	assert_int_equal(cfg.adapters[1].port_count, 2);
	assert_int_equal(cfg.adapters[1].ports[0].gid_count, 0);
	assert_int_equal(cfg.adapters[1].ports[1].gid_count, 2);
	assert_int_equal(cfg.adapters[1].ports[1].gids[1].raw[11], 0xff);
	assert_int_equal(cfg.adapters[1].ports[1].gids[1].raw[15], 9);
	assert_true(cfg.adapters[1].node_guid == 0x0002c90300a0b0c0ull);
}

static void the_model_follows_from_a_well_known_name(void **state)
{
	assert_int_equal(hca_config_parse_list("mlx4_3;mlx5_0", "t", &cfg), 0);
	assert_int_equal(cfg.adapters[0].model->driver, HCA_DRIVER_MLX4);
	assert_int_equal(cfg.adapters[0].ports[0].link, HCA_LINK_INFINIBAND);
	assert_int_equal(cfg.adapters[1].model->driver, HCA_DRIVER_MLX5);
	assert_int_equal(cfg.adapters[1].ports[0].link, HCA_LINK_ETHERNET);
}

static void a_list_sets_keys_after_commas(void **state)
{
	assert_int_equal(
		hca_config_parse_list("mlx5_0,link=infiniband,max_cq=7;mlx5_1,gids=10.0.0.1 ::1",
				      "t", &cfg),
		0);
	assert_int_equal(cfg.adapters[0].ports[0].link, HCA_LINK_INFINIBAND);
	assert_int_equal(cfg.adapters[0].limits.max_cq, 7);
	assert_int_equal(cfg.adapters[1].ports[0].gid_count, 2);
}

#define HEX16 "0123456789abcdEF"

static void an_adapter_may_have_a_kek_and_a_credential(void **state)
{
	const struct hca_crypto_config *c = &cfg.adapters[0].crypto;

	assert_int_equal(hca_config_parse_list("mlx5_0", "t", &cfg), 0);
	assert_int_equal(c->kek_len, 0);
	assert_int_equal(hca_config_parse("[mlx5_0]\n"
					  "crypto_kek = " HEX16 HEX16 "\n"
					  "crypto_credential = " HEX16 HEX16 HEX16 HEX16 HEX16 "\n",
					  "t", &cfg),
			 0);
	assert_int_equal(c->kek_len, 16);
	assert_true(c->has_credential);
	assert_int_equal(c->kek[15], 0xef);
	assert_int_equal(c->credential[39], 0xef);
	assert_int_equal(c->credential[32], 0x01);
}

static void two_links_may_be_bonded(void **state)
{
	assert_int_equal(hca_config_parse("[mlx5_0]\nlag = eth0, eth1\n", "t", &cfg), 0);
	assert_int_equal(cfg.adapters[0].lag_count, 2);
	assert_string_equal(cfg.adapters[0].lag_interfaces[0], "eth0");
	assert_string_equal(cfg.adapters[0].lag_interfaces[1], "eth1");
	assert_int_equal(hca_config_parse_list("mlx5_0", "t", &cfg), 0);
	assert_int_equal(cfg.adapters[0].lag_count, 0);
}

static void every_mistake_names_its_line_and_reason(void **state)
{
	static const struct {
		const char *text, *where, *reason;
	} mistakes[] = {
		{ "x = 1\n", "f:1:", "before the first" },
		{ "[a\n", "f:1:", "ends in ]" },
		{ "[]\n", "f:1:", "1 to 63 characters" },
		{ "[a/b]\n", "f:1:", "letters, digits" },
		{ "[a]\n[a]\n", "f:2:", "twice" },
		{ "[a]\nmodel\n", "f:2:", "key = value" },
		{ "[a]\n\nmodel = Foo\n", "f:3:", "ConnectX-6" },
		{ "[a]\nlink = token-ring\n", "f:2:", "'ethernet' or 'infiniband'" },
		{ "[a]\ncrypto_kek = 00\n", "f:2:", "32 or 64" },
		{ "[a]\ncrypto_kek = " HEX16 "0g\n", "f:2:", "32 or 64" },
		{ "[a]\ncrypto_credential = " HEX16 HEX16 "\n", "f:2:", "80 hex" },
		{ "[a]\ncrypto_kek = " HEX16 HEX16 "\n", "f:", "both, or none" },
		{ "[a]\nmodel = ConnectX-5\ncrypto_kek = " HEX16 HEX16 "\n",
		  "f:3:", "does not encrypt" },
		{ "[a]\nlag = eth0\n", "f:2:", "lag needs 2" },
		{ "[a]\nlag = eth0 eth1 eth2\n", "f:2:", "one too many" },
		{ "[a]\nlag = eth0 way-too-long-a-name\n", "f:2:", "or no name" },
		{ "[a]\nports = 2\nlag = eth0 eth1\n", "f:", "one Ethernet port" },
		{ "[mlx4_0]\nlink = ethernet\nlag = eth0 eth1\n", "f:", "mlx5 family" },
		{ "[a]\nlink = infiniband\nlag = eth0 eth1\n", "f:", "one Ethernet port" },
		{ "[a]\nroce = no\n", "f:2:", "'enabled' or 'disabled'" },
		{ "[a]\nlink = infiniband\nroce = disabled\n", "f:", "Ethernet ports" },
		{ "[a]\neswitch = on\n", "f:2:", "'legacy' or 'switchdev'" },
		{ "[a]\nlink = infiniband\neswitch = switchdev\n", "f:", "Ethernet ports" },
		{ "[mlx4_0]\nlink = ethernet\neswitch = switchdev\n", "f:", "mlx5 family" },
		{ "[a]\nports = 0\n", "f:2:", "1 to 4" },
		{ "[a]\nports = 5\n", "f:2:", "1 to 4" },
		{ "[a]\nports = two\n", "f:2:", "1 to 4" },
		{ "[a]\nport2.link = ethernet\n", "f:2:", "ports 1 to 1" },
		{ "[a]\ninterface = way-too-long-a-name\n", "f:2:", "no interface name" },
		{ "[a]\ngids =\n", "f:2:", "at least one" },
		{ "[a]\ngids = 10.0.0\n", "f:2:", "neither an IPv4" },
		{ "[a]\nguid = 0\n", "f:2:", "64-bit number" },
		{ "[a]\nmax_qp = -1\n", "f:2:", "1 to 131072" },
		{ "[a]\nmax_qp = 131073\n", "f:2:", "1 to 131072" },
		{ "[a]\nmax_qp = 0\n", "f:2:", "1 to 131072" },
		{ "[a]\nfrob = 1\n", "f:2:", "unknown key 'frob'" },
		{ "", "f:", "no adapter" },
	};

	for (size_t i = 0; i < array_size(mistakes); i++) {
		assert_int_equal(hca_config_parse(mistakes[i].text, "f", &cfg), -EINVAL);
		if (strncmp(explain_last(), mistakes[i].where, strlen(mistakes[i].where)) ||
		    !strstr(explain_last(), mistakes[i].reason))
			fail_msg("'%s' gives: %s", mistakes[i].text, explain_last());
	}
}

static void more_adapters_than_fit_are_refused(void **state)
{
	char list[1024] = "";

	for (int i = 0; i <= HCA_ADAPTERS_MAX; i++)
		sprintf(list + strlen(list), "a%d;", i);
	assert_int_equal(hca_config_parse_list(list, "t", &cfg), -EINVAL);
	assert_non_null(strstr(explain_last(), "more than 32"));
}

static void the_environment_wins_over_the_file(void **state)
{
	setenv("VERBENA_CONFIG", "/nonexistent/verbena.conf", 1);
	setenv("VERBENA_ADAPTERS", "only_one", 1);
	assert_int_equal(hca_config_load(&cfg), 0);
	assert_string_equal(cfg.adapters[0].name, "only_one");
	unsetenv("VERBENA_ADAPTERS");
	assert_int_equal(hca_config_load(&cfg), -ENOENT);
	assert_non_null(strstr(explain_last(), "/nonexistent/verbena.conf"));
	unsetenv("VERBENA_CONFIG");
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	assert_int_equal(hca_config_load(&cfg), 0);
	assert_int_equal(cfg.count, 2);
	assert_string_equal(cfg.adapters[0].name, "mlx5_0");
	assert_string_equal(cfg.adapters[1].name, "mlx4_0");
}

static void an_oversized_file_is_refused(void **state)
{
	char path[] = "/tmp/vb-config-XXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	close(fd);
	setenv("VERBENA_CONFIG", path, 1);
	assert_int_equal(hca_config_load(&cfg), -EFBIG);
	unsetenv("VERBENA_CONFIG");
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_describes_adapters_in_order),
		cmocka_unit_test(the_model_follows_from_a_well_known_name),
		cmocka_unit_test(a_list_sets_keys_after_commas),
		cmocka_unit_test(an_adapter_may_have_a_kek_and_a_credential),
		cmocka_unit_test(two_links_may_be_bonded),
		cmocka_unit_test(every_mistake_names_its_line_and_reason),
		cmocka_unit_test(more_adapters_than_fit_are_refused),
		cmocka_unit_test(the_environment_wins_over_the_file),
		cmocka_unit_test(an_oversized_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
