/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each call takes certain commands (enum devx_verb). Mailboxes are copied and checked for length
 * before the command's function runs.
 */
#include "mlx5/devx.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5/devx_cmd.h"
#include "mlx5/devx_destroy.h"
#include "mlx5/devx_table.h"
#include "mlx5/dv.h"
#include "util/explain.h"

/* ---- execution ---- */

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

int devx_exec(struct devx *devx, enum devx_verb verb, struct mlx5dv_devx_obj *obj, const void *in,
	      size_t inlen, void *out, size_t outlen)
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
	pthread_mutex_lock(&devx->lock);
	err = run(&c, verb, obj);
	pthread_mutex_unlock(&devx->lock);
	if (!err)
		memcpy(out, c.out, outlen);
	else if (err == -EREMOTEIO)
		ifc_answer(out, outlen, c.status, c.syndrome);
	free(box);
	return err;
}

/* ---- the public calls ---- */

int mlx5dv_devx_general_cmd(struct ibv_context *context, const void *in, size_t inlen, void *out,
			    size_t outlen)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);

	if (!ctx)
		return errno;
	return -devx_exec(ctx->devx, DEVX_GENERAL_CMD, NULL, in, inlen, out, outlen);
}

struct mlx5dv_devx_obj *devx_create(struct devx *devx, enum devx_verb verb, const void *in,
				    size_t inlen, void *out, size_t outlen)
{
	struct mlx5dv_devx_obj *obj = calloc(1, sizeof(*obj));
	int err;

	if (!obj) {
		errno = ENOMEM;
		return NULL;
	}
	obj->devx = devx;
	err = devx_exec(devx, verb, obj, in, inlen, out, outlen);
	pthread_mutex_lock(&devx->lock);
	if (err) {
		devx_obj_abort(obj);
	} else {
		obj->handle = ++devx->handles;
		LIST_INSERT_HEAD(&devx->objs, obj, link);
	}
	pthread_mutex_unlock(&devx->lock);
	if (!err)
		return obj;
	errno = -err;
	return NULL;
}

struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *context, const void *in,
					       size_t inlen, void *out, size_t outlen)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);

	return ctx ? devx_create(ctx->devx, DEVX_CREATE, in, inlen, out, outlen) : NULL;
}

int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			  size_t outlen)
{
	return -devx_exec(obj->devx, DEVX_QUERY, obj, in, inlen, out, outlen);
}

int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			   size_t outlen)
{
	return -devx_exec(obj->devx, DEVX_MODIFY, obj, in, inlen, out, outlen);
}

int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	struct devx *devx = obj->devx;
	int err;

	pthread_mutex_lock(&devx->lock);
	err = devx_obj_destroy(obj);
	pthread_mutex_unlock(&devx->lock);
	return -err;
}

struct mlx5dv_devx_eq *mlx5dv_devx_create_eq(struct ibv_context *context, const void *in,
					     size_t inlen, void *out, size_t outlen)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct mlx5dv_devx_obj *obj;

	if (!ctx)
		return NULL;
	if (!in || inlen < ifc_len(create_eq_in) || ifc_get(in, cmd_in, opcode) != IFC_OP_CREATE_EQ)
		return explain_null(EINVAL, "mlx5dv_devx_create_eq: the input is no CREATE_EQ");
	if (!ifc_get(ifc_cptr(in, create_eq_in, eq_context_entry), eqc, intr))
		return explain_null(EINVAL,
				    "mlx5dv_devx_create_eq: eqc.intr is 0, the adapter's own "
				    "vector; mlx5dv_devx_alloc_msi_vector() gives others");
	obj = devx_create(ctx->devx, DEVX_CREATE_EQ, in, inlen, out, outlen);
	return obj ? &obj->user_eq->pub : NULL;
}

int mlx5dv_devx_destroy_eq(struct mlx5dv_devx_eq *pub)
{
	struct devx_user_eq *eq = container_of(pub, struct devx_user_eq, pub);

	if (!pub)
		return -explain(EINVAL, "mlx5dv_devx_destroy_eq: there is no event queue");
	return mlx5dv_devx_obj_destroy(eq->obj);
}
