/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by tests of queue pair 1: messages of the connection manager, an agent with an inbox, and
 * the address of a port. No assertion: tests report failures by their own check().
 */
#ifndef TESTS_GSI_RIG_H
#define TESTS_GSI_RIG_H

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "hca/device/adapter_list.h"
#include "hca/wire/gsi.h"
#include "hca/wire/gsi_counters.h"
#include "hca/wire/gsi_route.h"
#include "hca/wire/gsi_send.h"
#include "hca/device/port.h"

#define WAIT_S 20

static inline void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* A message of the connection manager: both ids, and for the first ones the service. */
static inline void cm_make(uint8_t mad[256], uint8_t attr, uint32_t local, uint32_t remote,
			   uint64_t service)
{
	memset(mad, 0, 256);
	mad[0] = 1;
	mad[1] = HCA_MAD_CM;
	mad[2] = 2;
	mad[3] = 3; /* Send */
	mad[17] = attr;
	put32(mad + 24, local);
	put32(mad + 28, remote);
	if (attr == HCA_CM_REQ || attr == HCA_CM_SIDR_REQ) {
		put32(mad + 32, (uint32_t)(service >> 32));
		put32(mad + 36, (uint32_t)service);
	}
}

struct inbox {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct hca_gsi_mad mad[64];
	unsigned int head, tail;
};

#define INBOX                                                                                      \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER                \
	}

static inline void inbox_put(void *arg, const struct hca_gsi_mad *mad)
{
	struct inbox *in = arg;

	pthread_mutex_lock(&in->lock);
	in->mad[in->head++ % 64] = *mad;
	pthread_cond_signal(&in->more);
	pthread_mutex_unlock(&in->lock);
}

static inline bool inbox_has(struct inbox *in)
{
	bool has;

	pthread_mutex_lock(&in->lock);
	has = in->head != in->tail;
	pthread_mutex_unlock(&in->lock);
	return has;
}

static const struct hca_gsi_ops inbox_ops = { .receive = inbox_put };

/* False when nothing comes in time. */
static inline bool inbox_take_within(struct inbox *in, unsigned int seconds,
				     struct hca_gsi_mad *out)
{
	struct timespec until;
	bool there;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&in->lock);
	while (in->head == in->tail && !pthread_cond_timedwait(&in->more, &in->lock, &until))
		;
	there = in->head != in->tail;
	if (there)
		*out = in->mad[in->tail++ % 64];
	pthread_mutex_unlock(&in->lock);
	return there;
}

static inline bool inbox_take(struct inbox *in, struct hca_gsi_mad *out)
{
	return inbox_take_within(in, WAIT_S, out);
}

/* The way from the adapter's port 1 to itself. */
static inline bool way_to_self(const struct hca_adapter *a, struct hca_av *out)
{
	bool ib = a->ports[0].link == HCA_LINK_INFINIBAND;
	struct hca_port_attr attr;
	struct hca_gid_entry e;

	*out = (struct hca_av){ .port = 1, .has_grh = true, .hop_limit = 64 };
	if (hca_port_query(a, 1, &attr))
		return false;
	out->dlid = attr.lid;
	for (unsigned int i = 0; i < a->limits.gid_table_len; i++) {
		if (hca_port_gid(a, 1, i, &e) || hca_gid_is_empty(&e.gid) ||
		    e.type != (ib ? HCA_GID_IB : HCA_GID_ROCE_V2))
			continue;
		out->sgid_index = (uint8_t)i;
		out->dgid = e.gid;
		/* link-local addresses need a scope; take another if there is one */
		if (ib || e.gid.raw[0] != 0xfe)
			return true;
	}
	return !hca_gid_is_empty(&out->dgid);
}

static inline const struct hca_adapter *adapter_with(enum hca_link link)
{
	const struct hca_adapter *const *list;
	int count;

	if (hca_adapters_get(&list, &count))
		return NULL;
	for (int i = 0; i < count; i++)
		if (list[i]->ports[0].link == link)
			return list[i];
	return NULL;
}

#endif
