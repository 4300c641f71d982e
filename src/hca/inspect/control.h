/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Orders to running processes: the settings that the `verbena` command writes (setting.h), for capture,
 * faults and unplugged adapters.
 */
#ifndef HCA_CONTROL_H
#define HCA_CONTROL_H

/* Applies the settings to this process, now and whenever they change. Again is no error. */
void control_start(void);
/* In a forked child: closes the inherited descriptor. */
void control_stop(void);

#endif
