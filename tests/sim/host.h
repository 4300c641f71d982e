/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts: a context, a protection domain, regions of memory and queues. */
#ifndef TESTS_SIM_HOST_H
#define TESTS_SIM_HOST_H

#include "sim/sim.h"

/* Adapters and the path of all of them. Once per program. */
void host_group_begin(void);
/* The index of the RoCEv2 address that packets leave from. */
uint8_t host_sgid_index(void);

/* Memory for regions, with room for receive buffers of `recv_bytes`. */
void host_init(struct host *host, unsigned int index, uint32_t recv_bytes);
void host_fini(struct host *host);
/* Domain, regions and completion queues; their end. Queue pairs are end.h's. */
void host_start(struct host *host);
void host_stop(struct host *host);

void host_register(struct host *host, enum region_kind kind);
void host_deregister(struct host *host, enum region_kind kind);
/* New bytes everywhere, no slices. */
void host_refill(struct host *host);

/* Bytes that no other request of the round uses; false: there are none left. */
bool host_take(struct host *host, enum region_kind kind, uint32_t len, uint32_t align,
	       struct span *out);
enum region_kind host_region_of(const struct host *host, uint32_t off);

static inline uint8_t *span_mem(const struct span *s)
{
	return s->host->mem + s->off;
}

static inline uint8_t *span_shadow(const struct span *s)
{
	return s->host->shadow + s->off;
}

#endif
