/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/host.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/access.h"
#include "hca/device/adapter_list.h"
#include "hca/device/port.h"
#include "hca/queue/cq.h"
#include "roce/fault.h"

#include "sim/net.h"
#include "sim/ring.h"

#define ALL_RIGHTS                                                                                 \
	(HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ |               \
	 HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_FLUSH_GLOBAL | HCA_ACCESS_MW_BIND)

static const struct {
	uint32_t bytes, access;
} plan[REGIONS] = {
	[REGION_DATA] = { 256u << 10, ALL_RIGHTS },
	[REGION_WINDOW] = { 32u << 10, ALL_RIGHTS },
	[REGION_SPARE] = { 32u << 10, ALL_RIGHTS },
	[REGION_READ_ONLY] = { 16u << 10, HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_READ },
	[REGION_RECV] = { 0, HCA_ACCESS_LOCAL_WRITE },
};

static const struct hca_adapter *const *adapters;
static struct hca_async events;
static struct hca_ctx first; /* joins the fabric, before the network is replaced */
static uint8_t sgid_index;

/* Events are not queued: nobody fetches them. */
static bool tap(void *arg, const struct hca_event *event)
{
	return true;
}

void host_group_begin(void)
{
	struct hca_gid_entry e;
	int count, err;

	setenv("VERBENA_ADAPTERS", "mlx5_0", 1);
	setenv("VERBENA_SHARE", "off", 1);
	err = hca_adapters_get(&adapters, &count);
	SIM_CHECK(!err && count == 1, "no adapter: %s", strerror(-err));
	err = hca_async_init(&events, adapters[0]);
	SIM_CHECK(!err, "no event queue: %s", strerror(-err));
	hca_async_set_tap(&events, tap, NULL);
	err = hca_ctx_init(&first, adapters[0], &events);
	SIM_CHECK(!err, "no context: %s", strerror(-err));
	for (unsigned int i = 0;; i++) {
		SIM_CHECK(i < adapters[0]->limits.gid_table_len, "no RoCEv2 address");
		if (!hca_port_gid(adapters[0], 1, i, &e) && e.type == HCA_GID_ROCE_V2 &&
		    !hca_gid_is_empty(&e.gid)) {
			sgid_index = (uint8_t)i;
			break;
		}
	}
}

uint8_t host_sgid_index(void)
{
	return sgid_index;
}

/* ---- memory ---- */

void host_init(struct host *host, unsigned int index, uint32_t recv_bytes)
{
	uint32_t off = 0;
	int err;

	*host = (struct host){ .index = index };
	err = hca_ctx_init(&host->ctx, adapters[0], &events);
	SIM_CHECK(!err, "no context: %s", strerror(-err));
	net_address(index, host->addr.gid);
	for (unsigned int i = 0; i < REGIONS; i++) {
		host->region[i].off = off;
		host->region[i].len = i == REGION_RECV ? recv_bytes : plan[i].bytes;
		if (sim.shape.hosts > 100 && i == REGION_DATA)
			host->region[i].len = 32u << 10;
		off += (host->region[i].len + 4095) & ~4095u;
	}
	host->bytes = off;
	host->mem = aligned_alloc(4096, off);
	host->shadow = malloc(off);
	SIM_CHECK(host->mem && host->shadow, "no memory");
	err = roce_fault_create(&host->fault);
	if (!err)
		err = roce_fault_load(host->fault, sim.shape.script, sim.seed * 1000003 + index,
				      net.now_ns);
	SIM_CHECK(!err, "faults: %s", strerror(-err));
}

void host_fini(struct host *host)
{
	roce_fault_destroy(host->fault);
	for (unsigned int i = 0; i < REGIONS; i++)
		free(host->region[i].frozen);
	free(host->mem);
	free(host->shadow);
}

