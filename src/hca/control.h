/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbena command needs to know of captures and faults. */
#ifndef HCA_CONTROL_H
#define HCA_CONTROL_H

#include "util/api.h"

/* Whether VERBENA_FAULT may be set to this; -errno with a sentence. */
VB_API int hca_faults_check(const char *spec);

#endif
