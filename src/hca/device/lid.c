/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/device/lid.h"

#include <stdatomic.h>
#include <stdio.h>

#include "fabric/numbers.h"
#include "hca/hca.h"

int hca_lid_get(const struct hca_adapter *a, unsigned int port, uint16_t *lid, uint16_t *sm_lid)
{
	/* Senders of datagrams call for every datagram: the directory is asked once. */
	_Atomic uint16_t *known = &hca.device.lid.known[a->index][port - 1];
	char key[FABRIC_LID_KEY_MAX + 1];
	int err;

	*sm_lid = 1; /* the host directory hands LIDs out */
	*lid = atomic_load_explicit(known, memory_order_relaxed);
	if (*lid)
		return 0;
	err = hca.ops->join();
	if (err)
		return err;
	snprintf(key, sizeof(key), "%.50s/%u", a->name, port);
	err = fabric_lid_get(key, lid);
	if (!err)
		atomic_store_explicit(known, *lid, memory_order_relaxed);
	return err;
}
