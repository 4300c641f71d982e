/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits on behalf of port.c, which alone calls it, with its lock held.
 */
#ifndef HCA_WATCH_H
#define HCA_WATCH_H

/* Calls hca_port_refresh() whenever fd is readable. Once per process; later calls do nothing. */
int hca_watch_start(int fd);

/* In a child of fork(), where the thread did not follow. */
void hca_watch_forget(void);

#endif
