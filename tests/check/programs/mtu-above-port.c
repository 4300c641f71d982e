/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program takes a path MTU of 4096 bytes, whatever the port has: here 1024, on an interface with 1500 bytes.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct rig_path path = rig_usual_path;
	struct ibv_port_attr port;

	must(!ibv_query_port(r->context, 1, &port), "ibv_query_port");
#ifdef MENDED
	path.mtu = port.active_mtu;
#else
	path.mtu = IBV_MTU_4096;
#endif
	rig_connect(r, &path);
}
