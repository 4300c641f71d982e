/* SPDX-License-Identifier: BSD-2-Clause */
/* General objects with state that rules update (ether/aso.h), and meters. */
#ifndef MLX5_DEVX_ASO_H
#define MLX5_DEVX_ASO_H

#include <string.h>

#include "mlx5/devx_types.h"

#define DEVX_ASO_LOG_RANGE 12u /* contexts of one object, at most */
#define DEVX_ASO_LOG_COUNT 20u
#define DEVX_METER_BYTES   32u

int devx_aso_create(struct devx_cmd *c);
int devx_aso_query(struct devx_cmd *c);
int devx_aso_modify(struct devx_cmd *c);
int devx_aso_destroy(struct mlx5dv_devx_obj *obj);
void devx_aso_fini(struct devx *devx);

/* The bytes of a meter's parameters that modify_field_select names; bit 0 is the object's `active`. */
static inline void devx_meter_mask(uint64_t select, uint8_t mask[DEVX_METER_BYTES])
{
	static const uint8_t at[] = { 8, 10, 16, 18 }; /* burst and rate of either bucket */

	memset(mask, 0, DEVX_METER_BYTES);
	for (unsigned int i = 0; i < sizeof(at); i++)
		if (select >> (i + 1) & 1)
			mask[at[i]] = mask[at[i] + 1] = 0xff;
}

int devx_meter_create(struct devx_cmd *c);
int devx_meter_modify(struct devx_cmd *c);

#endif
