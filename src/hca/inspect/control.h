/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture and faults of running processes: `verbena wire capture` and `verbena wire fault` write a
 * file of settings in the fabric's folder, which processes that use the wire watch.
 */
#ifndef HCA_CONTROL_H
#define HCA_CONTROL_H

#include "util/api.h"

/*
 * Changes a setting for running and for later processes. Keys are those of inspect_set(); the value
 * "" removes the setting. -errno, explained.
 */
VB_API int hca_control_set(const char *key, const char *value);

/* Applies the settings to this process, now and whenever they change. Again is no error. */
void control_start(void);
/* In a forked child: closes the inherited descriptor. */
void control_stop(void);

#endif
