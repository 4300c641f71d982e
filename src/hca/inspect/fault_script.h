/* SPDX-License-Identifier: BSD-2-Clause */
/* Fault scripts (roce/fault.h): rules, or the absolute path of a file with rules. */
#ifndef HCA_FAULT_SCRIPT_H
#define HCA_FAULT_SCRIPT_H

#include <stdint.h>

#include "roce/fault.h"
#include "util/api.h"

/* Whether VERBENA_FAULT may have this value: 0 or -errno, explained. */
VB_API int hca_faults_check(const char *script);

/* Replaces the rules. On -errno, which is explained, the old ones stay. */
int fault_script_load(struct roce_fault *fault, const char *script, uint64_t seed);

#endif
