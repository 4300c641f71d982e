/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program creates a large CQ because the adapter at hand allows it.
 */
#include "rig.h"

void run(struct rig *r)
{
	int entries = 100000;
	struct ibv_cq *cq;
#ifdef MENDED
	struct ibv_device_attr attr;

	must(!ibv_query_device(r->context, &attr), "ibv_query_device");
	if (entries > attr.max_cqe)
		entries = attr.max_cqe;
#endif

	cq = ibv_create_cq(r->context, entries, NULL, NULL, 0);
	must(cq, "ibv_create_cq");
	ibv_destroy_cq(cq);
}
