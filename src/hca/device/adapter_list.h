/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of this process's adapters: two by default, others by configuration (config.c). Built
 * at the first call, then constant for the life of the process.
 */
#ifndef HCA_ADAPTER_LIST_H
#define HCA_ADAPTER_LIST_H

#include "hca/device/adapter.h"

/*
 * 0, or -errno after a bad configuration, which has been reported with file and line. The array
 * stays valid for ever.
 */
VB_API int hca_adapters_get(const struct hca_adapter *const **list, int *count);

#endif
