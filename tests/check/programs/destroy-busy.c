/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program deallocates a protection domain that still has a memory region, and ignores EBUSY.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct ibv_pd *pd = ibv_alloc_pd(r->context);
	struct ibv_mr *mr = ibv_reg_mr(pd, r->buffer, MESSAGE, 0);

#ifdef MENDED
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
#else
	ibv_dealloc_pd(pd);
	ibv_dereg_mr(mr);
#endif
}
