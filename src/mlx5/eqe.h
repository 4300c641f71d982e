/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EQEs as the adapter writes them.
 */
#ifndef MLX5_EQE_H
#define MLX5_EQE_H

#include "hca/device/format.h"

/* The 64 bytes of an EQE. */
void mlx5_eqe_image(const struct hca_eqe *eqe, uint8_t owner, uint32_t out[16]);
void mlx5_eqe_write(struct hca_eq *eq, uint32_t pi, const struct hca_eqe *eqe);

#endif
