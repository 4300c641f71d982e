/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks addresses up in the GID tables of all adapters. The tables are read anew each time: they
 * follow the host's addresses. Runs with cm.lock held.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/device.h"
#include "cm/gid.h"
#include "cm/id_types.h"
#include "cm/sockaddr.h"
#include "hca/device/adapter_list.h"
#include "hca/device/port.h"

struct wanted {
	const struct sockaddr *addr; /* NULL: any GID of an active port */
	union ibv_gid gid;
	bool ethernet_only;
};

static bool entry_matches(const struct wanted *wanted, const struct ibv_gid_entry *entry)
{
	uint32_t scope;

	if (!wanted->addr)
		return true;
	if (memcmp(&entry->gid, &wanted->gid, sizeof(wanted->gid)) != 0)
		return false;
	if (!cm_addr_is_link_local(wanted->addr))
		return true;
	/* fe80:: addresses repeat from interface to interface. */
	scope = ((const struct sockaddr_in6 *)wanted->addr)->sin6_scope_id;
	return !entry->ndev_ifindex || entry->ndev_ifindex == scope;
}

static bool port_matches(const struct wanted *wanted, const struct ibv_port_attr *port)
{
	if (wanted->ethernet_only && port->link_layer != IBV_LINK_LAYER_ETHERNET)
		return false;
	return wanted->addr || port->state == IBV_PORT_ACTIVE;
}

/* The first entry that is wanted. Ports are queried for entries that match: each query asks the kernel. */
static const struct ibv_gid_entry *find_entry(const struct wanted *wanted, struct cm_device *device,
					      const struct ibv_gid_entry *entry,
					      const struct ibv_gid_entry *end,
					      struct ibv_port_attr *port)
{
	uint32_t port_num = 0;

	for (; entry < end; entry++) {
		if (!entry_matches(wanted, entry))
			continue;
		if (entry->port_num != port_num &&
		    ibv_query_port(device->verbs, entry->port_num, port))
			continue;
		port_num = entry->port_num;
		if (port_matches(wanted, port))
			return entry;
	}
	return NULL;
}

/* The index of the same GID for RoCE v2, or of this entry. */
static uint32_t find_index(const struct ibv_gid_entry *entry, const struct ibv_gid_entry *end)
{
	const struct ibv_gid_entry *other;

	for (other = entry; other < end; other++)
		if (other->port_num == entry->port_num && other->gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(&other->gid, &entry->gid, sizeof(entry->gid)))
			return other->gid_index;
	return entry->gid_index;
}

