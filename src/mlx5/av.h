/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address vectors (wqe_av): encoded when an address handle is made, decoded when a WQE is read. On
 * Ethernet the LID field has the UDP source port, every packet has a GRH though no bit says so, and
 * the priority has three bits.
 */
#ifndef MLX5_AV_H
#define MLX5_AV_H

#include <stdbool.h>

#include "hca/device/work.h"
#include "mlx5/wqe.h"

/* Q_Key and QP number stay 0. */
void mlx5_av_encode(const struct hca_av *from, bool ethernet, struct mlx5_wqe_av *to);
/* The port is set to 0: a packet leaves on its QP's port. */
void mlx5_av_decode(const struct mlx5_wqe_av *from, bool ethernet, struct hca_av *to);

#endif
