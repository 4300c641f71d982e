/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Link rates, from the width and speed codes of the port attributes.
 */
#ifndef VERBENA_RATE_H
#define VERBENA_RATE_H

#include <infiniband/verbs.h>
#include <stddef.h>

#define RATE_TEXT_MAX 48

unsigned int rate_mbps(const struct ibv_port_attr *attr);

/* "100 Gb/sec (4X EDR)", as sysfs has it. */
void rate_text(const struct ibv_port_attr *attr, char *out, size_t size);

#endif