static int search_device(const struct wanted *wanted, struct cm_device *device, struct cm_gid *out)
{
	const struct ibv_gid_entry *found = NULL;
	struct ibv_gid_entry *entries;
	struct ibv_port_attr port = { 0 };
	ssize_t count;

	entries = calloc(device->gid_room ? device->gid_room : 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	count = ibv_query_gid_table(device->verbs, entries, device->gid_room, 0);
	if (count > 0)
		found = find_entry(wanted, device, entries, entries + count, &port);
	if (found) {
		out->device = device;
		out->port_num = (uint8_t)found->port_num;
		out->link_layer = port.link_layer;
		out->lid = port.lid;
		out->index = find_index(found, entries + count);
		out->gid = found->gid;
	}
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

/* The first GID of a port. */
static int first_of_port(struct cm_device *device, uint8_t port_num, struct cm_gid *out)
{
	struct ibv_port_attr port;

	if (ibv_query_port(device->verbs, port_num, &port) ||
	    ibv_query_gid(device->verbs, port_num, 0, &out->gid))
		return -ENOENT;
	out->device = device;
	out->port_num = port_num;
	out->link_layer = port.link_layer;
	out->lid = port.lid;
	out->index = 0;
	return 0;
}

/* The interface that has the address; false when none has. */
static bool find_interface(const struct sockaddr *addr, char name[IF_NAMESIZE])
{
	struct ifaddrs *list, *entry;

	if (getifaddrs(&list))
		return false;
	for (entry = list; entry; entry = entry->ifa_next)
		if (entry->ifa_addr && cm_addr_same_host(entry->ifa_addr, addr))
			break;
	if (entry)
		snprintf(name, IF_NAMESIZE, "%s", entry->ifa_name);
	freeifaddrs(list);
	return entry;
}

/*
 * The adapter and port of InfiniBand that is configured with the interface, or with any when that is
 * NULL. NULL: none.
 */
static const struct hca_adapter *find_ib_port(const char *interface, uint8_t *port_num)
{
	const struct hca_adapter *const *list;
	int count;

	if (hca_adapters_get(&list, &count))
		return NULL;
	for (int i = 0; i < count; i++)
		for (int k = 0; k < list[i]->port_count; k++) {
			const struct hca_port_config *port = &list[i]->ports[k];

			*port_num = (uint8_t)(k + 1);
			if (port->link == HCA_LINK_INFINIBAND && port->interface[0] &&
			    (!interface || !strcmp(port->interface, interface)))
				return list[i];
		}
	return NULL;
}

/*
 * InfiniBand ports with an interface in their configuration have its IP addresses, as IPoIB gives them:
 * the port's GID stands for each. Few hosts have one, and the others are not asked for their interfaces.
 */
static int find_ipoib(const struct sockaddr *addr, struct cm_gid *out)
{
	const struct hca_adapter *adapter;
	struct cm_device *device;
	char name[IF_NAMESIZE];
	uint8_t port_num;

	if (!find_ib_port(NULL, &port_num) || !find_interface(addr, name))
		return -ENOENT;
	adapter = find_ib_port(name, &port_num);
	device = adapter ? cm_device_of(adapter) : NULL;
	return device ? first_of_port(device, port_num, out) : -ENOENT;
}

/*
 * No adapter has a loopback address, unless the host has no other interface. The kernel resolves it,
 * and finds no route then; here any port of the host leads to this host, so its first GID serves.
 */
static int find_loopback(struct cm_gid *out)
{
	struct wanted wanted = { .ethernet_only = true };

	if (!search(&wanted, out))
		return 0;
	wanted.ethernet_only = false;
	return search(&wanted, out);
}

int cm_gid_find_listed(const struct sockaddr *addr, struct cm_gid *out)
{
	struct wanted wanted = { .addr = addr, .ethernet_only = addr->sa_family != AF_IB };
	int err = -ENOENT;

	if (addr->sa_family != AF_IB)
		err = find_ipoib(addr, out);
	cm_addr_to_gid(addr, &wanted.gid);
	if (err)
		err = search(&wanted, out);
	if (err && cm_addr_is_loopback(addr))
		err = find_loopback(out);
	return err;
}

int cm_gid_find(const struct sockaddr *addr, struct cm_gid *out)
{
	int err = cm_gid_find_listed(addr, out);

	return err && !cm_devices_refresh() ? cm_gid_find_listed(addr, out) : err;
}

int cm_gid_first(bool ethernet_only, struct cm_gid *out)
{
	struct wanted wanted = { .ethernet_only = ethernet_only };
	int err = search(&wanted, out);

	return err && !cm_devices_refresh() ? search(&wanted, out) : err;
}

/* changes.c compares with it. */
static void note_interface(struct cm_id *id, const struct cm_gid *gid)
{
	struct hca_gid_entry entry;

	id->ifindex = 0;
	if (!id->device->adapter ||
	    hca_port_gid(id->device->adapter, gid->port_num, (unsigned int)gid->index, &entry))
		return;
	id->ifindex = entry.ifindex;
	memcpy(id->bound_mac, entry.mac, sizeof(id->bound_mac));
	memcpy(id->last_mac, entry.mac, sizeof(id->last_mac));
}

int cm_gid_attach(struct cm_id *id, const struct cm_gid *gid)
{
	struct rdma_ib_addr *ibaddr = &id->pub.route.addr.addr.ibaddr;
	__be16 pkey;
	int err;

	err = cm_device_get(gid->device);
	if (err)
		return err;
	if (ibv_query_pkey(gid->device->verbs, gid->port_num, 0, &pkey))
		pkey = 0xffff; /* the default partition, in either byte order */
	id->device = gid->device;
	LIST_INSERT_HEAD(&id->device->ids, id, device_link);
	id->gid_index = gid->index;
	note_interface(id, gid);
	id->pub.verbs = gid->device->verbs;
	id->pub.pd = gid->device->pd;
	id->pub.port_num = gid->port_num;
	ibaddr->sgid = gid->gid;
	ibaddr->pkey = pkey;
	return 0;
}
