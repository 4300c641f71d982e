/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which adapters are there, what can they do, and under which addresses are their ports known? Every verbs
 * program begins with these calls.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "setup.h"

/* GIDs are the addresses of a port, in the form of IPv6 addresses. On Ethernet they follow the interface's. */
static void show_gids(struct ibv_context *context, uint8_t port, int entries)
{
	char text[INET6_ADDRSTRLEN];
	union ibv_gid gid;

	for (int i = 0; i < entries; i++) {
		if (ibv_query_gid(context, port, i, &gid) || !gid.global.interface_id)
			continue; /* not in use */
		inet_ntop(AF_INET6, gid.raw, text, sizeof(text));
		printf("    GID %d: %s\n", i, text);
	}
}

static void show_port(struct ibv_context *context, uint8_t port)
{
	struct ibv_port_attr attr;
	int ethernet;

	setup_check(ibv_query_port(context, port, &attr), "ibv_query_port");
	ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	printf("  port %u: %s, %s, LID %u, %d GIDs\n", port, ethernet ? "Ethernet" : "InfiniBand",
	       ibv_port_state_str(attr.state), attr.lid, attr.gid_tbl_len);
	show_gids(context, port, attr.gid_tbl_len);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	setup_check(!list, "ibv_get_device_list");
	for (int i = 0; list[i]; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);
		struct ibv_device_attr attr;

		setup_check(!context, ibv_get_device_name(list[i]));
		setup_check(ibv_query_device(context, &attr), "ibv_query_device");
		printf("%s: firmware %s, %d queue pairs, %d SGEs\n", ibv_get_device_name(list[i]),
		       attr.fw_ver, attr.max_qp, attr.max_sge);
		for (uint8_t port = 1; port <= attr.phys_port_cnt; port++)
			show_port(context, port);
		setup_check(ibv_close_device(context), "ibv_close_device");
	}
	ibv_free_device_list(list);
	return 0;
}
