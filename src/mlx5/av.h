/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address vectors: what an address handle keeps ready for requests, and the way back.
 *
 * On Ethernet the local identifier's place holds the UDP source port, every packet has a global
 * header and says so nowhere, and the priority takes three bits.
 */
#ifndef MLX5_AV_H
#define MLX5_AV_H

#include <stdbool.h>

#include "hca/device/work.h"
#include "mlx5/wqe.h"

/* Q_Key and QP number stay 0. */
void mlx5_av_encode(const struct hca_av *from, bool ethernet, struct mlx5_wqe_av *to);
/* The port comes back as 0: an entry goes out on its QP's port. */
void mlx5_av_decode(const struct mlx5_wqe_av *from, bool ethernet, struct hca_av *to);

#endif
