/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the ICRC of a packet costs, beside a copy of the same bytes. Best of many short runs, since
 *a shared machine only ever adds time.
 *
 *	icrc [packets per run]
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "roce/icrc.h"
#include "roce/opcode.h"
#include "util/copy.h"

enum { RUNS = 2000 };

static uint8_t packet[ROCE_MAX_PACKET], other[ROCE_MAX_PACKET];
static struct roce_icrc_flow flow;
static volatile uint32_t sink;

static void copy(size_t len, unsigned int i)
{
	vb_copy(other, packet, len);
	sink = other[len - 1];
}

static void compute(size_t len, unsigned int i)
{
	sink = roce_icrc_compute(&flow, packet, len, 0);
}

static void compute_segment(size_t len, unsigned int i)
{
	sink = roce_icrc_compute(&flow, packet, len, i & 63);
}

static void check(size_t len, unsigned int i)
{
	uint16_t id = 0;

	sink = roce_icrc_check(&flow, packet, len + 4, &id);
}

static double best(void (*fn)(size_t, unsigned int), size_t len, unsigned int count)
{
	double least = 1e18;

	for (int run = 0; run < RUNS; run++) {
		double start = now_s(), took;

		for (unsigned int i = 0; i < count; i++)
			fn(len, i);
		took = (now_s() - start) * 1e9 / count;
		least = took < least ? took : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	static const size_t payloads[] = { 0, 8, 64, 256, 1024, 4096 };
	unsigned int count = argc > 1 ? atoi(argv[1]) : 500;
	struct roce_addr a, b;

	roce_addr_parse("10.0.0.1", &a);
	roce_addr_parse("10.0.0.2", &b);
	roce_icrc_flow_init(&flow, &a, &b, ROCE_MAX_PACKET, 4791);
	for (size_t i = 0; i < sizeof(packet); i++)
		packet[i] = i * 37;
	packet[4] = 0; /* no congestion */
	printf("ns per packet; BTH and payload\n");
	printf("%8s %8s %8s %8s %10s %10s %8s\n", "payload", "copy", "ICRC", "id 0-63",
	       "check id 0", "unknown id", "GB/s");
	for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		size_t len = ROCE_BTH_BYTES + payloads[i];
		double plain, checked, unknown;
		uint32_t icrc = htole32(roce_icrc_compute(&flow, packet, len, 0));

		memcpy(packet + len, &icrc, 4);
		checked = best(check, len, count);
		icrc = htole32(roce_icrc_compute(&flow, packet, len, 0xbeef));
		memcpy(packet + len, &icrc, 4);
		unknown = best(check, len, count);
		plain = best(compute, len, count);
		printf("%8zu %8.1f %8.1f %8.1f %10.1f %10.1f %8.1f\n", payloads[i],
		       best(copy, len, count), plain, best(compute_segment, len, count), checked,
		       unknown, len / plain);
	}
	return 0;
}
