/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CQEs as the adapter writes them.
 */
#ifndef MLX5_CQE_H
#define MLX5_CQE_H

#include "hca/device/format.h"

/* Byte offsets of the RSS hash of a received frame, which struct mlx5_cqe64 does not name. */
#define MLX5_CQE_RSS_HASH 12
/* Byte of an error CQE with the MMO engine's own syndrome. */
#define MLX5_CQE_MMO_SYNDROME 52
#define MLX5_CQE_RSS_TYPE 16

void mlx5_cqe_write(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe);

#endif
