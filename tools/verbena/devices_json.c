/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON for `verbena devices --json`.
 */
#include "devices_json.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "json.h"
#include "rate.h"

static void print_text(const char *indent, const char *name, const char *text)
{
	printf("%s\"%s\": ", indent, name);
	if (*text)
		json_print_string(text);
	else
		printf("null");
	printf(",\n");
}

static void print_number(const char *indent, const char *name, unsigned long long value)
{
	printf("%s\"%s\": %llu,\n", indent, name, value);
}

static void print_gid(const struct port_fact *port, const struct gid_fact *gid)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, gid->gid.raw, text, sizeof(text));
	printf("          { \"index\": %u, \"gid\": \"%s\", \"type\": \"%s\", \"interface\": ",
	       gid->index, text, facts_gid_type(port, gid));
	if (*gid->interface)
		json_print_string(gid->interface);
	else
		printf("null");
	printf(" }");
}

static void print_port(const struct port_fact *port, int number)
{
	const char *in = "        ";
	int i;

	printf("      {\n");
	print_number(in, "port", number);
	print_text(in, "link_layer", facts_link(port));
	print_text(in, "state", port->attr.state == IBV_PORT_ACTIVE ? "active" : "down");
	print_number(in, "rate_mbps", rate_mbps(&port->attr));
	print_number(in, "active_mtu", 128ull << port->attr.active_mtu);
	print_number(in, "max_mtu", 128ull << port->attr.max_mtu);
	print_text(in, "interface", port->interface);
	print_number(in, "lid", port->attr.lid);
	print_number(in, "sm_lid", port->attr.sm_lid);
	print_number(in, "gid_table_len", port->attr.gid_tbl_len);
	printf("%s\"gids\": [\n", in);
	for (i = 0; i < port->gid_count; i++) {
		print_gid(port, &port->gids[i]);
		printf(i + 1 < port->gid_count ? ",\n" : "\n");
	}
	printf("%s]\n      }", in);
}

static void print_adapter(const struct adapter_fact *fact)
{
	const char *in = "    ";
	char guid[20];
	int i;

	facts_guid_text(fact->attr.node_guid, guid);
	printf("  {\n");
	print_text(in, "name", fact->name);
	print_text(in, "model", fact->model);
	print_text(in, "hca_type", fact->hca_type);
	print_text(in, "board_id", fact->board_id);
	print_text(in, "firmware", fact->attr.fw_ver);
	print_text(in, "node_guid", guid);
	print_text(in, "pci_slot", fact->pci_slot);
	print_number(in, "vendor_part_id", fact->attr.vendor_part_id);
	print_text(in, "driver", fact->driver);
	print_text(in, "device_file", fact->uverbs);
	printf("%s\"ports\": [\n", in);
	for (i = 0; i < fact->port_count; i++) {
		print_port(&fact->ports[i], i + 1);
		printf(i + 1 < fact->port_count ? ",\n" : "\n");
	}
	printf("%s]\n  }", in);
}

void devices_print_json(const struct facts *facts)
{
	int i;

	printf("[\n");
	for (i = 0; i < facts->count; i++) {
		print_adapter(&facts->adapters[i]);
		printf(i + 1 < facts->count ? ",\n" : "\n");
	}
	printf("]\n");
}
