/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ACCESS_REG: state and speed of links, counters, the clock.
 */
#include "mlx5/devx_reg.h"

#include <errno.h>
#include <string.h>

#include "hca/device/port.h"
#include "hca/inspect/traffic.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_port.h"

/* Link state. Offsets in bits, as in ifc.h. */
#define REG_PAOS   0x5006
#define PAOS_PORT  8, 8
#define PAOS_ADMIN 20, 4
#define PAOS_OPER  28, 4
#define PAOS_UP    1
#define PAOS_DOWN  2

static int access_paos(struct devx_cmd *c, const uint8_t *in, uint8_t *out)
{
	unsigned int number = ifc_load(in, PAOS_PORT);
	struct hca_port_attr port;
	int err = devx_find_port(c, number, &port);

	if (err)
		return err;
	/* Interfaces are set up by the host: a write is accepted and changes nothing. */
	ifc_store(out, PAOS_PORT, number);
	ifc_store(out, PAOS_ADMIN, PAOS_UP);
	ifc_store(out, PAOS_OPER, port.state == HCA_PORT_ACTIVE ? PAOS_UP : PAOS_DOWN);
	return 0;
}

/* The one link type of this speed; none above 100 Gbit/s. */
static uint32_t link_bit(uint32_t mbps)
{
	static const struct {
		uint32_t mbps;
		uint8_t bit;
	} kinds[] = { { 10000, 12 }, { 25000, 27 }, { 40000, 15 }, { 50000, 30 }, { 100000, 20 } };
	uint32_t found = 0;

	for (size_t i = 0; i < array_size(kinds); i++)
		if (kinds[i].mbps <= mbps)
			found = 1u << kinds[i].bit;
	return found;
}

static int access_ptys(struct devx_cmd *c, const uint8_t *in, uint8_t *out)
{
	unsigned int number = ifc_get(in, ptys_reg, local_port);
	unsigned int mask = ifc_get(in, ptys_reg, proto_mask);
	struct hca_port_attr port;
	int err = devx_find_port(c, number, &port);

	if (err)
		return err;
	if (mask != IFC_PTYS_IB && mask != IFC_PTYS_ETH)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "proto_mask %u; 1 (InfiniBand) and 4 (Ethernet) exist", mask);
	if (devx_op_mod(c) == IFC_REG_WRITE)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "the speed of the link is the host's to set");
	ifc_set(out, ptys_reg, local_port, number);
	ifc_set(out, ptys_reg, proto_mask, mask);
	if (c->devx->ctx->ethernet && mask == IFC_PTYS_ETH) {
		ifc_set(out, ptys_reg, eth_proto_capability, link_bit(port.speed_mbps));
		ifc_set(out, ptys_reg, eth_proto_admin, link_bit(port.speed_mbps));
		if (port.state == HCA_PORT_ACTIVE)
			ifc_set(out, ptys_reg, eth_proto_oper, link_bit(port.speed_mbps));
	} else if (!c->devx->ctx->ethernet && mask == IFC_PTYS_IB) {
		ifc_set(out, ptys_reg, ib_link_width_oper, port.active_width);
		ifc_set(out, ptys_reg, ib_proto_oper, port.active_speed);
	}
	return 0;
}

/* RoCE's packets and bytes, in the IEEE 802.3 group; the counters of other groups are 0. */
static int access_ppcnt(struct devx_cmd *c, const uint8_t *in, uint8_t *out)
{
	unsigned int number = ifc_get(in, ppcnt_reg, local_port);
	unsigned int group = ifc_get(in, ppcnt_reg, grp);
	struct hca_port_attr port;
	struct hca_traffic t;
	int err = devx_find_port(c, number, &port);

	if (err)
		return err;
	ifc_set(out, ppcnt_reg, local_port, number);
	ifc_set(out, ppcnt_reg, grp, group);
	if (group != IFC_PPCNT_IEEE)
		return 0;
	hca_port_traffic(c->adapter, number ? number : 1, &t);
	ifc_set(out, ppcnt_reg, a_frames_transmitted_ok, t.tx_packets);
	ifc_set(out, ppcnt_reg, a_frames_received_ok, t.rx_packets);
	ifc_set(out, ppcnt_reg, a_octets_transmitted_ok, t.tx_bytes);
	ifc_set(out, ppcnt_reg, a_octets_received_ok, t.rx_bytes);
	return 0;
}

static int access_mtutc(struct devx_cmd *c, uint8_t *out)
{
	if (devx_op_mod(c) == IFC_REG_WRITE)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "register 0x%x: the clock is not the program's to set",
				   IFC_REG_MTUTC);
	ifc_set(out, register_mtutc, time_stamp_mode, 0); /* free running */
	return 0;
}

int devx_access_reg(struct devx_cmd *c)
{
	const uint8_t *in = ifc_cptr(c->in, access_register_in, register_data);
	uint8_t *out = ifc_ptr(c->out, access_register_out, register_data);
	unsigned int id = ifc_get(c->in, access_register_in, register_id);

	if (devx_op_mod(c) > IFC_REG_READ)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OP_MOD,
				   "op_mod %u; expected 0 (write) or 1 (read)", devx_op_mod(c));
	/* Outputs longer than the shortest mailbox. */
	if ((id == IFC_REG_PTYS && c->outlen < 0x10 + ifc_len(ptys_reg)) ||
	    (id == IFC_REG_PPCNT && c->outlen < 0x10 + ifc_len(ppcnt_reg)))
		return devx_refuse(c, IFC_STATUS_BAD_OUTPUT_LEN, DEVX_WHY_SIZE,
				   "an output mailbox of %zu bytes for register 0x%x", c->outlen,
				   id);
	switch (id) {
	case REG_PAOS:
		return access_paos(c, in, out);
	case IFC_REG_PTYS:
		return access_ptys(c, in, out);
	case IFC_REG_PPCNT:
		return access_ppcnt(c, in, out);
	case IFC_REG_HOST_ENDIANNESS:
		return 0;
	case IFC_REG_MTUTC:
		return access_mtutc(c, out);
	default:
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_INDEX,
				   "register 0x%x; the device has 0x%x, 0x%x, 0x%x, 0x%x and 0x%x",
				   id, IFC_REG_PTYS, REG_PAOS, IFC_REG_PPCNT,
				   IFC_REG_HOST_ENDIANNESS, IFC_REG_MTUTC);
	}
}
