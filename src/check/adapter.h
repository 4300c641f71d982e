/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checker's functions that the adapter calls (hca/device/checker.h).
 */
#ifndef CHECK_ADAPTER_H
#define CHECK_ADAPTER_H

void check_adapter_open(void);

#endif
