/* SPDX-License-Identifier: BSD-2-Clause */
/* The headers that tag-matching messages start with. */
#ifndef _TM_TYPES_H
#define _TM_TYPES_H

#include <stdint.h>
#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ibv_tmh_op {
	IBV_TMH_NO_TAG = 0,
	IBV_TMH_RNDV = 1,
	IBV_TMH_FIN = 2,
	IBV_TMH_EAGER = 3,
};

struct ibv_tmh {
	uint8_t opcode;      /* one of ibv_tmh_op */
	uint8_t reserved[3]; /* zero */
	__be32 app_ctx;      /* the program's own */
	__be64 tag;
};

/* Follows an IBV_TMH_RNDV header: where the receiver may read the data from */
struct ibv_rvh {
	__be64 va;
	__be32 rkey;
	__be32 len;
};

#ifdef __cplusplus
}
#endif

#endif /* _TM_TYPES_H */
