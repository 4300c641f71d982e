/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Native InfiniBand socket addresses (AF_IB), as taken by the connection manager.
 * Public ABI; self-contained, no locks.
 */
#ifndef _RDMA_IB_H
#define _RDMA_IB_H

#include <endian.h>
#include <linux/types.h>
#include <string.h>

#ifndef AF_IB
#define AF_IB 27
#endif

#ifndef PF_IB
#define PF_IB AF_IB
#endif

/* A 128-bit GID in network byte order. */
struct ib_addr {
	union {
		__u8 uib_addr8[16];
		__be16 uib_addr16[8];
		__be32 uib_addr32[4];
		__be64 uib_addr64[2];
	} ib_u;
};

#define sib_raw           ib_u.uib_addr8
#define sib_addr8         ib_u.uib_addr8
#define sib_addr16        ib_u.uib_addr16
#define sib_addr32        ib_u.uib_addr32
#define sib_addr64        ib_u.uib_addr64
#define sib_subnet_prefix ib_u.uib_addr64[0]
#define sib_interface_id  ib_u.uib_addr64[1]

struct sockaddr_ib {
	unsigned short int sib_family; /* always AF_IB */
	__be16 sib_pkey;
	__be32 sib_flowinfo;
	struct ib_addr sib_addr;
	__be64 sib_sid;
	__be64 sib_sid_mask;
	__u64 sib_scope_id;
};

static inline void ib_addr_set(struct ib_addr *addr, __be32 w1, __be32 w2, __be32 w3, __be32 w4)
{
	__be32 *word = addr->sib_addr32;

	word[0] = w1;
	word[1] = w2;
	word[2] = w3;
	word[3] = w4;
}

/* Ordered like memcmp() over the 16 bytes. */
static inline int ib_addr_cmp(const struct ib_addr *a1, const struct ib_addr *a2)
{
	return memcmp(a1->sib_raw, a2->sib_raw, sizeof(a1->sib_raw));
}

static inline int ib_addr_any(const struct ib_addr *a)
{
	return a->sib_subnet_prefix == 0 && a->sib_interface_id == 0;
}

/* ::1, the same pattern as IPv6 loopback. */
static inline int ib_addr_loopback(const struct ib_addr *a)
{
	return a->sib_subnet_prefix == 0 && a->sib_interface_id == htobe64(1);
}

#endif /* _RDMA_IB_H */
