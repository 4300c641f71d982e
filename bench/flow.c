/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What flow rules cost: `flow insert COUNT` prints insertions per second, into one table that ends
 * with COUNT rules; `flow cost COUNT` prints nanoseconds per packet through COUNT rules on a
 * 5-tuple, each packet meeting another one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "ether/flow_edit.h"
#include "ether/flow_rule.h"
#include "ether/flow_table.h"
#include "ether/port.h"
#include "ether/steer.h"

enum { PACKETS = 4000000, FRAME = 64, BATCH = 8 /* as from a link */ };

static uint64_t taken;

static void take(struct ether_dest *dest, struct ether_frame *frame)
{
	(void)dest;
	(void)frame;
	taken++;
}

static struct flow_matcher *make_matcher(struct ether_port *port)
{
	struct flow_matcher *matcher;
	struct flow_table *root;
	struct flow_key mask;

	memset(&mask, 0, sizeof(mask));
	flow_key_set(&mask, FLOW_OUTER_ip_version, 0xf);
	flow_key_set(&mask, FLOW_OUTER_ip_protocol, 0xff);
	flow_key_set(&mask, FLOW_OUTER_src_ip_l, UINT32_MAX);
	flow_key_set(&mask, FLOW_OUTER_dst_ip_l, UINT32_MAX);
	flow_key_set(&mask, FLOW_OUTER_udp_sport, UINT16_MAX);
	flow_key_set(&mask, FLOW_OUTER_udp_dport, UINT16_MAX);
	if (flow_table_root(port, FLOW_RX, &root) || flow_matcher_create(root, 0, &mask, &matcher))
		exit(1);
	return matcher;
}

static void insert(struct flow_matcher *matcher, struct ether_dest *dest, uint32_t i)
{
	struct flow_action to = { .op = FLOW_OP_DEST, .dest = dest };
	struct flow_rule *rule;
	struct flow_key value;

	memset(&value, 0, sizeof(value));
	flow_key_set(&value, FLOW_OUTER_ip_version, 4);
	flow_key_set(&value, FLOW_OUTER_ip_protocol, 17);
	flow_key_set(&value, FLOW_OUTER_src_ip_l, 0x0a000000 + i);
	flow_key_set(&value, FLOW_OUTER_dst_ip_l, 0x0b000001);
	flow_key_set(&value, FLOW_OUTER_udp_sport, 1000);
	flow_key_set(&value, FLOW_OUTER_udp_dport, 2000);
	if (flow_rule_create(matcher, &value, 0, &to, 1, &rule))
		exit(1);
}

static void run(struct ether_port *port, uint32_t count)
{
	uint8_t bytes[FRAME] = {
		[12] = 8,         [14] = 0x45,        [17] = 50,        [22] = 64,
		[23] = 17,        [26] = 10,          [30] = 11,        [33] = 1,
		[34] = 1000 >> 8, [35] = 1000 & 0xff, [36] = 2000 >> 8, [37] = 2000 & 0xff,
		[39] = 30
	};
	uint8_t copy[BATCH][FRAME];
	uint32_t at = 0;

	for (unsigned int i = 0; i < BATCH; i++)
		memcpy(copy[i], bytes, FRAME);
	for (uint32_t i = 0; i < PACKETS; i += BATCH) {
		struct ether_frame frame[BATCH];

		for (unsigned int k = 0; k < BATCH; k++) {
			at = (at + 7919) % count; /* a prime: all of them, in no order */
			copy[k][27] = at >> 16;
			copy[k][28] = at >> 8;
			copy[k][29] = at;
			frame[k] = (struct ether_frame){ .data = copy[k], .len = FRAME };
		}
		ether_steer_many(port, frame, BATCH, NULL);
	}
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	struct ether_port *port = ether_port(0, 1);
	struct ether_dest dest = { .deliver = take };
	struct flow_matcher *matcher;
	double start;

	if (!count || (strcmp(argv[1], "insert") && strcmp(argv[1], "cost"))) {
		fprintf(stderr, "usage: flow insert|cost COUNT\n");
		return 2;
	}
	matcher = make_matcher(port);
	start = process_cpu_s();
	for (uint32_t i = 0; i < count; i++)
		insert(matcher, &dest, i);
	if (!strcmp(argv[1], "insert")) {
		printf("%.0f\n", count / (process_cpu_s() - start));
		return 0;
	}
	run(port, count);
	start = process_cpu_s();
	taken = 0;
	run(port, count);
	printf("%.1f\n", (process_cpu_s() - start) * 1e9 / PACKETS);
	return taken == PACKETS ? 0 : 1;
}
