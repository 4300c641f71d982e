/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_cmd.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/explain.h"

#define SYNDROME 0x560000u

int(devx_refuse)(struct devx_cmd *c, uint8_t status, enum devx_why why, const char *fmt, ...)
{
	uint16_t op = devx_op(c);
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	c->status = status;
	c->syndrome = SYNDROME | why;
	return explain(EREMOTEIO, "%s (0x%x): %s", ifc_op_name(op), op, text);
}

int devx_refuse_errno(struct devx_cmd *c, int err, enum devx_why why)
{
	switch (-err) {
	case 0:
		return 0;
	case ENOMEM:
	case ENOSPC:
		c->status = IFC_STATUS_NO_RES;
		break;
	case EBUSY:
		c->status = IFC_STATUS_RES_BUSY;
		break;
	default:
		c->status = IFC_STATUS_BAD_PARAM;
		break;
	}
	c->syndrome = SYNDROME | why;
	return -EREMOTEIO;
}
