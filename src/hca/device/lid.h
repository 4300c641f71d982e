/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Local identifiers of InfiniBand ports: the host directory hands them out, one per adapter name
 * and port, the same to every process.
 */
#ifndef HCA_LID_H
#define HCA_LID_H

#include "hca/device/adapter.h"

int hca_lid_get(const struct hca_adapter *a, unsigned int port, uint16_t *lid, uint16_t *sm_lid);

#endif
