/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program clears a buffer that it has posted for a message already.
 */
#include "rig.h"

void run(struct rig *r)
{
	rig_connect(r, &rig_usual_path);
	strcpy(r->inbox, "an old message");
#ifdef MENDED
	memset(r->inbox, 0, MESSAGE);
	post_receive(r, r->inbox);
#else
	post_receive(r, r->inbox);
	memset(r->inbox, 0, MESSAGE);
#endif
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
	wait_for(r, 2);
}
