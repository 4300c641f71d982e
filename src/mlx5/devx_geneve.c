/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parser has room for one option: rules match on its presence and on one word of its data
 * (geneve_tlv_option_0_exist and _data of the match parameters). devx.lock is held.
 */
#include "mlx5/devx_geneve.h"

#include "hca/raw/flow.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"

#define NUMBERS (1u << 20)

static struct ether_port *port_of(const struct hca_adapter *adapter)
{
	struct ether_port *port;

	return hca_flow_port(adapter, 1, FLOW_RX, &port) ? NULL : port;
}

int devx_geneve_create(struct devx_cmd *c)
{
	const uint8_t *body = c->in + ifc_len(general_obj_in_cmd_hdr);
	struct ether_port *port = port_of(c->adapter);
	unsigned int len, word;
	int err;

	if (c->inlen < ifc_len(general_obj_in_cmd_hdr) + ifc_len(geneve_tlv_option))
		return devx_refuse(c, IFC_STATUS_BAD_INPUT_LEN, DEVX_WHY_SIZE,
				   "a Geneve option of %zu bytes; %u are needed", c->inlen,
				   IFC_LEN_general_obj_in_cmd_hdr + IFC_LEN_geneve_tlv_option);
	if (!port)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_PORT,
				   "Geneve options are for Ethernet ports");
	len = ifc_get(body, geneve_tlv_option, option_data_length);
	word = ifc_get(body, geneve_tlv_option, sample_offset);
	if (word && word >= len)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "sample_offset %u of an option with %u words of data", word,
				   len);
	err = devx_keep(c, c->in, c->inlen);
	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1), DEVX_WHY_OBJECT);
	if (err)
		return err;
	if (!ether_port_set_geneve(
		    port, ETHER_GENEVE_OPTION(ifc_get(body, geneve_tlv_option, option_class),
					      ifc_get(body, geneve_tlv_option, option_type), word)))
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_BUSY,
				   "the parser has its one Geneve option already");
	c->obj->geneve_port = port;
	return 0;
}

int devx_geneve_modify(struct devx_cmd *c)
{
	return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
			   "a Geneve option does not change");
}

int devx_geneve_destroy(struct mlx5dv_devx_obj *obj)
{
	ether_port_clear_geneve(obj->geneve_port);
	obj->hca = NULL;
	return 0;
}
