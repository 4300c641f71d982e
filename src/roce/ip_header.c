/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/ip_header.h"

#include <string.h>

uint32_t roce_checksum_add(uint32_t sum, const uint8_t *data, size_t len)
{
	for (; len > 1; data += 2, len -= 2)
		sum += data[0] << 8 | data[1];
	return len ? sum + (data[0] << 8) : sum;
}

uint16_t roce_checksum_finish(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

void roce_put_ipv4(uint8_t out[ROCE_IPV4_BYTES], const struct roce_ip *ip, uint16_t total_len)
{
	out[0] = 4 << 4 | ROCE_IPV4_BYTES / 4;
	out[1] = ip->tclass;
	roce_put16(out + 2, total_len);
	roce_put16(out + 4, ip->id);
	roce_put16(out + 6, 0x4000); /* don't fragment */
	out[8] = ip->ttl;
	out[9] = ip->proto;
	roce_put16(out + 10, 0);
	memcpy(out + 12, ip->src + 12, 4);
	memcpy(out + 16, ip->dst + 12, 4);
	roce_put16(out + 10, roce_checksum_finish(roce_checksum_add(0, out, ROCE_IPV4_BYTES)));
}

void roce_put_ipv6(uint8_t out[ROCE_IPV6_BYTES], const struct roce_ip *ip, uint16_t payload_len)
{
	out[0] = 6 << 4 | ip->tclass >> 4;
	out[1] = ip->tclass << 4 | (ip->flow_label >> 16 & 0xf);
	roce_put16(out + 2, ip->flow_label);
	roce_put16(out + 4, payload_len);
	out[6] = ip->proto;
	out[7] = ip->ttl;
	memcpy(out + 8, ip->src, 16);
	memcpy(out + 24, ip->dst, 16);
}
