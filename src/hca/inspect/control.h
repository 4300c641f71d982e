/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures and faults of running processes. Orders lie in a file in the fabric's folder; processes
 * that use the wire watch it.
 */
#ifndef HCA_CONTROL_H
#define HCA_CONTROL_H

#include "util/api.h"

/* Whether VERBENA_FAULT may be set to this; -errno with a sentence. */
VB_API int hca_faults_check(const char *spec);

/*
 * For the command: from now on, and for processes to come, until it is set anew. Keys are those of
 * inspect_set(); "" takes an order back. -errno with a sentence.
 */
VB_API int hca_control_order(const char *key, const char *value);

/* This process obeys; called when it begins to use the wire. */
void control_begin(void);
void control_forked(void);

#endif
