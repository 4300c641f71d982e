/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program gives its queue pairs a timeout of 66 us, as long as a round trip takes when nothing else goes on.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct rig_path path = rig_usual_path;

#ifdef MENDED
	path.timeout = 14;
#else
	path.timeout = 4;
#endif
	rig_connect(r, &path);
}
