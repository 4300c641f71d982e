/* SPDX-License-Identifier: BSD-2-Clause */
#include "netlink_devlink.h"

#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <string.h>

/* A number that no family of the kernel has; the socket is not the kernel's once it is known. */
#define FAMILY_ID 0x3f0

static bool is_mlx5(const struct adapter_fact *fact)
{
	return !strcmp(fact->driver, "mlx5_core");
}

static void put_family(struct netlink_out *o)
{
	size_t groups, group;

	netlink_begin_generic(o, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_CMD_NEWFAMILY);
	netlink_text(o, CTRL_ATTR_FAMILY_NAME, DEVLINK_GENL_NAME);
	netlink_u16(o, CTRL_ATTR_FAMILY_ID, FAMILY_ID);
	netlink_u32(o, CTRL_ATTR_VERSION, DEVLINK_GENL_VERSION);
	netlink_u32(o, CTRL_ATTR_HDRSIZE, 0);
	netlink_u32(o, CTRL_ATTR_MAXATTR, DEVLINK_ATTR_MAX);
	groups = netlink_nest(o, CTRL_ATTR_MCAST_GROUPS);
	group = netlink_nest(o, 1);
	netlink_u32(o, CTRL_ATTR_MCAST_GRP_ID, 1);
	netlink_text(o, CTRL_ATTR_MCAST_GRP_NAME, DEVLINK_GENL_MCGRP_CONFIG_NAME);
	netlink_nest_end(o, group);
	netlink_nest_end(o, groups);
	netlink_end(o);
}

static void begin(struct netlink_out *o, const struct adapter_fact *fact, uint8_t cmd,
		  uint8_t answer)
{
	netlink_begin_generic(o, FAMILY_ID, cmd, answer);
	netlink_text(o, DEVLINK_ATTR_BUS_NAME, "pci");
	netlink_text(o, DEVLINK_ATTR_DEV_NAME, fact->pci_slot);
}

static void put_device(struct netlink_out *o, const struct adapter_fact *fact)
{
	begin(o, fact, DEVLINK_CMD_GET, DEVLINK_CMD_NEW);
	netlink_u8(o, DEVLINK_ATTR_RELOAD_FAILED, 0);
	netlink_end(o);
}

static void put_version(struct netlink_out *o, uint16_t kind, const char *name, const char *value)
{
	size_t nest = netlink_nest(o, kind);

	netlink_text(o, DEVLINK_ATTR_INFO_VERSION_NAME, name);
	netlink_text(o, DEVLINK_ATTR_INFO_VERSION_VALUE, value);
	netlink_nest_end(o, nest);
}

static void put_info(struct netlink_out *o, const struct adapter_fact *fact)
{
	begin(o, fact, DEVLINK_CMD_INFO_GET, DEVLINK_CMD_INFO_GET);
	netlink_text(o, DEVLINK_ATTR_INFO_DRIVER_NAME, fact->driver);
	put_version(o, DEVLINK_ATTR_INFO_VERSION_FIXED, "fw.psid", fact->board_id);
	put_version(o, DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw.version", fact->attr.fw_ver);
	put_version(o, DEVLINK_ATTR_INFO_VERSION_STORED, "fw.version", fact->attr.fw_ver);
	netlink_end(o);
}

static void put_port(struct netlink_out *o, const struct adapter_fact *fact, int number)
{
	const struct port_fact *port = &fact->ports[number - 1];
	bool ethernet = port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;

	begin(o, fact, DEVLINK_CMD_PORT_GET, DEVLINK_CMD_PORT_NEW);
	netlink_u32(o, DEVLINK_ATTR_PORT_INDEX, (uint32_t)number);
	netlink_u16(o, DEVLINK_ATTR_PORT_TYPE,
		    ethernet ? DEVLINK_PORT_TYPE_ETH : DEVLINK_PORT_TYPE_IB);
	if (!ethernet) {
		netlink_text(o, DEVLINK_ATTR_PORT_IBDEV_NAME, fact->name);
	} else if (*port->interface) {
		netlink_u32(o, DEVLINK_ATTR_PORT_NETDEV_IFINDEX, if_nametoindex(port->interface));
		netlink_text(o, DEVLINK_ATTR_PORT_NETDEV_NAME, port->interface);
	}
	netlink_u16(o, DEVLINK_ATTR_PORT_FLAVOUR, DEVLINK_PORT_FLAVOUR_PHYSICAL);
	netlink_u32(o, DEVLINK_ATTR_PORT_NUMBER, (uint32_t)(number - 1));
	netlink_end(o);
}

static void put_switch(struct netlink_out *o, const struct adapter_fact *fact)
{
	begin(o, fact, DEVLINK_CMD_ESWITCH_GET, DEVLINK_CMD_ESWITCH_GET);
	netlink_u16(o, DEVLINK_ATTR_ESWITCH_MODE,
		    fact->switchdev ? DEVLINK_ESWITCH_MODE_SWITCHDEV : DEVLINK_ESWITCH_MODE_LEGACY);
	netlink_u8(o, DEVLINK_ATTR_ESWITCH_INLINE_MODE, DEVLINK_ESWITCH_INLINE_MODE_NONE);
	netlink_u8(o, DEVLINK_ATTR_ESWITCH_ENCAP_MODE, DEVLINK_ESWITCH_ENCAP_MODE_BASIC);
	netlink_end(o);
}

static void put_value(struct netlink_out *o, bool value)
{
	size_t list = netlink_nest(o, DEVLINK_ATTR_PARAM_VALUES_LIST);
	size_t nest = netlink_nest(o, DEVLINK_ATTR_PARAM_VALUE);

	if (value)
		netlink_put(o, DEVLINK_ATTR_PARAM_VALUE_DATA, NULL, 0);
	netlink_u8(o, DEVLINK_ATTR_PARAM_VALUE_CMODE, DEVLINK_PARAM_CMODE_DRIVERINIT);
	netlink_nest_end(o, nest);
	netlink_nest_end(o, list);
}

/* The name stands outside of the nest as well: requests for one parameter have it there. */
static void put_roce(struct netlink_out *o, const struct adapter_fact *fact, bool enabled)
{
	size_t nest;

	begin(o, fact, DEVLINK_CMD_PARAM_GET, DEVLINK_CMD_PARAM_GET);
	netlink_text(o, DEVLINK_ATTR_PARAM_NAME, "enable_roce");
	nest = netlink_nest(o, DEVLINK_ATTR_PARAM);
	netlink_text(o, DEVLINK_ATTR_PARAM_NAME, "enable_roce");
	netlink_put(o, DEVLINK_ATTR_PARAM_GENERIC, NULL, 0);
	/* NLA_FLAG: a boolean is the presence of its value. */
	netlink_u8(o, DEVLINK_ATTR_PARAM_TYPE, 6);
	put_value(o, enabled);
	netlink_nest_end(o, nest);
	netlink_end(o);
}

static void put_adapter(struct netlink_out *o, const struct adapter_fact *fact)
{
	int port;

	put_device(o, fact);
	put_info(o, fact);
	for (port = 1; port <= fact->port_count; port++)
		put_port(o, fact, port);
	if (!is_mlx5(fact))
		return;
	put_switch(o, fact);
	put_roce(o, fact, fact->roce);
}

void netlink_devlink(struct netlink_out *o, const struct facts *facts)
{
	int i;

	put_family(o);
	for (i = 0; i < facts->count; i++)
		put_adapter(o, &facts->adapters[i]);
}
