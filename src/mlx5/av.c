/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address vectors, from the adapter's form to that of WQEs and back. Decoding reads ring memory,
 * which a program may change meanwhile: the result is routing data only, and is not trusted.
 */
#include "mlx5/av.h"

#include <endian.h>
#include <string.h>

#include "util/api.h"

#define GRH_PRESENT     (1u << 30)
#define FLOW_LABEL_MASK 0xfffffu

/* RoCEv2 UDP source ports: the upper range, with bits of the flow label. */
#define UDP_SPORT_FIRST 0xc000

/* The static rates of the specification, as the adapter numbers them; 0 is no limit. */
static const uint8_t rate_codes[] = {
	[2] = 7,   [3] = 8,   [4] = 9,   [5] = 10,  [6] = 11, [7] = 12,  [8] = 13, [9] = 14,
	[10] = 15, [11] = 11, [12] = 13, [13] = 15, [15] = 9, [16] = 15, [19] = 9, [20] = 13,
};

static uint8_t encode_rate(uint8_t rate)
{
	return rate < array_size(rate_codes) ? rate_codes[rate] : 0;
}

static uint8_t decode_rate(uint8_t code)
{
	for (uint8_t rate = 2; code && rate < array_size(rate_codes); rate++)
		if (rate_codes[rate] == code)
			return rate;
	return 0;
}

static uint16_t source_port(uint32_t flow_label)
{
	uint32_t low = flow_label & 0x3fff, high = (flow_label & 0xfc000) >> 14;

	return UDP_SPORT_FIRST | (low ^ high);
}

void mlx5_av_encode(const struct hca_av *from, bool ethernet, struct mlx5_wqe_av *to)
{
	uint32_t grh;

	memset(to, 0, sizeof(*to));
	to->stat_rate_sl = encode_rate(from->static_rate) << 4 |
			   (ethernet ? (from->sl & 7) << 1 : from->sl & 0xf);
	if (ethernet) {
		to->rlid = htobe16(source_port(from->flow_label));
		memcpy(to->rmac, from->dmac, sizeof(to->rmac));
	} else {
		to->rlid = htobe16(from->dlid);
		to->fl_mlid = from->src_path_bits & 0x7f;
	}
	if (!from->has_grh)
		return;
	grh = (uint32_t)from->sgid_index << 20 | (from->flow_label & FLOW_LABEL_MASK);
	to->grh_gid_fl = htobe32(ethernet ? grh : grh | GRH_PRESENT);
	to->tclass = from->traffic_class;
	to->hop_limit = from->hop_limit;
	memcpy(to->rgid, from->dgid.raw, sizeof(to->rgid));
}

void mlx5_av_decode(const struct mlx5_wqe_av *from, bool ethernet, struct hca_av *to)
{
	uint32_t grh = be32toh(__atomic_load_n(&from->grh_gid_fl, __ATOMIC_RELAXED));
	uint8_t rate_sl = from->stat_rate_sl;

	to->has_grh = ethernet || grh & GRH_PRESENT;
	to->sgid_index = grh >> 20;
	to->flow_label = grh & FLOW_LABEL_MASK;
	to->hop_limit = from->hop_limit;
	to->traffic_class = from->tclass;
	memcpy(to->dgid.raw, from->rgid, sizeof(to->dgid.raw));
	to->static_rate = decode_rate(rate_sl >> 4);
	to->sl = ethernet ? (rate_sl >> 1) & 7 : rate_sl & 0xf;
	to->dlid = ethernet ? 0 : be16toh(from->rlid);
	to->src_path_bits = ethernet ? 0 : from->fl_mlid & 0x7f;
	to->port = 0;
	memcpy(to->dmac, from->rmac, sizeof(to->dmac));
	to->udp_sport = 0; /* the adapter chooses */
}
