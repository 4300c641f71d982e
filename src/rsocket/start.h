/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the first rsocket of a process needs: configuration, event channel, service thread.
 */
#ifndef RSOCKET_START_H
#define RSOCKET_START_H

int rs_start(void);

#endif
