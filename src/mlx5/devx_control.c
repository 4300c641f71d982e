/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_control.h"

#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"
#include "mlx5/privilege.h"

#define NUMBERS (1u << 20)

bool devx_has_control(const struct hca_adapter *adapter)
{
	return mlx5_privileges_offered(adapter);
}

int devx_control_create(struct devx_cmd *c)
{
	const uint8_t *body = c->in + ifc_len(general_obj_in_cmd_hdr);
	unsigned int id;
	int err;

	if (c->inlen < ifc_len(general_obj_in_cmd_hdr) + ifc_len(rdma_ctrl))
		return devx_refuse(c, IFC_STATUS_BAD_INPUT_LEN, DEVX_WHY_SIZE,
				   "an RDMA_CTRL object of %zu bytes; %u are needed", c->inlen,
				   IFC_LEN_general_obj_in_cmd_hdr + IFC_LEN_rdma_ctrl);
	if (!(c->devx->ctx->privileges & MLX5_MAY_CONTROL))
		return devx_refuse(c, IFC_STATUS_BAD_OP, DEVX_WHY_OFFERED,
				   "the context was opened without the descriptor of "
				   "mlx5_perm_ctrl_local");
	id = ifc_get(body, rdma_ctrl, other_vhca_id);
	if (id != DEVX_VHCA_ID(c->adapter))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "other_vhca_id %u; the adapter has one function, %u", id,
				   DEVX_VHCA_ID(c->adapter));
	err = devx_keep(c, c->in, c->inlen);
	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1), DEVX_WHY_OBJECT);
	return err;
}

int devx_control_modify(struct devx_cmd *c)
{
	return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
			   "an RDMA_CTRL object does not change");
}
