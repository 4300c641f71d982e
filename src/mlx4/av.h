/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address vectors: encoded when an address handle is made, decoded when a WQE is read.
 *
 * On InfiniBand the target is a LID, and bit 7 of g_slid says that there is a GRH. On Ethernet the
 * target is the MAC address in the datagram segment, there is always a GRH, and the priority has
 * three bits.
 */
#ifndef MLX4_AV_H
#define MLX4_AV_H

#include <stdbool.h>

#include "hca/device/work.h"
#include "mlx4/wqe.h"

/* The whole segment; Q_Key and QP number stay 0. */
void mlx4_av_encode(const struct hca_av *from, uint32_t pdn, bool ethernet,
		    struct mlx4_wqe_datagram_seg *to);
/* The port that the vector names, from 1; not checked. */
unsigned int mlx4_av_port(const struct mlx4_wqe_datagram_seg *from);
void mlx4_av_decode(const struct mlx4_wqe_datagram_seg *from, bool ethernet, struct hca_av *to);

#endif
