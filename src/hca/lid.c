/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/lid.h"

int hca_lid_get(const struct hca_adapter *a, unsigned int port, uint16_t *lid, uint16_t *sm_lid)
{
	*lid = 1 + a->index * HCA_PORTS_MAX + port - 1;
	*sm_lid = *lid;
	return 0;
}
