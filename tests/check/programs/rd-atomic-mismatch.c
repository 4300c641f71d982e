/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end sends up to four RDMA reads at a time, and the other one answers one.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct rig_path path = rig_usual_path;

	path.max_rd_atomic = 4;
#ifdef MENDED
	path.max_dest_rd_atomic = 4;
#else
	path.max_dest_rd_atomic = 1;
#endif
	rig_connect(r, &path);
}
