/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_misc.h"

#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"

#define NUMBERS (1u << 20)

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
