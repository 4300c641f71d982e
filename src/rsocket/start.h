/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Start with the first rsocket of a process: configuration, event channel, service thread.
 */
#ifndef RSOCKET_START_H
#define RSOCKET_START_H

int rs_start(void);

#endif
