/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a peer is named: GIDs, the global route header, static rates, address handles.
 * Part of <infiniband/verbs.h>; programs include that one.
 */
#ifndef INFINIBAND_VERBS_ADDRESS_H
#define INFINIBAND_VERBS_ADDRESS_H

#include <stdint.h>
#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_context;
struct ibv_pd;

/* ---- GIDs ---- */

union ibv_gid {
	uint8_t raw[16];
	struct {
		__be64 subnet_prefix;
		__be64 interface_id;
	} global;
};

enum ibv_gid_type {
	IBV_GID_TYPE_IB = 0,
	IBV_GID_TYPE_ROCE_V1 = 1,
	IBV_GID_TYPE_ROCE_V2 = 2,
};

struct ibv_gid_entry {
	union ibv_gid gid;
	uint32_t gid_index;
	uint32_t port_num;
	uint32_t gid_type;     /* one of ibv_gid_type */
	uint32_t ndev_ifindex; /* 0: no network interface behind it */
};

/* ---- routes ---- */

struct ibv_global_route {
	union ibv_gid dgid;
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
};

/* What a UD receive buffer starts with when IBV_WC_GRH is set. */
struct ibv_grh {
	__be32 version_tclass_flow;
	__be16 paylen;
	uint8_t next_hdr;
	uint8_t hop_limit;
	union ibv_gid sgid;
	union ibv_gid dgid;
};

#define IB_GRH_FLOWLABEL_MASK (0x000FFFFF)

/* UDP source ports that RoCEv2 may use: the dynamic range. */
#define IB_ROCE_UDP_ENCAP_VALID_PORT_MIN (0xC000)
#define IB_ROCE_UDP_ENCAP_VALID_PORT_MAX (0xFFFF)

/* Folds the 20 bits of a flow label into the 14 that a RoCEv2 source port has to offer. */
static inline uint16_t ibv_flow_label_to_udp_sport(uint32_t fl)
{
	uint32_t hash = (fl ^ ((fl & IB_GRH_FLOWLABEL_MASK) >> 14)) & 0x3FFF;

	return (uint16_t)(IB_ROCE_UDP_ENCAP_VALID_PORT_MIN | hash);
}

/* ---- static rates: the encoding of the InfiniBand specification ---- */

enum ibv_rate {
	IBV_RATE_MAX = 0,
	IBV_RATE_2_5_GBPS = 2,
	IBV_RATE_10_GBPS = 3,
	IBV_RATE_30_GBPS = 4,
	IBV_RATE_5_GBPS = 5,
	IBV_RATE_20_GBPS = 6,
	IBV_RATE_40_GBPS = 7,
	IBV_RATE_60_GBPS = 8,
	IBV_RATE_80_GBPS = 9,
	IBV_RATE_120_GBPS = 10,
	IBV_RATE_14_GBPS = 11,
	IBV_RATE_56_GBPS = 12,
	IBV_RATE_112_GBPS = 13,
	IBV_RATE_168_GBPS = 14,
	IBV_RATE_25_GBPS = 15,
	IBV_RATE_100_GBPS = 16,
	IBV_RATE_200_GBPS = 17,
	IBV_RATE_300_GBPS = 18,
	IBV_RATE_28_GBPS = 19,
	IBV_RATE_50_GBPS = 20,
	IBV_RATE_400_GBPS = 21,
	IBV_RATE_600_GBPS = 22,
	IBV_RATE_800_GBPS = 23,
	IBV_RATE_1200_GBPS = 24,
};

/* A "mult" counts units of 2.5 Gbit/s. Unknown inputs give -1, or IBV_RATE_MAX. */
__attribute__((const)) int ibv_rate_to_mult(enum ibv_rate rate);
__attribute__((const)) enum ibv_rate mult_to_ibv_rate(int mult);
__attribute__((const)) int ibv_rate_to_mbps(enum ibv_rate rate);
__attribute__((const)) enum ibv_rate mbps_to_ibv_rate(int mbps);

/* ---- address handles ---- */

struct ibv_ah_attr {
	struct ibv_global_route grh;
	uint16_t dlid;
	uint8_t sl;
	uint8_t src_path_bits;
	uint8_t static_rate;
	uint8_t is_global;
	uint8_t port_num;
};

struct ibv_ah {
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint32_t handle;
};

#ifdef __cplusplus
}
#endif

#endif /* INFINIBAND_VERBS_ADDRESS_H */
