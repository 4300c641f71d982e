/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ASO object is 2^log_obj_range contexts, numbered from obj_id on; requests of send queues find them in
 * the table of the context. A meter object is only kept: rules reach meters by mlx5dv_dr_*(), or as
 * ASO objects. devx.lock is held.
 */
#include "mlx5/devx_aso.h"

#include <stdlib.h>
#include <string.h>

#include "hca/raw/flow.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"

#define NUMBERS (1u << 20)

static const uint8_t *body_of(const struct devx_cmd *c)
{
	return c->in + ifc_len(general_obj_in_cmd_hdr);
}

static enum aso_kind kind_of(unsigned int type)
{
	return type == IFC_OBJ_ASO_FLOW_METER ? ASO_METER
	       : type == IFC_OBJ_ASO_CT       ? ASO_CT
					      : ASO_FIRST_HIT;
}

static int check_create(struct devx_cmd *c)
{
	unsigned int log = ifc_get(c->in, general_obj_in_cmd_hdr, log_obj_range);

	if (c->inlen < ifc_len(general_obj_in_cmd_hdr) + ifc_len(aso_object))
		return devx_refuse(c, IFC_STATUS_BAD_INPUT_LEN, DEVX_WHY_SIZE,
				   "an ASO object of %zu bytes; %u are needed", c->inlen,
				   IFC_LEN_general_obj_in_cmd_hdr + IFC_LEN_aso_object);
	if (log > DEVX_ASO_LOG_RANGE)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "log_obj_range %u; at most %u", log, DEVX_ASO_LOG_RANGE);
	return 0;
}

static void write_context(struct aso *aso, uint32_t context, const uint8_t *body)
{
	struct aso_change all = { .condition = { { .op = ASO_ALWAYS }, { .op = ASO_ALWAYS } } };
	uint8_t before[ASO_BYTES];

	memcpy(all.data, body + ifc_byte(aso_object, context), ASO_BYTES);
	memset(all.mask, 0xff, ASO_BYTES);
	aso_access(aso, context, &all, before);
}

static struct hca_table *table_of(struct devx *devx)
{
	struct hca_ctx *ctx = &devx->ctx->vb->hca;
	struct hca_table *table = atomic_load_explicit(&ctx->asos, memory_order_relaxed);

	if (!table) {
		table = calloc(1, sizeof(*table));
		/* [AS1] pairs with aso_access_run() */
		atomic_store_explicit(&ctx->asos, table, memory_order_release);
	}
	return table;
}

static int list_contexts(struct devx_cmd *c, struct aso *aso)
{
	struct hca_table *table = table_of(c->devx);

	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < aso->contexts; i++)
		if (hca_table_set(table, aso->number + i, aso)) {
			while (i--)
				hca_table_set(table, aso->number + i, NULL);
			return -ENOMEM;
		}
	return 0;
}

int devx_aso_create(struct devx_cmd *c)
{
	uint32_t count = 1u << ifc_get(c->in, general_obj_in_cmd_hdr, log_obj_range);
	uint32_t pdn = ifc_get(body_of(c), aso_object, access_pd);
	struct aso *aso;
	int err = check_create(c);

	if (err)
		return err;
	c->obj->held_pd = devx_hold_pd(c, pdn);
	if (!c->obj->held_pd)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_PD,
				   "access_pd: there is no protection domain 0x%x", pdn);
	err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, count), DEVX_WHY_OBJECT);
	if (err)
		return err;
	aso = aso_create(kind_of(c->obj->type), count);
	if (!aso)
		return devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	aso->number = c->obj->number;
	aso->pdn = c->obj->held_pd->pdn;
	for (uint32_t i = 0; i < count; i++)
		write_context(aso, i, body_of(c));
	err = devx_refuse_errno(c, list_contexts(c, aso), DEVX_WHY_MEMORY);
	if (err)
		aso_put(aso);
	else
		c->obj->aso = aso;
	return err;
}

int devx_aso_query(struct devx_cmd *c)
{
	static const struct aso_change nothing;
	uint32_t number = ifc_get(c->in, general_obj_in_cmd_hdr, obj_id);
	uint8_t *body = c->out + ifc_len(general_obj_in_cmd_hdr);
	uint8_t now[ASO_BYTES];

	if (c->outlen < ifc_len(general_obj_in_cmd_hdr) + ifc_len(aso_object))
		return 0;
	aso_access(c->obj->aso, number - c->obj->number, &nothing, now);
	ifc_set(body, aso_object, access_pd, c->obj->aso->pdn);
	memcpy(body + ifc_byte(aso_object, context), now, sizeof(now));
	return 0;
}

int devx_aso_modify(struct devx_cmd *c)
{
	int err = check_create(c);

	if (!err)
		write_context(c->obj->aso,
			      ifc_get(c->in, general_obj_in_cmd_hdr, obj_id) - c->obj->number,
			      body_of(c));
	return err;
}

int devx_aso_destroy(struct mlx5dv_devx_obj *obj)
{
	struct aso *aso = obj->aso;

	for (uint32_t i = 0; i < aso->contexts; i++)
		hca_table_set(table_of(obj->devx), aso->number + i, NULL);
	aso_retire(aso);
	obj->aso = NULL;
	return 0;
}

void devx_aso_fini(struct devx *devx)
{
	struct hca_table *table = atomic_load(&devx->ctx->vb->hca.asos);

	if (!table)
		return;
	hca_table_fini(table);
	free(table);
	atomic_store(&devx->ctx->vb->hca.asos, NULL);
}

/* ---- meters ---- */

int devx_meter_create(struct devx_cmd *c)
{
	uint32_t table = ifc_get(body_of(c), flow_meter, destination_table_id);
	int err;

	if (c->inlen < ifc_len(general_obj_in_cmd_hdr) + ifc_len(flow_meter))
		return devx_refuse(c, IFC_STATUS_BAD_INPUT_LEN, DEVX_WHY_SIZE,
				   "a meter of %zu bytes; %u are needed", c->inlen,
				   IFC_LEN_general_obj_in_cmd_hdr + IFC_LEN_flow_meter);
	if (ifc_get(body_of(c), flow_meter, return_reg_id) >= FLOW_REGISTERS)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "return_reg_id is more than %u", FLOW_REGISTERS - 1);
	if (!devx_find(c->devx, DEVX_FLOW_TABLE, table))
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				   "destination_table_id: there is no flow table 0x%x", table);
	err = devx_keep(c, c->in, c->inlen);
	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1), DEVX_WHY_OBJECT);
	if (!err)
		devx_use(c->obj, devx_find(c->devx, DEVX_FLOW_TABLE, table));
	return err;
}

int devx_meter_modify(struct devx_cmd *c)
{
	uint8_t *kept = c->obj->image + ifc_len(general_obj_in_cmd_hdr);
	uint64_t select = ifc_get(body_of(c), flow_meter, modify_field_select);
	size_t at = ifc_byte(flow_meter, flow_meter_params);
	uint8_t mask[DEVX_METER_BYTES];

	if (c->inlen < ifc_len(general_obj_in_cmd_hdr) + ifc_len(flow_meter))
		return devx_refuse(c, IFC_STATUS_BAD_INPUT_LEN, DEVX_WHY_SIZE,
				   "a meter of %zu bytes", c->inlen);
	if (select & 1)
		ifc_set(kept, flow_meter, active, ifc_get(body_of(c), flow_meter, active));
	devx_meter_mask(select, mask);
	for (unsigned int i = 0; i < sizeof(mask); i++)
		if (mask[i])
			kept[at + i] = body_of(c)[at + i];
	return 0;
}
