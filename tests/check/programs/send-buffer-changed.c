/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program puts the next message into a buffer that the adapter is still sending.
 */
#include "rig.h"

void run(struct rig *r)
{
	rig_connect(r, &rig_usual_path);
	post_receive(r, r->inbox);
	strcpy(r->buffer, "first");
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
#ifdef MENDED
	wait_for(r, 2);
	strcpy(r->buffer, "second");
#else
	strcpy(r->buffer, "second");
	wait_for(r, 2);
#endif
}
