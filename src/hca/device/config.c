/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration: a small INI-like file, or the same keys on one line in VERBENA_ADAPTERS.
 *
 *	# comment
 *	[mlx5_0]
 *	model = ConnectX-6
 *	link = ethernet
 *	interface = eth0
 *	ports = 1
 *	gids = fe80::1, 10.0.0.1
 *	max_qp = 1000
 *
 * A section is an adapter; its name is that which ibv_get_device_name() returns. A key such as
 * "port2.interface" sets one port, the bare key all of them. The first mistake ends the reading
 * with "file:line: reason".
 */
#include "hca/device/config.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "util/explain.h"

#define CONFIG_FILE_MAX (64 * 1024)

struct place {
	const char *where;
	int line; /* 0: a list in the environment has no lines */
};

#define bad(place, fmt, ...)                                                                       \
	((place)->line                                                                             \
		 ? explain(EINVAL, "%s:%d: " fmt, (place)->where, (place)->line, ##__VA_ARGS__)    \
		 : explain(EINVAL, "%s: " fmt, (place)->where, ##__VA_ARGS__))

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
	return s;
}

static int add_adapter(struct hca_config *cfg, const struct place *at, const char *name,
		       struct hca_adapter **out)
{
	struct hca_adapter *a;
	const char *p;

	if (!*name || strlen(name) >= HCA_NAME_MAX)
		return bad(at, "an adapter's name has 1 to %d characters", HCA_NAME_MAX - 1);
	for (p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			return bad(at, "'%s': an adapter's name has letters, digits, _ and - only",
				   name);
	for (int i = 0; i < cfg->count; i++)
		if (!strcmp(cfg->adapters[i].name, name))
			return bad(at, "adapter '%s' is described twice", name);
	if (cfg->count == HCA_ADAPTERS_MAX)
		return bad(at, "more than %d adapters", HCA_ADAPTERS_MAX);

	a = &cfg->adapters[cfg->count];
	memset(a, 0, sizeof(*a));
	snprintf(a->name, sizeof(a->name), "%s", name);
	a->index = cfg->count++;
	a->model = hca_model_find(!strncmp(name, "mlx4", 4) ? "ConnectX-3" : "ConnectX-7");
	a->limits = a->model->limits;
	a->port_count = 1;
	for (int i = 0; i < HCA_PORTS_MAX; i++)
		a->ports[i].link = a->model->link;
	*out = a;
	return 0;
}

static int parse_number(const char *value, uint64_t max, uint64_t *out)
{
	unsigned long long v;
	char *end;

	if (!isdigit((unsigned char)*value))
		return -EINVAL;
	errno = 0;
	v = strtoull(value, &end, 0);
	if (errno || *end || v > max)
		return -EINVAL;
	*out = v;
	return 0;
}

static int parse_gids(struct hca_port_config *port, const struct place *at, char *value)
{
	char *save = NULL;

	port->gid_count = 0;
	for (char *item = strtok_r(value, ", \t", &save); item;
	     item = strtok_r(NULL, ", \t", &save)) {
		struct hca_gid *gid = &port->gids[port->gid_count];

		if (port->gid_count == HCA_FIXED_GIDS)
			return bad(at, "more than %d gids", HCA_FIXED_GIDS);
		memset(gid, 0, sizeof(*gid));
		if (inet_pton(AF_INET, item, gid->raw + 12) == 1)
			gid->raw[10] = gid->raw[11] = 0xff;
		else if (inet_pton(AF_INET6, item, gid->raw) != 1)
			return bad(at, "'%s' is neither an IPv4 nor an IPv6 address", item);
		port->gid_count++;
	}
	if (!port->gid_count)
		return bad(at, "gids needs at least one address");
	return 0;
}

static int set_port_key(struct hca_port_config *port, const struct place *at, const char *key,
			char *value)
{
	if (!strcmp(key, "link")) {
		if (!strcasecmp(value, "ethernet"))
			port->link = HCA_LINK_ETHERNET;
		else if (!strcasecmp(value, "infiniband"))
			port->link = HCA_LINK_INFINIBAND;
		else
			return bad(at, "link is 'ethernet' or 'infiniband', not '%s'", value);
		return 0;
	}
	if (!strcmp(key, "interface")) {
		if (!*value || strlen(value) >= sizeof(port->interface) || strpbrk(value, "/ \t"))
			return bad(at, "'%s' is no interface name", value);
		snprintf(port->interface, sizeof(port->interface), "%s", value);
		return 0;
	}
	if (!strcmp(key, "switch")) {
		if (!*value || strlen(value) >= sizeof(port->switch_name))
			return bad(at, "a switch's name has 1 to %zu characters, not '%s'",
				   sizeof(port->switch_name) - 1, value);
		snprintf(port->switch_name, sizeof(port->switch_name), "%s", value);
		return 0;
	}
	if (!strcmp(key, "gids"))
		return parse_gids(port, at, value);
	return bad(at,
		   "unknown key '%s'; there are model, ports, link, interface, switch, gids, guid, "
		   "lag, eswitch, roce, "
		   "crypto_kek, crypto_credential and limits such as max_qp",
		   key);
}

static int set_model(struct hca_adapter *a, const struct place *at, const char *value)
{
	const struct hca_model *model = hca_model_find(value);

	if (!model)
		return bad(at, "unknown model '%s'; there are %s", value, hca_model_names());
	a->model = model;
	a->limits = model->limits;
	a->crypto = (struct hca_crypto_config){ 0 };
	for (int i = 0; i < HCA_PORTS_MAX; i++)
		a->ports[i].link = model->link;
	return 0;
}

static int set_limit(struct hca_adapter *a, const struct place *at, const char *key,
		     const char *value)
{
	struct hca_limits top = a->model->limits;
	uint64_t *limit = hca_limit_find(&a->limits, key), most = *hca_limit_find(&top, key), v;

	if (parse_number(value, most, &v) || !v)
		return bad(at, "%s is a number from 1 to %llu on a %s, not '%s'", key,
			   (unsigned long long)most, a->model->name, value);
	*limit = v;
	return 0;
}

/* Hexadecimal digits, two per byte. The number of bytes, -EINVAL when there are more than fit. */
static int parse_hex(const char *value, uint8_t *out, size_t room)
{
	size_t digits = strlen(value);

	if (digits % 2 || digits / 2 > room || strspn(value, "0123456789abcdefABCDEF") != digits)
		return -EINVAL;
	for (size_t i = 0; i < digits; i += 2) {
		const char byte[] = { value[i], value[i + 1], 0 };

		out[i / 2] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return (int)(digits / 2);
}

static int set_crypto(struct hca_adapter *a, const struct place *at, const char *key,
		      const char *value)
{
	struct hca_crypto_config *c = &a->crypto;
	bool is_kek = !strcmp(key, "crypto_kek");
	int n = is_kek ? parse_hex(value, c->kek, sizeof(c->kek))
		       : parse_hex(value, c->credential, sizeof(c->credential));

	if (!a->model->crypto)
		return bad(at, "%s: a %s does not encrypt", key, a->model->name);
	if (is_kek && n != 16 && n != 32)
		return bad(at, "crypto_kek is 32 or 64 hexadecimal digits");
	if (!is_kek && n != (int)sizeof(c->credential))
		return bad(at, "crypto_credential is %zu hexadecimal digits",
			   2 * sizeof(c->credential));
	if (is_kek)
		c->kek_len = (uint8_t)n;
	else
		c->has_credential = true;
	return 0;
}

static int set_lag(struct hca_adapter *a, const struct place *at, char *value)
{
	char *rest = value, *name;

	a->lag_count = 0;
	while ((name = strsep(&rest, ", \t"))) {
		if (!*name)
			continue;
		if (a->lag_count == HCA_LAG_LINKS || strlen(name) >= sizeof(a->lag_interfaces[0]) ||
		    strchr(name, '/'))
			return bad(
				at,
				"lag has %d names of interfaces; '%s' is one too many, or no name",
				HCA_LAG_LINKS, name);
		snprintf(a->lag_interfaces[a->lag_count++], sizeof(a->lag_interfaces[0]), "%s",
			 name);
	}
	if (a->lag_count != HCA_LAG_LINKS)
		return bad(at, "lag needs %d names of interfaces", HCA_LAG_LINKS);
	return 0;
}

static int set_eswitch(struct hca_adapter *a, const struct place *at, const char *value)
{
	a->switchdev = !strcmp(value, "switchdev");
	if (!a->switchdev && strcmp(value, "legacy"))
		return bad(at, "eswitch is 'legacy' or 'switchdev', not '%s'", value);
	return 0;
}

static int set_roce(struct hca_adapter *a, const struct place *at, const char *value)
{
	a->roce_off = !strcmp(value, "disabled");
	if (!a->roce_off && strcmp(value, "enabled"))
		return bad(at, "roce is 'enabled' or 'disabled', not '%s'", value);
	return 0;
}

/* Only an mlx5 adapter with Ethernet ports has the switches that devlink shows. */
static bool has_devlink(const struct hca_adapter *a)
{
	return a->ports[0].link == HCA_LINK_ETHERNET && a->model->driver == HCA_DRIVER_MLX5;
}

/* What needs the whole description. */
static int finish_all(struct hca_config *cfg, const struct place *at)
{
	for (int i = 0; i < cfg->count; i++) {
		struct hca_adapter *a = &cfg->adapters[i];

		if (a->lag_count && (a->port_count != 1 || a->ports[0].link != HCA_LINK_ETHERNET ||
				     a->model->driver != HCA_DRIVER_MLX5))
			return bad(at,
				   "%s: lag is for adapters of the mlx5 family with one "
				   "Ethernet port",
				   a->name);
		if ((a->switchdev || a->roce_off) && !has_devlink(a))
			return bad(at,
				   "%s: %s is for adapters of the mlx5 family with "
				   "Ethernet ports",
				   a->name, a->switchdev ? "eswitch" : "roce");
		if (a->roce_off)
			a->limits.gid_table_len = 0;
		if (!a->crypto.kek_len != !a->crypto.has_credential)
			return bad(at,
				   "%s has one of crypto_kek and crypto_credential; it needs "
				   "both, or none",
				   a->name);
	}
	return 0;
}

static int set_key(struct hca_adapter *a, const struct place *at, const char *key, char *value)
{
	uint64_t n;
	int err;

	if (!strcmp(key, "model"))
		return set_model(a, at, value);
	if (!strcmp(key, "ports")) {
		if (parse_number(value, HCA_PORTS_MAX, &n) || !n)
			return bad(at, "ports is a number from 1 to %d, not '%s'", HCA_PORTS_MAX,
				   value);
		a->port_count = n;
		return 0;
	}
	if (!strcmp(key, "guid")) {
		if (parse_number(value, UINT64_MAX, &n) || !n)
			return bad(at,
				   "guid is a 64-bit number such as 0x0002c90300a0b0c0, not '%s'",
				   value);
		a->node_guid = n;
		return 0;
	}
	if (!strcmp(key, "lag"))
		return set_lag(a, at, value);
	if (!strcmp(key, "eswitch"))
		return set_eswitch(a, at, value);
	if (!strcmp(key, "roce"))
		return set_roce(a, at, value);
	if (!strcmp(key, "crypto_kek") || !strcmp(key, "crypto_credential"))
		return set_crypto(a, at, key, value);
	if (hca_limit_find(&a->limits, key))
		return set_limit(a, at, key, value);
	if (!strncmp(key, "port", 4) && isdigit((unsigned char)key[4]) && key[5] == '.') {
		int port = key[4] - '0';

		if (port < 1 || port > a->port_count)
			return bad(at, "'%s': %s has ports 1 to %d (write 'ports' first)", key,
				   a->name, a->port_count);
		/* cppcheck-suppress negativeIndex ; it loses the return above in the macro */
		return set_port_key(&a->ports[port - 1], at, key + 6, value);
	}
	/* The bare key sets every port: parse once, then copy the result. */
	err = set_port_key(&a->ports[0], at, key, value);
	if (err)
		return err;
	for (int i = 1; i < HCA_PORTS_MAX; i++)
		a->ports[i] = a->ports[0];
	return 0;
}

static int set_assignment(struct hca_adapter *a, const struct place *at, char *text)
{
	char *eq = strchr(text, '=');

	if (!eq)
		return bad(at, "'%s': expected key = value", text);
	*eq = 0;
	return set_key(a, at, trim(text), trim(eq + 1));
}

static int parse_line(struct hca_config *cfg, const struct place *at, char *line,
		      struct hca_adapter **current)
{
	size_t n;

	line = trim(line);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	if (*line != '[') {
		if (!*current)
			return bad(at, "'%s' stands before the first [adapter]", line);
		return set_assignment(*current, at, line);
	}
	n = strlen(line);
	if (line[n - 1] != ']')
		return bad(at, "'%s': a section ends in ]", line);
	line[n - 1] = 0;
	return add_adapter(cfg, at, trim(line + 1), current);
}

static int no_memory(const char *where)
{
	return explain(ENOMEM, "%s: no memory to read it", where);
}

int hca_config_parse(const char *text, const char *where, struct hca_config *cfg)
{
	struct hca_adapter *current = NULL;
	struct place at = { where, 0 };
	char *copy = strdup(text), *rest = copy, *line;
	int err = 0;

	if (!copy)
		return no_memory(where);
	cfg->count = 0;
	while (!err && (line = strsep(&rest, "\n"))) {
		at.line++;
		err = parse_line(cfg, &at, line, &current);
	}
	at.line = 0;
	if (!err && !cfg->count)
		err = bad(&at, "no adapter is described; write a section such as [mlx5_0]");
	if (!err)
		err = finish_all(cfg, &at);
	free(copy);
	return err;
}

int hca_config_parse_list(const char *list, const char *where, struct hca_config *cfg)
{
	struct place at = { where, 0 };
	char *copy = strdup(list), *rest = copy, *spec, *part;
	int err = 0;

	if (!copy)
		return no_memory(where);
	cfg->count = 0;
	while (!err && (spec = strsep(&rest, ";"))) {
		struct hca_adapter *a;

		if (!*trim(spec))
			continue;
		err = add_adapter(cfg, &at, trim(strsep(&spec, ",")), &a);
		while (!err && (part = strsep(&spec, ",")))
			err = set_assignment(a, &at, part);
	}
	if (!err && !cfg->count)
		err = bad(&at, "no adapter is named; write for instance mlx5_0,interface=eth0");
	if (!err)
		err = finish_all(cfg, &at);
	free(copy);
	return err;
}

static int read_file(const char *path, char **out)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;

	if (!f)
		return explain(errno, "%s: cannot be read: %s", path, strerror(errno));
	text = malloc(CONFIG_FILE_MAX + 1);
	if (!text) {
		fclose(f);
		return no_memory(path);
	}
	n = fread(text, 1, CONFIG_FILE_MAX + 1, f);
	fclose(f);
	if (n > CONFIG_FILE_MAX) {
		free(text);
		return explain(EFBIG, "%s: a configuration has at most %d bytes", path,
			       CONFIG_FILE_MAX);
	}
	text[n] = 0;
	*out = text;
	return 0;
}

static int load_file(const char *path, struct hca_config *cfg)
{
	char *text = NULL;
	int err = read_file(path, &text);

	if (err)
		return err;
	assert(text);
	err = hca_config_parse(text, path, cfg);
	free(text);
	return err;
}

/* The user's own file counts only when it exists. */
static const char *user_file(char *path, size_t size)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	struct stat st;

	if (base && *base)
		snprintf(path, size, "%s/verbena.conf", base);
	else if (home && *home)
		snprintf(path, size, "%s/.config/verbena.conf", home);
	else
		return NULL;
	return stat(path, &st) ? NULL : path;
}

int hca_config_load(struct hca_config *cfg)
{
	const char *list = getenv("VERBENA_ADAPTERS"), *file = getenv("VERBENA_CONFIG");
	char path[PATH_MAX];

	if (list && *list)
		return hca_config_parse_list(list, "VERBENA_ADAPTERS", cfg);
	if (file && *file)
		return load_file(file, cfg);
	file = user_file(path, sizeof(path));
	if (file)
		return load_file(file, cfg);
	return hca_config_parse_list("mlx5_0;mlx4_0", "defaults", cfg);
}
