/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program takes the first entry of the GID table, as on InfiniBand.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct rig_path path = rig_usual_path;

#ifdef MENDED
	path.gid_index = -1; /* the rig looks for an entry of RoCE v2 */
#else
	path.gid_index = 0;
#endif
	rig_connect(r, &path);
}
