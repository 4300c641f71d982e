/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service thread's work on all links.
 */
#ifndef FABRIC_LINK_SERVICE_H
#define FABRIC_LINK_SERVICE_H

#include <stdint.h>

/* In each iteration; returns the time of the next one, 0 for at once, UINT64_MAX for none. */
uint64_t fabric_links_iterate(uint64_t now_ns);
/* Every link becomes DEAD. */
void fabric_links_shutdown(void);

#endif
