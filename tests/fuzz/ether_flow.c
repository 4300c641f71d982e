/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any frame through the parser, the rules and every change that a rule can make to it.
 *
 * Input: one byte that chooses the edits, one for a field of a modify command and two for its
 * value, then the frame.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ether/aso.h"
#include "ether/flow_edit.h"
#include "ether/flow_rule.h"
#include "ether/flow_table.h"
#include "ether/port.h"
#include "ether/steer.h"

enum { PREFIX = 4, EDITS = 7 };

static struct flow_edit *make_edit(unsigned int which, uint8_t field, const uint8_t *value)
{
	static const uint8_t head[50] = {
		[12] = 8, [14] = 0x45, [23] = 17, [36] = 0x12, [37] = 0xb5
	};
	uint8_t set[8] = { 0x10, field, 0, 2, value[0], value[1], value[0], value[1] };
	struct flow_edit *edit = NULL;

	switch (which) {
	case 0:
		flow_edit_reformat(FLOW_PUSH_VLAN, "\x81\0\0\1", 4, &edit);
		break;
	case 1:
		flow_edit_reformat(FLOW_POP_VLAN, NULL, 0, &edit);
		break;
	case 2:
		flow_edit_reformat(FLOW_DECAP_L2, NULL, 0, &edit);
		break;
	case 3:
		flow_edit_reformat(FLOW_DECAP_L3, head, 14, &edit);
		break;
	case 4:
		flow_edit_reformat(FLOW_ENCAP_L2, head, 50, &edit);
		break;
	case 5:
		flow_edit_reformat(FLOW_ENCAP_L3, head, 42, &edit);
		break;
	case 6:
		flow_edit_modify(set, 1, &edit);
		break;
	}
	return edit;
}

static void check_headers(const struct ether_headers *h, uint32_t len)
{
	CHECK(h->l2_off <= len && h->l3_off <= len && h->l4_off <= len && h->data_off <= len);
	CHECK(!h->l3 || h->l3_off + (uint32_t)h->l3_len <= len);
	CHECK(h->l3_off <= h->l4_off && h->l4_off <= h->data_off);
}

/* A meter and a connection whose contexts are the frame's own bytes. */
static void run_objects(struct ether_frame *frame)
{
	for (unsigned int kind = ASO_METER; kind <= ASO_CT; kind++) {
		struct aso *aso = aso_create(kind, 1);

		memcpy(aso->bytes[0], frame->data, frame->len < ASO_BYTES ? frame->len : ASO_BYTES);
		aso->bytes[0][kind == ASO_METER ? 0 : 60] |= 0x80; /* valid */
		aso_hit(aso, 0, frame->len & 1, frame);
		aso_put(aso);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct flow_matcher *matcher;
	struct flow_action actions[EDITS];
	struct ether_frame frame = { 0 };
	struct flow_rule *rule;
	struct flow_key key;
	unsigned int count = 0;
	uint8_t *copy;

	if (size < PREFIX || size > PREFIX + ETHER_FRAME_MAX)
		return 0;
	memset(&key, 0, sizeof(key));
	if (!matcher) {
		struct flow_table *root;

		CHECK(!flow_table_root(ether_port(0, 1), FLOW_TX, &root));
		CHECK(!flow_matcher_create(root, 0, &key, &matcher));
	}
	copy = malloc(size - PREFIX + !(size - PREFIX));
	memcpy(copy, data + PREFIX, size - PREFIX);
	frame.data = copy;
	frame.len = size - PREFIX;
	ether_frame_parse(&frame);
	check_headers(&frame.parsed.outer, frame.len);
	check_headers(&frame.parsed.inner, frame.len);
	CHECK(frame.parsed.tunnel_off <= frame.len);
	frame.geneve_option = ETHER_GENEVE_OPTION(0x102, data[0], data[1] & 0x1f);
	run_objects(&frame);
	for (unsigned int i = 0; i < EDITS; i++) {
		struct flow_edit *edit = data[0] & 1 << i ? make_edit(i, data[1], data + 2) : NULL;

		if (edit)
			actions[count++] = (struct flow_action){ .op = FLOW_OP_EDIT, .edit = edit };
	}
	CHECK(!flow_rule_create(matcher, &key, 0, actions, count, &rule));
	if (ether_steer_out(ether_port(0, 1), &frame)) {
		for (uint32_t i = 0; i < frame.len; i++)
			(void)*(const volatile uint8_t *)&frame.data[i];
		flow_key_fill(&key, &frame);
	}
	flow_rule_destroy(rule);
	for (unsigned int i = 0; i < count; i++)
		flow_edit_put(actions[i].edit);
	free(copy);
	return 0;
}
