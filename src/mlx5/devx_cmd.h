/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command in progress: its opcode, and its refusal.
 */
#ifndef MLX5_DEVX_CMD_H
#define MLX5_DEVX_CMD_H

#include <errno.h>

#include "mlx5/devx_types.h"
#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"
#include "util/explain.h"

static inline uint16_t devx_op(const struct devx_cmd *c)
{
	return ifc_get(c->in, cmd_in, opcode);
}

static inline uint16_t devx_op_mod(const struct devx_cmd *c)
{
	return ifc_get(c->in, cmd_in, op_mod);
}

/* Why a command was refused; the low half of the syndrome. */
enum devx_why {
	DEVX_WHY_OPCODE = 1,
	DEVX_WHY_OP_MOD,
	DEVX_WHY_UMEM,
	DEVX_WHY_UMEM_RANGE,
	DEVX_WHY_NO_UMEM,
	DEVX_WHY_ALIGNMENT,
	DEVX_WHY_SIZE,
	DEVX_WHY_TYPE,
	DEVX_WHY_PD,
	DEVX_WHY_TD,
	DEVX_WHY_CQ,
	DEVX_WHY_EQ,
	DEVX_WHY_SRQ,
	DEVX_WHY_QP,
	DEVX_WHY_UAR,
	DEVX_WHY_OBJECT,
	DEVX_WHY_STATE,
	DEVX_WHY_FIELD,
	DEVX_WHY_PORT,
	DEVX_WHY_INDEX,
	DEVX_WHY_BUSY,
	DEVX_WHY_MEMORY,
	DEVX_WHY_OFFERED, /* a feature that is not offered */
};

/* Records status, syndrome and sentence; returns -EREMOTEIO. */
int devx_refuse(struct devx_cmd *c, uint8_t status, enum devx_why why, const char *fmt, ...)
	__attribute__((format(printf, 4, 5), cold));
/* devx_refuse() with a result that analyzers see. */
#define devx_refuse(...) ((devx_refuse)(__VA_ARGS__), -EREMOTEIO)
/* A refusal for the result of an adapter call, which has explained it. 0 stays 0. */
int devx_refuse_errno(struct devx_cmd *c, int err, enum devx_why why);

#endif
