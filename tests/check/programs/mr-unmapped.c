/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program unmaps memory that is still registered.
 */
#include <sys/mman.h>

#include "rig.h"

void run(struct rig *r)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(r->pd, page, 4096, IBV_ACCESS_LOCAL_WRITE);

	must(mr, "ibv_reg_mr");
#ifdef MENDED
	ibv_dereg_mr(mr);
	munmap(page, 4096);
#else
	munmap(page, 4096);
	ibv_dereg_mr(mr);
#endif
}
