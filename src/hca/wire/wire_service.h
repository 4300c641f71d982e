/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service thread's part of the wire. It receives from ports while no thread polls. While threads
 * poll, it leaves the sockets to them, since waking up for each packet would only compete with them,
 * and checks that they poll often enough.
 */
#ifndef HCA_WIRE_SERVICE_H
#define HCA_WIRE_SERVICE_H

#include <stdint.h>

struct wire_port_events;

extern const struct wire_port_events wire_service_events;

/* Threads have stopped polling. */
void wire_polling_stopped(void);
/* While threads poll, every period_ns. */
void wire_polling_check(uint64_t now_ns, uint64_t period_ns);
/* Returns the next deadline. */
uint64_t wire_timers(uint64_t now_ns);

#endif
