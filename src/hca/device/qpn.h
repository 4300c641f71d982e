/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_QPN_H
#define HCA_QPN_H

#include <stdint.h>

#include "util/api.h"

/* A number of the host that no other queue has. 0 or -errno, explained. */
VB_API int hca_qpn_reserve(uint32_t *qpn);
/* The number waits behind all others before it is used again, so that late packets find no QP. */
VB_API void hca_qpn_release(uint32_t qpn);

#endif
