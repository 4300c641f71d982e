/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROCE_PORT_OWNER_H
#define ROCE_PORT_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roce/addr.h"

/* Describes the process that has UDP port `port` at `addr`, for messages. Best effort; never empty. */
void roce_port_owner(const struct roce_addr *addr, uint16_t port, char *text, size_t size);

/*
 * The user that has UDP port `port` at `addr`, or at the wildcard address. -ENOENT: no socket has it; another error:
 * nothing could be seen for want of memory or descriptors.
 */
int roce_port_user(const struct roce_addr *addr, uint16_t port, uint32_t *uid);

#endif
