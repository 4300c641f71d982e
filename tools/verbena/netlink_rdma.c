/* SPDX-License-Identifier: BSD-2-Clause */
#include "netlink_rdma.h"

#include <endian.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>

#define NETNS_SHARED 1

static uint16_t request(int op)
{
	return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op);
}

static bool is_ethernet(const struct port_fact *port)
{
	return port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

static void put_name(struct netlink_out *o, const struct adapter_fact *fact)
{
	netlink_u32(o, RDMA_NLDEV_ATTR_DEV_INDEX, fact->index);
	netlink_text(o, RDMA_NLDEV_ATTR_DEV_NAME, fact->name);
}

/* The port index of a device is the number of its ports. */
static void put_device(struct netlink_out *o, const struct adapter_fact *fact)
{
	netlink_begin(o, request(RDMA_NLDEV_CMD_GET));
	put_name(o, fact);
	netlink_u32(o, RDMA_NLDEV_ATTR_PORT_INDEX, (uint32_t)fact->port_count);
	netlink_u64(o, RDMA_NLDEV_ATTR_CAP_FLAGS, fact->attr.device_cap_flags);
	netlink_text(o, RDMA_NLDEV_ATTR_FW_VERSION, fact->attr.fw_ver);
	netlink_u64(o, RDMA_NLDEV_ATTR_NODE_GUID, be64toh(fact->attr.node_guid));
	netlink_u64(o, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, be64toh(fact->attr.sys_image_guid));
	netlink_u8(o, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, IBV_NODE_CA);
	netlink_u8(o, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	netlink_text(o, RDMA_NLDEV_ATTR_DEV_PROTOCOL, is_ethernet(&fact->ports[0]) ? "roce" : "ib");
	netlink_end(o);
}

/* Only a port of a subnet has a prefix and LIDs. */
static void put_subnet(struct netlink_out *o, const struct port_fact *port)
{
	const struct ibv_port_attr *attr = &port->attr;

	netlink_u64(o, RDMA_NLDEV_ATTR_CAP_FLAGS,
		    attr->port_cap_flags | (uint64_t)attr->port_cap_flags2 << 32);
	if (port->gid_count)
		netlink_u64(o, RDMA_NLDEV_ATTR_SUBNET_PREFIX,
			    be64toh(port->gids[0].gid.global.subnet_prefix));
	netlink_u32(o, RDMA_NLDEV_ATTR_LID, attr->lid);
	netlink_u32(o, RDMA_NLDEV_ATTR_SM_LID, attr->sm_lid);
	netlink_u8(o, RDMA_NLDEV_ATTR_LMC, attr->lmc);
}

static void put_port(struct netlink_out *o, const struct adapter_fact *fact, int number)
{
	const struct port_fact *port = &fact->ports[number - 1];

	netlink_begin(o, request(RDMA_NLDEV_CMD_PORT_GET));
	put_name(o, fact);
	netlink_u32(o, RDMA_NLDEV_ATTR_PORT_INDEX, (uint32_t)number);
	if (!is_ethernet(port))
		put_subnet(o, port);
	netlink_u8(o, RDMA_NLDEV_ATTR_PORT_STATE, port->attr.state);
	netlink_u8(o, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, port->attr.phys_state);
	if (is_ethernet(port) && *port->interface) {
		netlink_u32(o, RDMA_NLDEV_ATTR_NDEV_INDEX, if_nametoindex(port->interface));
		netlink_text(o, RDMA_NLDEV_ATTR_NDEV_NAME, port->interface);
	}
	netlink_end(o);
}

static void put_system(struct netlink_out *o)
{
	netlink_begin(o, request(RDMA_NLDEV_CMD_SYS_GET));
	netlink_u8(o, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, NETNS_SHARED);
	netlink_u8(o, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
	netlink_end(o);
}

void netlink_rdma(struct netlink_out *o, const struct facts *facts)
{
	int i, port;

	put_system(o);
	for (i = 0; i < facts->count; i++) {
		put_device(o, &facts->adapters[i]);
		for (port = 1; port <= facts->adapters[i].port_count; port++)
			put_port(o, &facts->adapters[i], port);
	}
}
