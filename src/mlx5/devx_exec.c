/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Execution of a command. Mailboxes are copied and checked for length before the command's function runs. The
 * copy is wiped at the end, since it may hold a key.
 */
#include "mlx5/devx_exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5/devx_cmd.h"
#include "mlx5/devx_table.h"
#include "util/explain.h"

static uint32_t object_number(const struct devx_row *row, const uint8_t *in)
{
	if (row->id_width)
		return ifc_load(in, row->id_bit, row->id_width);
	return ifc_get(in, obj_in, number);
}

/* ARM_RQ is for SRQs and RMPs. */
static bool matches_kind(const struct devx_row *row, const struct mlx5dv_devx_obj *obj)
{
	return obj->kind == row->kind || (row->op == IFC_OP_ARM_RQ && obj->kind == DEVX_SRQ);
}

/* A command that is sent for an object must name that object. */
static int check_number(const struct devx_cmd *c, const struct mlx5dv_devx_obj *obj)
{
	uint32_t id = object_number(c->row, c->in), span = obj->count ? obj->count : 1;

	if (!matches_kind(c->row, obj))
		return explain(EINVAL, "%s is for another kind of object", ifc_op_name(c->row->op));
	if (id - obj->number >= span)
		return explain(EINVAL, "%s names object 0x%x, but is sent for 0x%x",
			       ifc_op_name(c->row->op), id, obj->number);
	if (obj->kind == DEVX_GENERAL &&
	    ifc_get(c->in, general_obj_in_cmd_hdr, obj_type) != obj->type)
		return explain(EINVAL, "%s names an object of type 0x%x; it is of type 0x%x",
			       ifc_op_name(c->row->op),
			       (unsigned int)ifc_get(c->in, general_obj_in_cmd_hdr, obj_type),
			       obj->type);
	return 0;
}

static int check_lengths(const struct devx_row *row, size_t inlen, size_t outlen)
{
	if (inlen < row->in_min)
		return explain(EINVAL, "%s: an input mailbox of %zu bytes; expected 0x%x or more",
			       ifc_op_name(row->op), inlen, row->in_min);
	if (outlen < row->out_min)
		return explain(EINVAL, "%s: an output mailbox of %zu bytes; expected 0x%x or more",
			       ifc_op_name(row->op), outlen, row->out_min);
	return 0;
}

static const char *const calls[] = {
	[DEVX_GENERAL_CMD] = "mlx5dv_devx_general_cmd", [DEVX_CREATE] = "mlx5dv_devx_obj_create",
	[DEVX_QUERY] = "mlx5dv_devx_obj_query",         [DEVX_MODIFY] = "mlx5dv_devx_obj_modify",
	[DEVX_DESTROY] = "mlx5dv_devx_obj_destroy",     [DEVX_CREATE_EQ] = "mlx5dv_devx_create_eq",
};

/* The device refuses an unknown command; a known one has to come by its own call. */
static int find_row(struct devx_cmd *c, enum devx_verb verb)
{
	c->row = devx_row_find(devx_op(c), verb);
	if (!c->row)
		return devx_refuse(c, IFC_STATUS_BAD_OP, DEVX_WHY_OPCODE,
				   "the device has no such command");
	if (c->row->verb != verb)
		return explain(EINVAL, "%s is sent by %s(), not %s()", ifc_op_name(c->row->op),
			       calls[c->row->verb], calls[verb]);
	return check_lengths(c->row, c->inlen, c->outlen);
}

static int run(struct devx_cmd *c, enum devx_verb verb, struct mlx5dv_devx_obj *obj)
{
	int err = find_row(c, verb);

	if (err)
		return err;
	c->obj = obj;
	if (verb != DEVX_CREATE && verb != DEVX_CREATE_EQ) {
		err = obj ? check_number(c, obj) : 0;
		return err ? err : c->row->run(c);
	}
	obj->kind = c->row->kind;
	return c->row->run(c);
}

int devx_exec_locked(struct devx *devx, enum devx_verb verb, struct mlx5dv_devx_obj *obj,
		     const void *in, size_t inlen, void *out, size_t outlen)
{
	struct devx_cmd c = { .devx = devx, .inlen = inlen, .outlen = outlen };
	size_t room = outlen > DEVX_OUT_MAX ? outlen : DEVX_OUT_MAX;
	uint8_t *box;
	int err;

	if (!in || inlen < ifc_len(cmd_in) || !out || outlen < ifc_len(cmd_out))
		return explain(EINVAL, "mailboxes of %zu and %zu bytes; a command has at least %zu",
			       inlen, outlen, ifc_len(cmd_in));
	box = calloc(1, inlen + DEVX_IN_PAD + room);
	if (!box)
		return -ENOMEM;
	memcpy(box, in, inlen);
	c.in = box;
	c.out = box + inlen + DEVX_IN_PAD;
	c.adapter = devx->ctx->vb->adapter;
	err = run(&c, verb, obj);
	if (!err)
		memcpy(out, c.out, outlen);
	else if (err == -EREMOTEIO)
		ifc_answer(out, outlen, c.status, c.syndrome);
	explicit_bzero(box, inlen);
	free(box);
	return err;
}

int devx_exec(struct devx *devx, enum devx_verb verb, struct mlx5dv_devx_obj *obj, const void *in,
	      size_t inlen, void *out, size_t outlen)
{
	int err;

	pthread_mutex_lock(&devx->lock);
	err = devx_exec_locked(devx, verb, obj, in, inlen, out, outlen);
	pthread_mutex_unlock(&devx->lock);
	return err;
}
