/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program takes the second entry of the P_Key table, where the port has only one.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

#ifdef MENDED
	attr.pkey_index = 0;
#else
	attr.pkey_index = 1;
#endif
	must(!ibv_modify_qp(r->a, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
}
