/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of memory that a key has been resolved to. Valid inside one epoch section. */
#ifndef HCA_SEG_H
#define HCA_SEG_H

#include <stdint.h>

#include "hca/device/work.h"
#include "hca/peers/segment.h"

enum hca_seg_kind {
	HCA_SEG_PLAIN,
	HCA_SEG_NULL,     /* reads as zeros, discards writes */
	HCA_SEG_CAREFUL,  /* pages may be missing: copied by the kernel */
	HCA_SEG_REMOTE,   /* an address in process `pid`, while *word is `value` (vm_copy.h) */
	HCA_SEG_SERVED,   /* address `base` on of a key of the peer at ptr (copy_client.h) */
	HCA_SEG_INDIRECT, /* from `base` on in the indirect key at ptr (mkey.h) */
	HCA_SEG_TRANSFORM, /* the same of a key with transforms: `base` is on the wire (transform.h) */
};

struct hca_seg {
	char *ptr;
	uint64_t len;
	uint32_t kind;
	union {
		int pid;
		uint32_t pdn;
	};
	union {
		uint64_t base;
		const _Atomic uint32_t *word; /* NULL: always */
	};
	union {
		uint32_t key;
		uint32_t value;
	};
};

struct hca_list {
	int count;
	uint64_t total;
	struct hca_seg seg[HCA_MAX_SGE];
};

static inline uint32_t hca_seg_kind(const struct hca_mr_entry *e)
{
	uint32_t flags = hca_entry_flags(e);

	if (likely(!(flags & (HCA_MR_NULL | HCA_MR_CAREFUL))))
		return HCA_SEG_PLAIN;
	return flags & HCA_MR_NULL ? HCA_SEG_NULL : HCA_SEG_CAREFUL;
}

/* [addr, addr + len) of an entry of this process that is no indirect key. */
static inline void hca_seg_local(const struct hca_mr_entry *e, uint64_t addr, uint64_t len,
				 struct hca_seg *out)
{
	out->ptr = (char *)(uintptr_t)(e->va + (addr - e->iova));
	out->len = len;
	out->kind = hca_seg_kind(e);
	out->pid = 0;
}

#endif
