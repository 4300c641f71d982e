/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address vectors: what an address handle keeps ready for requests, and the way back.
 *
 * A vector of InfiniBand names its target by LID, and has a global header when bit 7 of g_slid says
 * so. On Ethernet the target is in the datagram segment's MAC address, there is always a global
 * header, and the priority takes three bits.
 */
#ifndef MLX4_AV_H
#define MLX4_AV_H

#include <stdbool.h>

#include "hca/device/work.h"
#include "mlx4/wqe.h"

/* The whole segment; Q_Key and QP number stay 0. */
void mlx4_av_encode(const struct hca_av *from, uint32_t pdn, bool ethernet,
		    struct mlx4_wqe_datagram_seg *to);
/* Which port the vector names, from 1; it is checked by nobody. */
unsigned int mlx4_av_port(const struct mlx4_wqe_datagram_seg *from);
void mlx4_av_decode(const struct mlx4_wqe_datagram_seg *from, bool ethernet, struct hca_av *to);

#endif
