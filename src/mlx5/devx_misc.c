/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_misc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"

#define NUMBERS (1u << 20)

/* Types of general objects that the device has (general_obj_types). */
#define GENERAL_TYPES (1ull << IFC_OBJ_GENEVE_TLV_OPT | 1ull << IFC_OBJ_MATCH_DEFINER)

uint64_t devx_general_types(void)
{
	return GENERAL_TYPES;
}

/* The whole input is kept, for queries. */
int devx_alloc_number(struct devx_cmd *c)
{
	int err = devx_keep(c, c->in, c->inlen);

	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1), DEVX_WHY_OBJECT);
	if (!err)
		ifc_set(c->out, obj_out, number, c->obj->number);
	return err;
}

/* ---- general objects ---- */

int devx_create_general(struct devx_cmd *c)
{
	unsigned int type = ifc_get(c->in, general_obj_in_cmd_hdr, obj_type);
	unsigned int range = ifc_get(c->in, general_obj_in_cmd_hdr, log_obj_range);
	int err;

	if (type >= 64 || !(GENERAL_TYPES & 1ull << type))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "objects of type 0x%x; general_obj_types has 0x%llx", type,
				   (unsigned long long)GENERAL_TYPES);
	if (range > 12)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "log_obj_range %u; at most 12", range);
	c->obj->type = type;
	err = devx_keep(c, c->in, c->inlen);
	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1u << range),
					DEVX_WHY_OBJECT);
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
	copy_body(c->out, c->outlen, c->obj->image, c->obj->image_len);
	ifc_set(c->out, general_obj_out_cmd_hdr, obj_id,
		ifc_get(c->in, general_obj_in_cmd_hdr, obj_id));
	return 0;
}

int devx_modify_general(struct devx_cmd *c)
{
	copy_body(c->obj->image, c->obj->image_len, c->in, c->inlen);
	return 0;
}
