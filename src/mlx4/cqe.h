/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CQEs as the adapter writes them.
 */
#ifndef MLX4_CQE_H
#define MLX4_CQE_H

#include "hca/device/format.h"

void mlx4_cqe_write(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe);

#endif
