/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The address of the sender of a datagram. The first 40 bytes of the receive buffer have an InfiniBand
 * GRH or an IPv6 header (the same layout), or 20 undefined bytes and an IPv4 header. The undefined bytes
 * may look like IPv6.
 */
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>

#include "util/explain.h"
#include "verbs/av.h"

#define NEXT_HEADER_IB 0x1b

static uint16_t checksum(const void *header, size_t len)
{
	const uint8_t *p = header;
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* 4, 6, or 0 for neither. A sum over a header with its right checksum is 0. */
static int ip_version(const struct ibv_grh *grh, const struct iphdr *ip4)
{
	bool six = be32toh(grh->version_tclass_flow) >> 28 == 6;

	if (ip4->version == 4 && ip4->ihl == 5 && !checksum(ip4, sizeof(*ip4)))
		return 4;
	if (six)
		return 6;
	return ip4->version == 4 ? 4 : 0;
}

static int find_source(struct ibv_context *context, uint8_t port, const uint8_t gid[16],
		       enum hca_gid_type type, struct ibv_ah_attr *attr)
{
	const struct hca_adapter *a = to_context(context)->adapter;
	int index = hca_port_gid_find(a, port, (const struct hca_gid *)gid, type);

	if (index < 0)
		return explain(ENOENT,
			       "ibv_init_ah_from_wc: the destination address of the datagram is "
			       "not in the GID table of port %u of %s",
			       port, a->name);
	attr->grh.sgid_index = index;
	return 0;
}

static int from_ipv4(struct ibv_context *context, uint8_t port, const struct iphdr *ip,
		     struct ibv_ah_attr *attr)
{
	uint8_t gid[16] = { [10] = 0xff, [11] = 0xff };

	if (IN_MULTICAST(be32toh(ip->daddr)))
		return explain(EINVAL, "ibv_init_ah_from_wc: the datagram was sent to a multicast "
				       "group; it names no address of the port");
	memcpy(gid + 12, &ip->saddr, 4);
	memcpy(attr->grh.dgid.raw, gid, sizeof(gid));
	memcpy(gid + 12, &ip->daddr, 4);
	attr->grh.hop_limit = ip->ttl;
	attr->grh.traffic_class = ip->tos;
	return find_source(context, port, gid, HCA_GID_ROCE_V2, attr);
}

static int from_ipv6(struct ibv_context *context, uint8_t port, const struct ibv_grh *grh,
		     struct ibv_ah_attr *attr)
{
	const struct hca_adapter *a = to_context(context)->adapter;
	enum hca_gid_type type;

	if (grh->dgid.raw[0] == 0xff)
		return explain(EINVAL, "ibv_init_ah_from_wc: the datagram was sent to a multicast "
				       "group; it names no address of the port");
	if (grh->next_hdr == IPPROTO_UDP)
		type = HCA_GID_ROCE_V2;
	else if (grh->next_hdr == NEXT_HEADER_IB)
		type = a->ports[port - 1].link == HCA_LINK_ETHERNET ? HCA_GID_ROCE_V1 : HCA_GID_IB;
	else
		return explain(EPROTONOSUPPORT,
			       "ibv_init_ah_from_wc: next header 0x%x is neither "
			       "InfiniBand's nor UDP",
			       grh->next_hdr);
	attr->grh.dgid = grh->sgid;
	attr->grh.hop_limit = grh->hop_limit;
	attr->grh.traffic_class = be32toh(grh->version_tclass_flow) >> 20 & 0xff;
	return find_source(context, port, grh->dgid.raw, type, attr);
}

static int from_header(struct ibv_context *context, uint8_t port, const struct ibv_grh *header,
		       struct ibv_ah_attr *attr)
{
	struct ibv_grh grh;
	struct iphdr ip4;

	/* A copy: buffers are aligned as programs like, and the program may write to them. */
	memcpy(&grh, header, sizeof(grh));
	memcpy(&ip4, (const char *)&grh + sizeof(grh) - sizeof(ip4), sizeof(ip4));
	attr->is_global = 1;
	attr->grh.flow_label = be32toh(grh.version_tclass_flow) & IB_GRH_FLOWLABEL_MASK;
	switch (ip_version(&grh, &ip4)) {
	case 4:
		return from_ipv4(context, port, &ip4, attr);
	case 6:
		return from_ipv6(context, port, &grh, attr);
	default:
		return explain(EPROTONOSUPPORT,
			       "ibv_init_ah_from_wc: the 40 bytes hold no GRH, no IPv6 "
			       "header and no IPv4 header");
	}
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	const struct hca_adapter *a = to_context(context)->adapter;
	int err = 0;

	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	if (port_num < 1 || port_num > a->port_count)
		err = explain(EINVAL, "ibv_init_ah_from_wc: port %u; %s has ports 1 to %d",
			      port_num, a->name, a->port_count);
	else if (wc->wc_flags & IBV_WC_GRH)
		err = from_header(context, port_num, grh, attr);
	if (!err)
		return 0;
	errno = -err;
	return -1;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}
