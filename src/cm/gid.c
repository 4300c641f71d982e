/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks addresses up in the GID tables of all adapters. The tables are read anew each time: they
 * follow the host's addresses. Runs with cm.lock held.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "cm/device.h"
#include "cm/gid.h"
#include "cm/sockaddr.h"

struct wanted {
	const struct sockaddr *addr; /* NULL: any GID of an active port */
	union ibv_gid gid;
	bool ethernet_only;
};

static bool entry_matches(const struct wanted *wanted, const struct ibv_gid_entry *entry,
			  const struct ibv_port_attr *port)
{
	uint32_t scope;

	if (wanted->ethernet_only && port->link_layer != IBV_LINK_LAYER_ETHERNET)
		return false;
	if (!wanted->addr)
		return port->state == IBV_PORT_ACTIVE;
	if (memcmp(&entry->gid, &wanted->gid, sizeof(wanted->gid)) != 0)
		return false;
	if (!cm_addr_is_link_local(wanted->addr))
		return true;
	/* fe80:: addresses repeat from interface to interface. */
	scope = ((const struct sockaddr_in6 *)wanted->addr)->sin6_scope_id;
	return !entry->ndev_ifindex || entry->ndev_ifindex == scope;
}

static bool search_entries(const struct wanted *wanted, struct cm_device *device,
			   const struct ibv_gid_entry *entries, ssize_t count, struct cm_gid *out)
{
	struct ibv_port_attr port = { 0 };
	uint32_t port_num = 0;
	bool found = false;
	ssize_t i;

	for (i = 0; i < count; i++) {
		const struct ibv_gid_entry *entry = &entries[i];

		if (entry->port_num != port_num) {
			port_num = entry->port_num;
			if (ibv_query_port(device->verbs, port_num, &port))
				memset(&port, 0, sizeof(port));
		}
		if (!entry_matches(wanted, entry, &port))
			continue;
		if (!found) {
			out->device = device;
			out->port_num = entry->port_num;
			out->link_layer = port.link_layer;
			out->lid = port.lid;
			out->index = entry->gid_index;
			out->gid = entry->gid;
			found = true;
		} else if (entry->port_num == out->port_num &&
			   entry->gid_type == IBV_GID_TYPE_ROCE_V2 &&
			   !memcmp(&entry->gid, &out->gid, sizeof(out->gid))) {
			out->index = entry->gid_index;
			break;
		}
	}
	return found;
}

static int search_device(const struct wanted *wanted, struct cm_device *device, struct cm_gid *out)
{
	struct ibv_gid_entry *entries;
	struct ibv_port_attr port;
	size_t room = 0;
	ssize_t count;
	bool found;
	int i;

	for (i = 1; i <= device->attr.phys_port_cnt; i++)
		if (!ibv_query_port(device->verbs, i, &port))
			room += port.gid_tbl_len;
	entries = calloc(room ? room : 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	count = ibv_query_gid_table(device->verbs, entries, room, 0);
	found = search_entries(wanted, device, entries, count, out);
	free(entries);
	return found ? 0 : -ENOENT;
}

static int search(const struct wanted *wanted, struct cm_gid *out)
{
	struct cm_device *device;

	for (device = cm_device_next(NULL); device; device = cm_device_next(device))
		if (!search_device(wanted, device, out))
			return 0;
	return -ENOENT;
}

int cm_gid_find(const struct sockaddr *addr, struct cm_gid *out)
{
	struct wanted wanted = { .addr = addr, .ethernet_only = addr->sa_family != AF_IB };

	cm_addr_to_gid(addr, &wanted.gid);
	return search(&wanted, out);
}

int cm_gid_first(bool ethernet_only, struct cm_gid *out)
{
	struct wanted wanted = { .ethernet_only = ethernet_only };

	return search(&wanted, out);
}
