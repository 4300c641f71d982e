/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROCE_PORT_OWNER_H
#define ROCE_PORT_OWNER_H

#include <stddef.h>
#include <stdint.h>

#include "roce/addr.h"

/* Describes the process that has UDP port `port` at `addr`, for messages. Best effort; never empty. */
void roce_port_owner(const struct roce_addr *addr, uint16_t port, char *text, size_t size);

#endif
