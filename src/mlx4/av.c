/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address vectors, from the adapter's form to that of WQEs and back. Decoding reads ring memory,
 * which a program may change meanwhile: the result is routing data only, and is not trusted.
 */
#include "mlx4/av.h"

#include <endian.h>
#include <string.h>

#define GRH_PRESENT     0x80
#define PATH_BITS_MASK  0x7f
#define PORT_SHIFT      24
#define PORT_MASK       3
#define FLOW_LABEL_MASK 0xfffffu
#define TCLASS_SHIFT    20
#define SL_SHIFT_IB     28
#define SL_SHIFT_ETH    29

/* Static rates are the IBTA's numbers plus five; 0 is no limit. */
#define RATE_OFFSET 5

void mlx4_av_encode(const struct hca_av *from, uint32_t pdn, bool ethernet,
		    struct mlx4_wqe_datagram_seg *to)
{
	uint32_t port_pd = (pdn & MLX4_QPN_MASK) | (uint32_t)(from->port & PORT_MASK) << PORT_SHIFT;
	uint32_t sl_tclass = (uint32_t)from->sl << (ethernet ? SL_SHIFT_ETH : SL_SHIFT_IB);

	memset(to, 0, sizeof(*to));
	if (from->static_rate)
		to->av.stat_rate = from->static_rate + RATE_OFFSET;
	if (ethernet) {
		memcpy(to->mac, from->dmac, sizeof(to->mac));
	} else {
		to->av.g_slid = from->src_path_bits & PATH_BITS_MASK;
		to->av.dlid = htobe16(from->dlid);
	}
	if (from->has_grh) {
		to->av.g_slid |= GRH_PRESENT;
		to->av.gid_index = from->sgid_index;
		to->av.hop_limit = from->hop_limit;
		sl_tclass |= (uint32_t)from->traffic_class << TCLASS_SHIFT |
			     (from->flow_label & FLOW_LABEL_MASK);
		memcpy(to->av.dgid, from->dgid.raw, sizeof(to->av.dgid));
	}
	to->av.port_pd = htobe32(port_pd);
	to->av.sl_tclass_flowlabel = htobe32(sl_tclass);
}

unsigned int mlx4_av_port(const struct mlx4_wqe_datagram_seg *from)
{
	return be32toh(__atomic_load_n(&from->av.port_pd, __ATOMIC_RELAXED)) >> PORT_SHIFT &
	       PORT_MASK;
}

void mlx4_av_decode(const struct mlx4_wqe_datagram_seg *from, bool ethernet, struct hca_av *to)
{
	uint32_t sl_tclass =
		be32toh(__atomic_load_n(&from->av.sl_tclass_flowlabel, __ATOMIC_RELAXED));
	uint8_t g_slid = __atomic_load_n(&from->av.g_slid, __ATOMIC_RELAXED);
	uint8_t rate = __atomic_load_n(&from->av.stat_rate, __ATOMIC_RELAXED);

	to->has_grh = ethernet || g_slid & GRH_PRESENT;
	to->sgid_index = from->av.gid_index;
	to->hop_limit = from->av.hop_limit;
	to->traffic_class = (sl_tclass >> TCLASS_SHIFT) & 0xff;
	to->flow_label = sl_tclass & FLOW_LABEL_MASK;
	memcpy(to->dgid.raw, from->av.dgid, sizeof(to->dgid.raw));
	to->static_rate = rate > RATE_OFFSET ? rate - RATE_OFFSET : 0;
	to->sl = sl_tclass >> (ethernet ? SL_SHIFT_ETH : SL_SHIFT_IB);
	to->dlid = ethernet ? 0 : be16toh(from->av.dlid);
	to->src_path_bits = ethernet ? 0 : g_slid & PATH_BITS_MASK;
	to->port = mlx4_av_port(from);
	memcpy(to->dmac, from->mac, sizeof(to->dmac));
	to->udp_sport = 0; /* the adapter chooses */
}
