/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_port.h"

#include <errno.h>
#include <string.h>

#include "hca/device/port.h"
#include "hca/inspect/traffic.h"
#include "mlx5/devx_cmd.h"

#define PSID_BYTES 16

int devx_nop(struct devx_cmd *c)
{
	(void)c;
	return 0;
}

int devx_zeros(struct devx_cmd *c)
{
	(void)c;
	return 0;
}

int devx_query_adapter(struct devx_cmd *c)
{
	char *psid = ifc_ptr(c->out, query_adapter_out, vsd_contd_psid);

	ifc_set(c->out, query_adapter_out, ieee_vendor_id, HCA_VENDOR_ID);
	ifc_set(c->out, query_adapter_out, vsd_vendor_id, HCA_PCI_VENDOR_ID);
	strncpy(psid, c->adapter->model->board_id, PSID_BYTES);
	return 0;
}

int devx_query_issi(struct devx_cmd *c)
{
	ifc_set(c->out, query_issi_out, current_issi, 1);
	ifc_set(c->out, query_issi_out, supported_issi_dw0, 1 << 1);
	return 0;
}

int devx_query_special(struct devx_cmd *c)
{
	ifc_set(c->out, query_special_contexts_out, terminate_scatter_list_mkey, MLX5_INVALID_LKEY);
	return 0;
}

/* ---- ports ---- */

int devx_find_port(struct devx_cmd *c, unsigned int number, struct hca_port_attr *out)
{
	if (number > (unsigned int)c->adapter->port_count)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_PORT,
				   "port %u does not exist; %s has %d", number, c->adapter->name,
				   c->adapter->port_count);
	hca_port_query(c->adapter, number ? number : 1, out);
	return 0;
}

static int no_other_vport(struct devx_cmd *c, bool other, uint32_t number)
{
	if (!other || !number)
		return 0;
	return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_PORT,
			   "vport %u does not exist; there is none but the function's own", number);
}

static uint64_t port_guid(const struct hca_adapter *a, unsigned int port)
{
	return a->node_guid + (port ? port - 1 : 0);
}

int devx_query_nic_vport(struct devx_cmd *c)
{
	uint8_t *ctx = ifc_ptr(c->out, query_nic_vport_context_out, nic_vport_context);
	uint8_t *mac = ifc_ptr(ctx, nic_vport_context, permanent_address);
	struct hca_port_attr port;
	int err = no_other_vport(c, ifc_get(c->in, query_nic_vport_context_in, other_vport),
				 ifc_get(c->in, query_nic_vport_context_in, vport_number));

	if (!err)
		err = devx_find_port(c, 1, &port);
	if (err)
		return err;
	if (!c->devx->ctx->ethernet)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_PORT,
				   "port 1 is InfiniBand; QUERY_HCA_VPORT_CONTEXT is for it");
	ifc_set(ctx, nic_vport_context, roce_en, 1);
	ifc_set(ctx, nic_vport_context, mtu, 1500);
	ifc_set(ctx, nic_vport_context, system_image_guid, c->adapter->node_guid);
	ifc_set(ctx, nic_vport_context, port_guid, port_guid(c->adapter, 1));
	ifc_set(ctx, nic_vport_context, node_guid, c->adapter->node_guid);
	memcpy(mac + 2, port.mac, sizeof(port.mac));
	return 0;
}

int devx_query_esw_vport(struct devx_cmd *c)
{
	return no_other_vport(c, ifc_get(c->in, query_esw_vport_context_in, other_vport),
			      ifc_get(c->in, query_esw_vport_context_in, vport_number));
}

int devx_query_vport_state(struct devx_cmd *c)
{
	struct hca_port_attr port;
	int err = no_other_vport(c, ifc_get(c->in, query_vport_state_in, other_vport),
				 ifc_get(c->in, query_vport_state_in, vport_number));

	if (!err)
		err = devx_find_port(c, 1, &port);
	if (err)
		return err;
	ifc_set(c->out, query_vport_state_out, admin_state, IFC_VPORT_UP);
	ifc_set(c->out, query_vport_state_out, state,
		port.state == HCA_PORT_ACTIVE ? IFC_VPORT_UP : IFC_VPORT_DOWN);
	return 0;
}

int devx_query_hca_vport(struct devx_cmd *c)
{
	uint8_t *ctx = ifc_ptr(c->out, query_hca_vport_context_out, hca_vport_context);
	unsigned int number = ifc_get(c->in, query_hca_vport_context_in, port_num);
	struct hca_port_attr port;
	int err = no_other_vport(c, ifc_get(c->in, query_hca_vport_context_in, other_vport),
				 ifc_get(c->in, query_hca_vport_context_in, vport_number));

	if (!err)
		err = devx_find_port(c, number, &port);
	if (err)
		return err;
	ifc_set(ctx, hca_vport_context, grh_required, c->devx->ctx->ethernet);
	ifc_set(ctx, hca_vport_context, port_physical_state, port.phys_state);
	ifc_set(ctx, hca_vport_context, port_state, port.state);
	ifc_set(ctx, hca_vport_context, vport_state, port.state);
	ifc_set(ctx, hca_vport_context, system_image_guid, c->adapter->node_guid);
	ifc_set(ctx, hca_vport_context, port_guid, port_guid(c->adapter, number));
	ifc_set(ctx, hca_vport_context, node_guid, c->adapter->node_guid);
	ifc_set(ctx, hca_vport_context, lid, port.lid);
	ifc_set(ctx, hca_vport_context, sm_lid, port.sm_lid);
	ifc_set(ctx, hca_vport_context, subnet_timeout, 18);
	return 0;
}

