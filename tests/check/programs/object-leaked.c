/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program ends, and three address handles are still there.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct ibv_ah_attr address = rig_address(r, -1);
	struct ibv_pd *pd = ibv_alloc_pd(r->context);
	struct ibv_ah *handles[3];

	for (int i = 0; i < 3; i++) {
		handles[i] = ibv_create_ah(pd, &address);
		must(handles[i], "ibv_create_ah");
	}
#ifdef MENDED
	for (int i = 0; i < 3; i++)
		ibv_destroy_ah(handles[i]);
	ibv_dealloc_pd(pd);
#endif
}
