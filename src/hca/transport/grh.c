/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/grh.h"

#include <string.h>

enum {
	BTH_DETH = 20,
	ICRC = 4,
	UDP_HEADER = 8,
	PROTO_UDP = 17,
	NEXT_IBA = 0x1b,
};

static void put16(uint8_t *to, uint16_t v)
{
	to[0] = v >> 8;
	to[1] = v;
}

static void build_ipv4(const struct hca_av *av, const struct hca_gid_entry *src, uint16_t payload,
		       uint8_t *h)
{
	uint32_t sum = 0;

	memset(h, 0, 20);
	h[0] = 0x45;
	h[1] = av->traffic_class;
	put16(h + 2, 20 + UDP_HEADER + BTH_DETH + payload + ICRC);
	h[6] = 0x40; /* don't fragment */
	h[8] = av->hop_limit ? av->hop_limit : 64;
	h[9] = PROTO_UDP;
	memcpy(h + 12, src->gid.raw + 12, 4);
	memcpy(h + 16, av->dgid.raw + 12, 4);
	for (int i = 0; i < 20; i += 2)
		sum += h[i] << 8 | h[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(h + 10, ~(sum + (sum >> 16)));
}

static void build_ipv6(const struct hca_av *av, const struct hca_gid_entry *src, uint16_t payload,
		       bool udp, uint8_t *h)
{
	uint32_t flow = 6u << 28 | (uint32_t)av->traffic_class << 20 | (av->flow_label & 0xfffff);

	h[0] = flow >> 24;
	h[1] = flow >> 16;
	h[2] = flow >> 8;
	h[3] = flow;
	put16(h + 4, (udp ? UDP_HEADER : 0) + BTH_DETH + payload + ICRC);
	h[6] = udp ? PROTO_UDP : NEXT_IBA;
	h[7] = av->hop_limit ? av->hop_limit : 64;
	memcpy(h + 8, src->gid.raw, 16);
	memcpy(h + 24, av->dgid.raw, 16);
}

uint8_t hca_grh_build(const struct hca_av *av, const struct hca_gid_entry *src, uint32_t payload,
		      uint8_t grh[HCA_GRH_BYTES])
{
	uint16_t padded = (payload + 3) & ~3u;

	if (src->type == HCA_GID_ROCE_V2 && hca_gid_is_ipv4(&src->gid)) {
		memset(grh, 0, 20);
		build_ipv4(av, src, padded, grh + 20);
		return 2;
	}
	build_ipv6(av, src, padded, src->type == HCA_GID_ROCE_V2, grh);
	return src->type == HCA_GID_ROCE_V2 ? 1 : 0;
}
