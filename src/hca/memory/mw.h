/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What requests do to memory windows. Called by the requester and the responder.
 */
#ifndef HCA_MW_H
#define HCA_MW_H

#include "hca/memory/mr.h"
#include "hca/device/work.h"

/* -EINVAL: no such window or not allowed; -EACCES: the region does not reach or permit that. */
int hca_mw_bind(const struct hca_bind *bind, struct hca_mr *mr, uint32_t pdn, uint32_t qpn);
int hca_mw_invalidate(uint32_t key, uint32_t pdn, uint32_t qpn);

#endif
