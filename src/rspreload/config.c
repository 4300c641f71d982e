/* SPDX-License-Identifier: BSD-2-Clause */
#include "rspreload/config.h"

#include <infiniband/ib.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

struct word {
	const char *text;
	int value;
};

static const struct word domains[] = {
	{ "INET", AF_INET },
	{ "AF_INET", AF_INET },
	{ "PF_INET", AF_INET },
	{ "INET6", AF_INET6 },
	{ "AF_INET6", AF_INET6 },
	{ "PF_INET6", AF_INET6 },
	{ "IB", AF_IB },
	{ "AF_IB", AF_IB },
	{ "PF_IB", AF_IB },
	{ "*", 0 },
	{ NULL, 0 },
};
static const struct word types[] = {
	{ "STREAM", SOCK_STREAM },
	{ "SOCK_STREAM", SOCK_STREAM },
	{ "DGRAM", SOCK_DGRAM },
	{ "SOCK_DGRAM", SOCK_DGRAM },
	{ "*", 0 },
	{ NULL, 0 },
};
static const struct word protocols[] = {
	{ "TCP", IPPROTO_TCP },
	{ "IPPROTO_TCP", IPPROTO_TCP },
	{ "UDP", IPPROTO_UDP },
	{ "IPPROTO_UDP", IPPROTO_UDP },
	{ "*", 0 },
	{ NULL, 0 },
};

static bool find(const struct word *words, const char *text, int *value)
{
	for (; words->text; words++)
		if (!strcasecmp(words->text, text)) {
			*value = words->value;
			return true;
		}
	return false;
}

static bool parse(const char *line, struct rsp_rule *rule)
{
	char domain[16], type[16], protocol[16];

	if (line[0] == '#')
		return false;
	if (sscanf(line, "%63s%15s%15s%15s", rule->program, domain, type, protocol) != 4)
		return false;
	if (!strcmp(rule->program, "*"))
		rule->program[0] = '\0';
	return find(domains, domain, &rule->domain) && find(types, type, &rule->type) &&
	       find(protocols, protocol, &rule->protocol);
}

void rsp_config_read(struct rsp_config *config, FILE *file)
{
	struct rsp_rule rule;
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, file) >= 0)
		if (parse(line, &rule) && array_push(&config->rules, rule))
			break;
	free(line);
}

void rsp_config_fini(struct rsp_config *config)
{
	array_fini(&config->rules);
}

static bool is_or_any(int wanted, int value)
{
	return !wanted || wanted == value;
}

bool rsp_config_matches(const struct rsp_config *config, const char *program, int domain, int type,
			int protocol)
{
	const struct rsp_rule *rule = config->rules.data, *end;

	if (!config->rules.count)
		return true;
	end = rule + config->rules.count;
	if (!protocol)
		protocol = type == SOCK_STREAM ? IPPROTO_TCP : type == SOCK_DGRAM ? IPPROTO_UDP : 0;
	for (; rule < end; rule++)
		if (!strncasecmp(rule->program, program, strlen(rule->program)) &&
		    is_or_any(rule->domain, domain) && is_or_any(rule->type, type) &&
		    is_or_any(rule->protocol, protocol))
			return true;
	return false;
}
