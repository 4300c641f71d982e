/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program leaves the timeout of its queue pairs at 0.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct rig_path path = rig_usual_path;

#ifdef MENDED
	path.timeout = 14;
#else
	path.timeout = 0;
#endif
	rig_connect(r, &path);
}
