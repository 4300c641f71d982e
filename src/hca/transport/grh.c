/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/grh.h"

#include <netinet/in.h>
#include <string.h>

#include "roce/header.h"
#include "roce/ip_header.h"

#define NEXT_HEADER_IBA 0x1b /* RoCEv1 */

uint8_t hca_grh_build(const struct hca_av *av, const struct hca_gid_entry *src, uint32_t payload,
		      uint8_t grh[HCA_GRH_BYTES])
{
	bool udp = src->type == HCA_GID_ROCE_V2;
	uint16_t packet =
		ROCE_BTH_BYTES + ROCE_DETH_BYTES + ((payload + 3) & ~3u) + ROCE_ICRC_BYTES;
	const struct roce_ip ip = {
		.src = src->gid.raw,
		.dst = av->dgid.raw,
		.flow_label = av->flow_label,
		.tclass = av->traffic_class,
		.ttl = av->hop_limit ? av->hop_limit : 64,
		.proto = udp ? IPPROTO_UDP : NEXT_HEADER_IBA,
	};

	if (udp && hca_gid_is_ipv4(&src->gid)) {
		memset(grh, 0, 20);
		roce_put_ipv4(grh + 20, &ip, ROCE_IPV4_BYTES + ROCE_UDP_BYTES + packet);
		return 2;
	}
	roce_put_ipv6(grh, &ip, (udp ? ROCE_UDP_BYTES : 0) + packet);
	return udp ? 1 : 0;
}
