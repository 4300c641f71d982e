/* SPDX-License-Identifier: BSD-2-Clause */
/* See shaper.h. */
#include "hca/transport/shaper.h"

#include <errno.h>
#include <stdlib.h>

#define SLACK_NS 2000000u /* a timer may be this late, and the rate is still kept */

int hca_shaper_create(struct hca_shaper *parent, uint32_t mbps, struct hca_shaper **out)
{
	struct hca_shaper *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->refs = 1;
	s->parent = hca_shaper_get(parent);
	s->mbps = mbps;
	*out = s;
	return 0;
}

void hca_shaper_set(struct hca_shaper *shaper, uint32_t mbps)
{
	atomic_store_explicit(&shaper->mbps, mbps, memory_order_relaxed);
	/* Requests sent at the old rate do not delay those at the new one. */
	atomic_store_explicit(&shaper->busy_until_ns, 0, memory_order_relaxed);
}

struct hca_shaper *hca_shaper_get(struct hca_shaper *shaper)
{
	if (shaper)
		atomic_fetch_add(&shaper->refs, 1);
	return shaper;
}

void hca_shaper_put(struct hca_shaper *shaper)
{
	while (shaper && atomic_fetch_sub(&shaper->refs, 1) == 1) {
		struct hca_shaper *parent = shaper->parent;

		free(shaper);
		shaper = parent;
	}
}

uint64_t shaper_wait_ns(const struct hca_shaper *shaper, uint64_t now_ns)
{
	uint64_t wait = 0;

	for (; shaper; shaper = shaper->parent) {
		uint64_t until = atomic_load_explicit(&shaper->busy_until_ns, memory_order_relaxed);

		if (until > now_ns && until - now_ns > wait)
			wait = until - now_ns;
	}
	return wait;
}

void shaper_charge(struct hca_shaper *shaper, uint64_t now_ns, uint64_t bytes)
{
	for (; shaper; shaper = shaper->parent) {
		uint32_t mbps = atomic_load_explicit(&shaper->mbps, memory_order_relaxed);
		uint64_t until = atomic_load_explicit(&shaper->busy_until_ns, memory_order_relaxed);
		uint64_t from;

		if (!mbps)
			continue;
		do
			from = until + SLACK_NS < now_ns ? now_ns - SLACK_NS : until;
		while (!atomic_compare_exchange_weak_explicit(
			&shaper->busy_until_ns, &until, from + bytes * 8000 / mbps,
			memory_order_relaxed, memory_order_relaxed));
	}
}
