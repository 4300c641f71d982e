/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows: for drivers, and for the requester and responder, which bind and invalidate. */
#ifndef HCA_MW_H
#define HCA_MW_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/device/work.h"
#include "hca/memory/mw_types.h"

VB_API int hca_mw_create(struct hca_pd *pd, bool type2, struct hca_mw **out);
VB_API int hca_mw_destroy(struct hca_mw *mw);

/* ---- for requests; inside an epoch section ---- */

/* -EINVAL: no such window or not allowed; -EACCES: the region does not reach or permit that. */
int hca_mw_bind(const struct hca_bind *bind, struct hca_mr *mr, uint32_t pdn, uint32_t qpn);
/* The key must be that of a type 2 window, bound to the queue pair qpn. -EINVAL. */
int hca_mw_invalidate(uint32_t key, uint32_t pdn, uint32_t qpn);

#endif
