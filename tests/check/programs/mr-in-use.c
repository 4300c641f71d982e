/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program deregisters memory that a posted receive will write to.
 */
#include "rig.h"

void run(struct rig *r)
{
	rig_connect(r, &rig_usual_path);
	post_receive(r, r->inbox);
#ifdef MENDED
	ibv_destroy_qp(r->b);
	r->b = NULL;
#endif
	ibv_dereg_mr(r->mr);
	r->mr = NULL;
}
