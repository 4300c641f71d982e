/* SPDX-License-Identifier: BSD-2-Clause */
/* WQEs of the memory-to-memory engine (MMO): the operation and its parameters. */
#ifndef MLX5_DECODE_MMO_H
#define MLX5_DECODE_MMO_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/device/work.h"

/*
 * From the opcode's modifier and the control segment's last word. False: there is no such operation, or
 * the model does not have it.
 */
bool mlx5_mmo_decode(const struct hca_model *model, uint32_t modifier, uint32_t control,
		     struct hca_mmo *out);

#endif