int devx_query_hca_gid(struct devx_cmd *c)
{
	unsigned int number = ifc_get(c->in, query_hca_vport_gid_in, port_num);
	unsigned int index = ifc_get(c->in, query_hca_vport_gid_in, gid_index);
	struct hca_gid_entry entry;
	struct hca_port_attr port;
	int err = devx_find_port(c, number, &port);

	if (err)
		return err;
	if (hca_port_gid(c->adapter, number ? number : 1, index, &entry))
		return devx_refuse(c, IFC_STATUS_BAD_INDEX, DEVX_WHY_INDEX,
				   "GID index %u; the table has %u entries", index,
				   port.gid_table_len);
	ifc_set(c->out, query_hca_vport_gid_out, gids_num, 1);
	memcpy(ifc_ptr(c->out, query_hca_vport_gid_out, gid), entry.gid.raw, sizeof(entry.gid.raw));
	return 0;
}

/* 0xffff: the whole table. */
int devx_query_hca_pkey(struct devx_cmd *c)
{
	unsigned int number = ifc_get(c->in, query_hca_vport_pkey_in, port_num);
	unsigned int index = ifc_get(c->in, query_hca_vport_pkey_in, pkey_index), last;
	size_t room = (c->outlen - ifc_len(query_hca_vport_pkey_out)) / 4;
	struct hca_port_attr port;
	uint16_t pkey;
	int err = devx_find_port(c, number, &port);

	if (err)
		return err;
	last = index;
	if (index == 0xffff) {
		index = 0;
		last = port.pkey_table_len - 1;
	}
	for (unsigned int i = 0; index <= last; i++, index++) {
		if (i >= room)
			return devx_refuse(c, IFC_STATUS_BAD_OUTPUT_LEN, DEVX_WHY_SIZE,
					   "room for %zu keys; there are more", room);
		if (hca_port_pkey(c->adapter, number ? number : 1, index, &pkey))
			return devx_refuse(c, IFC_STATUS_BAD_INDEX, DEVX_WHY_INDEX,
					   "P_Key index %u; the table has %u entries", index,
					   port.pkey_table_len);
		ifc_set_at(c->out, query_hca_vport_pkey_out, pkey, i, pkey);
	}
	return 0;
}

int devx_query_roce_address(struct devx_cmd *c)
{
	uint8_t *addr = ifc_ptr(c->out, query_roce_address_out, roce_address);
	unsigned int number = ifc_get(c->in, query_roce_address_in, vhca_port_num);
	unsigned int index = ifc_get(c->in, query_roce_address_in, roce_address_index);
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct hca_gid_entry entry;
	struct hca_port_attr port;
	uint8_t *l3 = ifc_ptr(addr, roce_addr_layout, source_l3_address);
	int err = devx_find_port(c, number, &port);

	if (err)
		return err;
	if (!c->devx->ctx->ethernet)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_PORT,
				   "the port is InfiniBand; QUERY_HCA_VPORT_GID is for it");
	if (hca_port_gid(c->adapter, number ? number : 1, index, &entry))
		return devx_refuse(c, IFC_STATUS_BAD_INDEX, DEVX_WHY_INDEX,
				   "address index %u; the table has %u entries", index,
				   port.gid_table_len);
	if (hca_gid_is_empty(&entry.gid))
		return 0;
	ifc_set(addr, roce_addr_layout, roce_version,
		entry.type == HCA_GID_ROCE_V2 ? IFC_ROCE_V2 : IFC_ROCE_V1);
	if (entry.type == HCA_GID_ROCE_V2 && !memcmp(entry.gid.raw, mapped, sizeof(mapped))) {
		ifc_set(addr, roce_addr_layout, roce_l3_type, IFC_ROCE_L3_IPV4);
		memcpy(l3 + 12, entry.gid.raw + 12, 4);
	} else {
		ifc_set(addr, roce_addr_layout, roce_l3_type, IFC_ROCE_L3_IPV6);
		memcpy(l3, entry.gid.raw, sizeof(entry.gid.raw));
	}
	memcpy(ifc_ptr(addr, roce_addr_layout, source_mac), port.mac, sizeof(port.mac));
	return 0;
}

int devx_query_vport_counter(struct devx_cmd *c)
{
	struct hca_traffic t;
	int err = no_other_vport(c, ifc_get(c->in, query_vport_counter_in, other_vport),
				 ifc_get(c->in, query_vport_counter_in, vport_number));

	if (err)
		return err;
	hca_port_traffic(c->adapter, 1, &t);
	ifc_set(ifc_ptr(c->out, query_vport_counter_out, received_errors), traffic_counter, packets,
		t.rx_errors);
	ifc_set(ifc_ptr(c->out, query_vport_counter_out, transmit_errors), traffic_counter, packets,
		t.tx_errors);
	ifc_set(ifc_ptr(c->out, query_vport_counter_out, received_ib_unicast), traffic_counter,
		packets, t.rx_packets);
	ifc_set(ifc_ptr(c->out, query_vport_counter_out, received_ib_unicast), traffic_counter,
		octets, t.rx_bytes);
	ifc_set(ifc_ptr(c->out, query_vport_counter_out, transmitted_ib_unicast), traffic_counter,
		packets, t.tx_packets);
	ifc_set(ifc_ptr(c->out, query_vport_counter_out, transmitted_ib_unicast), traffic_counter,
		octets, t.tx_bytes);
	return 0;
}
