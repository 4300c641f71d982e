/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of commands.
 */
#ifndef MLX5_DEVX_TABLE_H
#define MLX5_DEVX_TABLE_H

#include "mlx5/devx_types.h"

/* The command's row for this call; else its row for another call; NULL: there is no such command. */
const struct devx_row *devx_row_find(uint16_t op, enum devx_verb verb);

#endif
