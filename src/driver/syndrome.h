/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Syndromes of error CQEs, which both formats number alike.
 */
#ifndef DRIVER_SYNDROME_H
#define DRIVER_SYNDROME_H

#include <infiniband/verbs.h>

#include "hca/device/work.h"

uint8_t drv_syndrome(enum hca_status status);
/* IBV_WC_GENERAL_ERR for an unknown syndrome. */
enum ibv_wc_status drv_syndrome_status(uint8_t syndrome);

#endif
