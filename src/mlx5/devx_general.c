/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_general.h"

#include <string.h>

#include "mlx5/devx_aso.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_control.h"
#include "mlx5/devx_crypto.h"
#include "mlx5/devx_geneve.h"
#include "mlx5/devx_obj.h"

#define NUMBERS (1u << 20)

static bool has_geneve_options(const struct hca_adapter *adapter)
{
	return hca_model_has(adapter->model, HCA_HAS_GENEVE_OPTIONS);
}

static bool has_aso(const struct hca_adapter *adapter)
{
	return hca_model_has(adapter->model, HCA_HAS_ASO);
}

/* NULL: a number, and the image of the input. */
struct type {
	uint16_t type; /* enum ifc_obj_type */
	bool (*is_offered)(const struct hca_adapter *adapter);
	int (*create)(struct devx_cmd *c); /* sets obj->number and obj->hca */
	int (*query)(struct devx_cmd *c);
	int (*modify)(struct devx_cmd *c);
	int (*destroy)(struct mlx5dv_devx_obj *obj);
};

static const struct type types[] = {
	{ .type = IFC_OBJ_GENEVE_TLV_OPT,
	  .is_offered = has_geneve_options,
	  .create = devx_geneve_create,
	  .modify = devx_geneve_modify,
	  .destroy = devx_geneve_destroy },
	{ .type = IFC_OBJ_MATCH_DEFINER },
	{ IFC_OBJ_DEK, devx_has_crypto, devx_create_dek, devx_query_dek, devx_modify_crypto,
	  devx_destroy_dek },
	{ IFC_OBJ_IMPORT_KEK, devx_has_login, devx_create_import_kek, NULL, devx_modify_crypto,
	  devx_destroy_secret },
	{ IFC_OBJ_CREDENTIAL, devx_has_login, devx_create_credential, NULL, devx_modify_crypto,
	  devx_destroy_secret },
	{ IFC_OBJ_CRYPTO_LOGIN, devx_has_login, devx_create_login, devx_query_login,
	  devx_modify_crypto, devx_destroy_login },
	{ .type = IFC_OBJ_FLOW_METER, .create = devx_meter_create, .modify = devx_meter_modify },
	{ IFC_OBJ_ASO_FLOW_METER, has_aso, devx_aso_create, devx_aso_query, devx_aso_modify,
	  devx_aso_destroy },
	{ IFC_OBJ_ASO_FIRST_HIT, has_aso, devx_aso_create, devx_aso_query, devx_aso_modify,
	  devx_aso_destroy },
	{ IFC_OBJ_ASO_CT, has_aso, devx_aso_create, devx_aso_query, devx_aso_modify,
	  devx_aso_destroy },
	{ .type = IFC_OBJ_RDMA_CTRL,
	  .is_offered = devx_has_control,
	  .create = devx_control_create,
	  .modify = devx_control_modify },
};

static const struct type *find(const struct hca_adapter *adapter, unsigned int type)
{
	for (size_t i = 0; i < array_size(types); i++)
		if (types[i].type == type && (!types[i].is_offered || types[i].is_offered(adapter)))
			return &types[i];
	return NULL;
}

uint64_t devx_general_types(const struct hca_adapter *adapter, unsigned int first)
{
	uint64_t mask = 0;

	for (unsigned int type = 0; type < 64; type++)
		if (find(adapter, first + type))
			mask |= 1ull << type;
	return mask;
}

static int create_plain(struct devx_cmd *c)
{
	unsigned int range = ifc_get(c->in, general_obj_in_cmd_hdr, log_obj_range);
	int err;

	if (range > 12)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "log_obj_range %u; at most 12", range);
	err = devx_keep(c, c->in, c->inlen);
	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1u << range),
					DEVX_WHY_OBJECT);
	return err;
}

int devx_create_general(struct devx_cmd *c)
{
	unsigned int number = ifc_get(c->in, general_obj_in_cmd_hdr, obj_type);
	const struct type *type = find(c->adapter, number);
	int err;

	if (!type)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "objects of type 0x%x; general_obj_types has 0x%llx and 0x%llx",
				   number, (unsigned long long)devx_general_types(c->adapter, 0),
				   (unsigned long long)devx_general_types(c->adapter, 64));
	c->obj->type = number;
	err = type->create ? type->create(c) : create_plain(c);
	if (!err)
		ifc_set(c->out, general_obj_out_cmd_hdr, obj_id, c->obj->number);
	return err;
}

static void copy_body(uint8_t *to, size_t room, const uint8_t *from, size_t len)
{
	const size_t head = ifc_len(general_obj_in_cmd_hdr);
	size_t n = len < room ? len : room;

	if (n > head)
		memcpy(to + head, from + head, n - head);
}

int devx_query_general(struct devx_cmd *c)
{
	const struct type *type = find(c->adapter, c->obj->type);
	int err = 0;

	if (type && type->query)
		err = type->query(c);
	else
		copy_body(c->out, c->outlen, c->obj->image, c->obj->image_len);
	ifc_set(c->out, general_obj_out_cmd_hdr, obj_id,
		ifc_get(c->in, general_obj_in_cmd_hdr, obj_id));
	return err;
}

int devx_modify_general(struct devx_cmd *c)
{
	const struct type *type = find(c->adapter, c->obj->type);

	if (type && type->modify)
		return type->modify(c);
	copy_body(c->obj->image, c->obj->image_len, c->in, c->inlen);
	return 0;
}

int devx_general_destroy(struct mlx5dv_devx_obj *obj)
{
	const struct type *type = find(obj->devx->ctx->vb->adapter, obj->type);

	return type && type->destroy ? type->destroy(obj) : 0;
}
