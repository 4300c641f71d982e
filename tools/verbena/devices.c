/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena devices`: what adapters there are, as a table, in full, or as JSON.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "devices_json.h"
#include "facts.h"
#include "hca/device/adapter_list.h"
#include "hca/inspect/unplug.h"
#include "rate.h"
#include "say.h"

const char command_devices_help[] =
	"usage: verbena devices [OPTION...]\n"
	"\n"
	"Shows the adapters that a program run now would find.\n"
	"\n"
	"  -v, --verbose                      everything about each, with the table of GIDs\n"
	"      --json                         the same as JSON\n"
	"  -a, --adapter NAME[,KEY=VALUE...]  as 'verbena run' takes it\n"
	"  -c, --config FILE                  as 'verbena run' takes it\n"
	"  -h, --help                         show this\n";

enum style {
	STYLE_TABLE,
	STYLE_VERBOSE,
	STYLE_JSON,
};

static const char *dash(const char *text)
{
	return *text ? text : "-";
}

static const char *state_name(const struct port_fact *port)
{
	switch (port->attr.state) {
	case IBV_PORT_ACTIVE:
		return "active";
	case IBV_PORT_DOWN:
		return "down";
	default:
		return ibv_port_state_str(port->attr.state);
	}
}

/* The address that identifies the port to peers: its LID, or its last GID in use by IPv4. */
static void print_row(const struct adapter_fact *fact, int number)
{
	const struct port_fact *port = &fact->ports[number - 1];
	char lid[16] = "-", rate[32];

	if (port->attr.link_layer != IBV_LINK_LAYER_ETHERNET)
		snprintf(lid, sizeof(lid), "%u", port->attr.lid);
	snprintf(rate, sizeof(rate), "%u Gb/s", rate_mbps(&port->attr) / 1000);
	printf("%-10s %-15s %-5d %-11s %-8s %-10s %-6s %-5d %s\n", fact->name, fact->model, number,
	       facts_link(port), state_name(port), rate, lid, port->gid_count,
	       dash(port->interface));
}

static void print_table(const struct facts *facts)
{
	int i, p;

	printf("%-10s %-15s %-5s %-11s %-8s %-10s %-6s %-5s %s\n", "DEVICE", "MODEL", "PORT",
	       "LINK", "STATE", "RATE", "LID", "GIDS", "INTERFACE");
	for (i = 0; i < facts->count; i++)
		for (p = 1; p <= facts->adapters[i].port_count; p++)
			print_row(&facts->adapters[i], p);
}

static void print_gid(const struct port_fact *port, const struct gid_fact *gid)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, gid->gid.raw, text, sizeof(text));
	printf("      GID %-3u        %-40s %-10s %s\n", gid->index, text,
	       facts_gid_type(port, gid), dash(gid->interface));
}

static void print_port(const struct port_fact *port, int number)
{
	const struct ibv_port_attr *attr = &port->attr;
	char rate[RATE_TEXT_MAX];
	int i;

	rate_text(attr, rate, sizeof(rate));
	printf("    port %d\n", number);
	printf("      link layer     %s\n", facts_link(port));
	printf("      state          %s\n", state_name(port));
	printf("      rate           %s\n", rate);
	printf("      MTU            %d of at most %d\n", 128 << attr->active_mtu,
	       128 << attr->max_mtu);
	printf("      interface      %s\n", dash(port->interface));
	if (attr->link_layer != IBV_LINK_LAYER_ETHERNET) {
		printf("      LID            %u\n", attr->lid);
		printf("      SM LID         %u\n", attr->sm_lid);
	}
	printf("      GIDs           %d of %d\n", port->gid_count, attr->gid_tbl_len);
	for (i = 0; i < port->gid_count; i++)
		print_gid(port, &port->gids[i]);
}

static void print_verbose(const struct facts *facts)
{
	const struct adapter_fact *fact;
	char guid[20];
	int i, p;

	for (i = 0; i < facts->count; i++) {
		fact = &facts->adapters[i];
		facts_guid_text(fact->attr.node_guid, guid);
		printf("%s%s\n", i ? "\n" : "", fact->name);
		printf("    model            %s (%s, board %s)\n", fact->model, fact->hca_type,
		       fact->board_id);
		printf("    firmware         %s\n", fact->attr.fw_ver);
		printf("    node GUID        %s\n", guid);
		printf("    PCI              %s %04x:%04x, driver %s\n", fact->pci_slot, 0x15b3,
		       fact->pci_device, fact->driver);
		printf("    device file      /dev/infiniband/%s\n", fact->uverbs);
		printf("    at most          %d QPs, %d CQs, %d MRs, %d PDs, %d SRQs\n",
		       fact->attr.max_qp, fact->attr.max_cq, fact->attr.max_mr, fact->attr.max_pd,
		       fact->attr.max_srq);
		for (p = 1; p <= fact->port_count; p++)
			print_port(&fact->ports[p - 1], p);
	}
}

/* On stderr, whatever the style: programs that are run now do not find these adapters. */
static void tell_unplugged(void)
{
	const struct hca_adapter *const *list;
	int count;

	if (hca_adapters_get(&list, &count))
		return;
	for (int i = 0; i < count; i++)
		if (!hca_unplug_is_present(list[i]))
			say(0, "%s is unplugged; 'verbena plug %s' plugs it in again",
			    list[i]->name, list[i]->name);
}

/* *done: exit with the returned status. */
static int parse(int argc, char **argv, enum style *style, bool *done)
{
	static const struct option options[] = {
		{ "verbose", no_argument, NULL, 'v' },
		{ "json", no_argument, NULL, 'j' },
		{ "adapter", required_argument, NULL, 'a' },
		{ "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, status = 0;

	*done = true;
	opterr = 0;
	while (!status && (option = getopt_long(argc, argv, ":va:c:h", options, NULL)) >= 0) {
		if (option == 'h') {
			fputs(command_devices_help, stdout);
			return say_done();
		}
		if (option == 'v')
			*style = STYLE_VERBOSE;
		else if (option == 'j')
			*style = STYLE_JSON;
		else if (option == 'a')
			status = option_adapter(optarg, EXIT_USAGE);
		else if (option == 'c')
			status = option_config(optarg, EXIT_USAGE);
		else
			status = option_bad(option, argv, "devices", EXIT_USAGE);
	}
	if (!status && optind < argc) {
		say(0, "devices: takes no argument such as '%s'", argv[optind]);
		status = say_usage(EXIT_USAGE, "devices");
	}
	*done = status;
	return status;
}

int command_devices(int argc, char **argv)
{
	enum style style = STYLE_TABLE;
	struct facts facts;
	bool done;
	int status = parse(argc, argv, &style, &done);

	if (done)
		return status;
	status = facts_take(&facts);
	if (status)
		return status;
	if (style == STYLE_JSON)
		devices_print_json(&facts);
	else if (style == STYLE_VERBOSE)
		print_verbose(&facts);
	else
		print_table(&facts);
	facts_free(&facts);
	tell_unplugged();
	return say_done();
}