void host_refill(struct host *host)
{
	struct rng rng = rng_fork(sim.seed ^ net_elapsed_ns(), host->index);
	uint64_t word;

	for (uint32_t i = 0; i + 8 <= host->bytes; i += 8) {
		word = rng_next(&rng);
		memcpy(host->mem + i, &word, 8);
	}
	for (unsigned int i = 0; i < REGIONS; i++) {
		host->region[i].used = 0;
		free(host->region[i].frozen);
		host->region[i].frozen = NULL;
	}
	/* the counters are the first bytes of the first region */
	host->region[REGION_DATA].used = COUNTERS * 8;
	memset(host->mem, 0, (size_t)COUNTERS * 8);
	memset(host->added, 0, sizeof(host->added));
	memset(host->adding, 0, sizeof(host->adding));
	memset(host->adds, 0, sizeof(host->adds));
	memcpy(host->shadow, host->mem, host->bytes);
}

bool host_take(struct host *host, enum region_kind kind, uint32_t len, uint32_t align,
	       struct span *out)
{
	struct region *r = &host->region[kind];
	uint32_t from = (r->used + align - 1) & ~(align - 1);

	if (from + len > r->len)
		return false;
	/* A gap behind each: nobody may touch it. */
	r->used = from + len + 5;
	*out = (struct span){ host, r->off + from, len };
	return true;
}

enum region_kind host_region_of(const struct host *host, uint32_t off)
{
	unsigned int i = REGIONS - 1;

	while (i && off < host->region[i].off)
		i--;
	return i;
}

/* ---- objects ---- */

void host_register(struct host *host, enum region_kind kind)
{
	struct region *r = &host->region[kind];
	uint8_t *at = host->mem + r->off;
	int err;

	if (!r->len)
		return;
	err = hca_mr_create(host->pd, at, r->len, (uintptr_t)at, plan[kind].access, &r->mr);
	SIM_CHECK(!err, "host %u: no region: %s", host->index, strerror(-err));
	r->key = r->mr->key;
}

/* From here on no packet may change the bytes, whatever was under way. */
void host_deregister(struct host *host, enum region_kind kind)
{
	struct region *r = &host->region[kind];
	int err;

	if (!r->mr)
		return;
	err = hca_mr_destroy(r->mr);
	SIM_CHECK(!err, "host %u: a region does not go: %s", host->index, strerror(-err));
	r->mr = NULL;
	r->gone = true;
	free(r->frozen);
	r->frozen = malloc(r->len);
	SIM_CHECK(r->frozen, "no memory");
	memcpy(r->frozen, host->mem + r->off, r->len);
}

static void start_cq(struct cq *cq)
{
	struct hca_cq_init init = {
		.ctx = &cq->host->ctx, .format = &ring_format, .buf = cq, .size = cq->size
	};
	int err = hca_cq_create(&init, &cq->hca);

	SIM_CHECK(!err, "host %u: no completion queue: %s", cq->host->index, strerror(-err));
	cq->completed = cq->taken = cq->reserved = 0;
}

void host_start(struct host *host)
{
	int err = hca_pd_create(&host->ctx, &host->pd);

	SIM_CHECK(!err, "host %u: no protection domain: %s", host->index, strerror(-err));
	for (unsigned int i = 0; i < REGIONS; i++)
		host_register(host, i);
	for (unsigned int i = 0; i < sim.shape.cqs; i++)
		if (sim.cq[i].host == host)
			start_cq(&sim.cq[i]);
}

void host_stop(struct host *host)
{
	for (unsigned int i = 0; i < sim.shape.cqs; i++)
		if (sim.cq[i].host == host)
			SIM_CHECK(!hca_cq_destroy(sim.cq[i].hca), "host %u: a CQ is in use",
				  host->index);
	for (unsigned int i = 0; i < REGIONS; i++)
		host_deregister(host, i);
	SIM_CHECK(!hca_pd_destroy(host->pd), "host %u: the protection domain is in use",
		  host->index);
}
