/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of link widths and generations.
 */
#include "rate.h"

#include <stdio.h>

#include "util/api.h"

static const struct speed {
	unsigned int bit; /* in active_speed_ex */
	unsigned int lane_mbps;
	const char *name;
} speeds[] = {
	{ 1, 2500, "SDR" },    { 2, 5000, "DDR" },     { 4, 10000, "QDR" },
	{ 8, 10000, "FDR10" }, { 16, 14000, "FDR" },   { 32, 25000, "EDR" },
	{ 64, 50000, "HDR" },  { 128, 100000, "NDR" }, { 256, 200000, "XDR" },
};

static const struct speed *find_speed(unsigned int bit)
{
	size_t i;

	for (i = 0; i < array_size(speeds); i++)
		if (speeds[i].bit == bit)
			return &speeds[i];
	return &speeds[0];
}

/* Bits of active_width, from the lowest. */
static unsigned int find_lanes(unsigned int bit)
{
	static const unsigned int lanes[] = { 1, 4, 8, 12, 2 };
	unsigned int i;

	for (i = 0; i < array_size(lanes); i++)
		if (bit == 1u << i)
			return lanes[i];
	return 1;
}

unsigned int rate_mbps(const struct ibv_port_attr *attr)
{
	return find_speed(attr->active_speed_ex)->lane_mbps * find_lanes(attr->active_width);
}

void rate_text(const struct ibv_port_attr *attr, char *out, size_t size)
{
	unsigned int mbps = rate_mbps(attr);

	snprintf(out, size, "%u%s Gb/sec (%uX %s)", mbps / 1000, mbps % 1000 ? ".5" : "",
		 find_lanes(attr->active_width), find_speed(attr->active_speed_ex)->name);
}
