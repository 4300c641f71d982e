/* SPDX-License-Identifier: BSD-2-Clause */
/* Links are written under port.lock, with the tables of ports, and read without it. */
#include "hca/device/lag.h"

#include <errno.h>
#include <string.h>

#include "hca/device/interfaces.h"
#include "hca/hca.h"
#include "util/explain.h"

static struct lag_link *link_of(const struct hca_adapter *a, uint8_t link)
{
	return &hca.device.lag.link[a->index][link - 1];
}

static bool is_up(const struct hca_adapter *a, uint8_t link)
{
	return atomic_load_explicit(&link_of(a, link)->up, memory_order_relaxed);
}

uint8_t hca_lag_next(const struct hca_adapter *a)
{
	if (!hca_lag_is_on(a))
		return 0;
	return atomic_fetch_add(&hca.device.lag.next, 1) % a->lag_count + 1;
}

uint8_t hca_lag_active(const struct hca_adapter *a, uint8_t affinity)
{
	uint8_t first;

	if (!affinity || affinity > a->lag_count)
		return 0;
	first = atomic_load_explicit(&link_of(a, affinity)->mapped, memory_order_relaxed);
	if (!first)
		first = affinity;
	for (uint8_t i = 0; i < a->lag_count; i++) {
		uint8_t link = (first - 1 + i) % a->lag_count + 1;

		if (is_up(a, link))
			return link;
	}
	return first;
}

uint32_t hca_lag_ifindex(const struct hca_adapter *a, uint8_t link)
{
	return link ? atomic_load_explicit(&link_of(a, link)->ifindex, memory_order_relaxed) : 0;
}

void hca_lag_get_map(const struct hca_adapter *a, uint8_t map[HCA_LAG_LINKS])
{
	for (uint8_t i = 1; i <= HCA_LAG_LINKS; i++) {
		uint8_t mapped = atomic_load(&link_of(a, i)->mapped);

		map[i - 1] = mapped ? mapped : i;
	}
}

int hca_lag_set_map(const struct hca_adapter *a, const uint8_t map[HCA_LAG_LINKS])
{
	for (unsigned int i = 0; i < a->lag_count; i++)
		if (!map[i] || map[i] > a->lag_count)
			return explain(EINVAL, "link %u; %s has 1 to %u", map[i], a->name,
				       a->lag_count);
	for (unsigned int i = 0; i < a->lag_count; i++)
		atomic_store(&link_of(a, i + 1)->mapped, map[i]);
	atomic_fetch_add(&hca.device.port.gid_changes, 1); /* paths are made anew */
	return 0;
}

bool lag_update(const struct hca_adapter *a, const struct host_picture *pic)
{
	bool changed = false;

	for (uint8_t i = 1; i <= a->lag_count; i++) {
		struct lag_link *link = link_of(a, i);
		uint32_t index = 0;
		bool up = false;

		for (int k = 0; k < pic->interface_count; k++)
			if (!strcmp(pic->interfaces[k].name, a->lag_interfaces[i - 1])) {
				index = pic->interfaces[k].index;
				up = pic->interfaces[k].up;
			}
		changed |= atomic_exchange(&link->ifindex, index) != index;
		changed |= atomic_exchange(&link->up, up) != up;
	}
	return changed;
}
