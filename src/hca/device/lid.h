/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Local identifiers of InfiniBand ports: the host directory hands them out, one per adapter name
 * and port, the same to every process.
 */
#ifndef HCA_LID_H
#define HCA_LID_H

#include "hca/device/adapter.h"

#define HCA_MLID_FIRST 0xc000

/* The LID of a multicast group follows from its GID, since no subnet manager hands any out. */
static inline uint16_t hca_mlid_of(const uint8_t mgid[16])
{
	return HCA_MLID_FIRST + ((mgid[14] << 8 | mgid[15]) & 0x3ffe);
}

int hca_lid_get(const struct hca_adapter *a, unsigned int port, uint16_t *lid, uint16_t *sm_lid);

#endif
