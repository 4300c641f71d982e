/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program sends before its peer has posted a receive, and does not retry for long.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct rig_path path = rig_usual_path;

	path.rnr_retry = 1;
	rig_connect(r, &path);
#ifdef MENDED
	post_receive(r, r->inbox);
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
	wait_for(r, 2);
#else
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
	wait_for(r, 1); /* IBV_WC_RNR_RETRY_EXC_ERR */
#endif
}
