/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules that change packets, seen at the other end of ether_steer_out(). */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/flow_action.h"
#include "ether/flow_edit.h"
#include "ether/flow_rule.h"
#include "ether/flow_table.h"
#include "ether/port.h"
#include "ether/steer.h"
#include "flow_packets.h"

enum { SET = 1, ADD, COPY };

static struct ether_port *port;

static void command(uint8_t out[8], unsigned int op, unsigned int field, unsigned int shift,
		    unsigned int width, uint32_t second)
{
	uint32_t first = op << 28 | field << 16 | shift << 8 | (width & 31);

	for (int i = 0; i < 4; i++) {
		out[i] = first >> (24 - 8 * i);
		out[4 + i] = second >> (24 - 8 * i);
	}
}

/* What leaves when every packet takes these edits, in this order. */
static bool edited(const struct pkt *p, struct flow_edit *const *edits, unsigned int count,
		   struct pkt *out)
{
	struct flow_action actions[8];
	struct ether_frame frame = { .data = p->b, .len = p->len };
	struct flow_matcher *m;
	struct flow_table *t;
	struct flow_rule *r;
	struct flow_key key;
	bool passed;

	memset(&key, 0, sizeof(key));
	for (unsigned int i = 0; i < count; i++)
		actions[i] = (struct flow_action){ .op = FLOW_OP_EDIT, .edit = edits[i] };
	assert_int_equal(flow_table_root(port, FLOW_TX, &t), 0);
	assert_int_equal(flow_matcher_create(t, 0, &key, &m), 0);
	assert_int_equal(flow_rule_create(m, &key, 0, actions, count, &r), 0);
	passed = ether_steer_out(port, &frame);
	if (passed) {
		memset(out, 0, sizeof(*out));
		pkt_add(out, frame.data, frame.len);
	}
	flow_rule_destroy(r);
	flow_matcher_destroy(m);
	return passed;
}

static struct flow_edit *reformat(enum flow_reformat kind, const void *data, size_t len)
{
	struct flow_edit *edit;

	assert_int_equal(flow_edit_reformat(kind, data, len, &edit), 0);
	return edit;
}

static struct flow_edit *modify(const uint8_t *commands, unsigned int count)
{
	struct flow_edit *edit;

	assert_int_equal(flow_edit_modify(commands, count, &edit), 0);
	return edit;
}

static bool edit_one(const struct pkt *p, struct flow_edit *edit, struct pkt *out)
{
	bool passed = edited(p, &edit, 1, out);

	flow_edit_put(edit);
	return passed;
}

/* The sum over IP's pseudo header and what follows is all ones when it is right. */
static void assert_sums_are_right(const struct pkt *p)
{
	const uint8_t *ip = p->b + 14;
	unsigned int at = ip[0] >> 4 == 4 ? 14 + (ip[0] & 0xf) * 4 : 54, len = p->len - at;
	uint8_t proto = ip[0] >> 4 == 4 ? ip[9] : ip[6];
	uint32_t sum = proto + len;

	if (ip[0] >> 4 == 4) {
		assert_int_equal(pkt_sum(ip, at - 14, 0), 0xffff);
		sum += pkt_sum(ip + 12, 8, 0);
	} else {
		sum += pkt_sum(ip + 8, 32, 0);
	}
	assert_int_equal(pkt_sum(p->b + at, len, sum), 0xffff);
}

/* With a check sum of TCP or UDP that is right. */
static void finish_l4(struct pkt *p)
{
	const uint8_t *ip = p->b + 14;
	unsigned int at = ip[0] >> 4 == 4 ? 34 : 54, len = p->len - at;
	uint8_t proto = ip[0] >> 4 == 4 ? ip[9] : ip[6];
	unsigned int field = at + (proto == 6 ? 16 : 6);
	uint32_t sum = proto + len;

	sum += ip[0] >> 4 == 4 ? pkt_sum(ip + 12, 8, 0) : pkt_sum(ip + 8, 32, 0);
	pkt_set16(p, field, 0);
	pkt_set16(p, field, ~pkt_sum(p->b + at, len, sum));
	assert_sums_are_right(p);
}

static void a_tag_is_pushed_and_popped(void **state)
{
	static const uint8_t tag[4] = { 0x81, 0x00, 0xbc, 0x0c };
	struct pkt p = pkt_plain(1, 2), tagged, plain;
	struct flow_edit *both[] = { reformat(FLOW_PUSH_VLAN, tag, 4),
				     reformat(FLOW_POP_VLAN, NULL, 0) };

	assert_true(edited(&p, both, 1, &tagged));
	assert_int_equal(tagged.len, p.len + 4);
	assert_memory_equal(tagged.b, p.b, 12);
	assert_memory_equal(tagged.b + 12, tag, 4);
	assert_memory_equal(tagged.b + 16, p.b + 12, p.len - 12);
	assert_true(edited(&tagged, both + 1, 1, &plain));
	assert_int_equal(plain.len, p.len);
	assert_memory_equal(plain.b, p.b, p.len);
	/* There and back again in one rule; and there is nothing to take from an untagged one. */
	assert_true(edited(&p, both, 2, &plain));
	assert_memory_equal(plain.b, p.b, p.len);
	assert_true(edited(&p, both + 1, 1, &plain));
	assert_int_equal(plain.len, p.len);
	flow_edit_put(both[0]);
	flow_edit_put(both[1]);
}

static void a_tunnel_is_put_on_and_taken_off(void **state)
{
	struct pkt whole = pkt_vxlan(1, 2), inner = pkt_plain(1, 2), out, back;
	unsigned int head = whole.len - inner.len;
	struct pkt given = whole;

	/* Lengths and check sum are the adapter's to fill in. */
	pkt_set16(&given, 14 + 2, 0);
	pkt_set16(&given, 14 + 10, 0);
	pkt_set16(&given, 34 + 4, 0);
	assert_true(edit_one(&inner, reformat(FLOW_ENCAP_L2, given.b, head), &out));
	assert_int_equal(out.len, whole.len);
	assert_memory_equal(out.b, whole.b, whole.len);
	assert_true(edit_one(&out, reformat(FLOW_DECAP_L2, NULL, 0), &back));
	assert_int_equal(back.len, inner.len);
	assert_memory_equal(back.b, inner.b, inner.len);
	/* Nothing inside: the packet ends here. */
	assert_false(edit_one(&inner, reformat(FLOW_DECAP_L2, NULL, 0), &back));
}

static void a_layer_3_tunnel_is_put_on_and_taken_off(void **state)
{
	struct pkt inner = pkt_plain(1, 2), head = { 0 }, out, back;
	struct flow_key key;
	struct ether_frame frame;

	pkt_eth(&head, 12, 11, 0x0800);
	pkt_ip4(&head, 3, 4, 47);
	pkt_u32(&head, 0x00000800);
	assert_true(edit_one(&inner, reformat(FLOW_ENCAP_L3, head.b, head.len), &out));
	assert_int_equal(out.len, inner.len - 14 + head.len);
	assert_memory_equal(out.b + head.len, inner.b + 14, inner.len - 14);
	frame = (struct ether_frame){ .data = out.b, .len = out.len };
	memset(&key, 0, sizeof(key));
	flow_key_fill(&key, &frame);
	assert_int_equal(flow_key_get(&key, FLOW_INNER_udp_dport), 2);
	assert_int_equal(pkt_sum(out.b + 14, 20, 0), 0xffff);
	assert_true(edit_one(&out, reformat(FLOW_DECAP_L3, inner.b, 14), &back));
	assert_int_equal(back.len, inner.len);
	assert_memory_equal(back.b, inner.b, inner.len);
}

static void set_changes_the_bits_asked_for(void **state)
{
	struct pkt p = pkt_plain(1, 2), out;
	uint8_t c[3 * 8];

	command(c, SET, 0x1, 0, 32, 0x88888888);
	command(c + 8, SET, 0x2, 0, 16, 0x8888);
	command(c + 16, SET, 0x5, 8, 8, 0x77);
	assert_true(edit_one(&p, modify(c, 3), &out));
	assert_memory_equal(out.b, "\x02\0\0\0\x77\x02\x88\x88\x88\x88\x88\x88", 12);
	assert_memory_equal(out.b + 12, p.b + 12, p.len - 12);
}

static void checksums_are_updated_for_changed_fields(void **state)
{
	static const struct {
		unsigned int op, field, width;
		uint32_t data;
		bool v6, tcp;
	} rows[] = {
		{ SET, 0x15, 32, 0xc0a80101, false, true },
		{ SET, 0x16, 32, 0x01ffffff, false, false },
		{ ADD, 0x0a, 0, 0xffffffff, false, true },
		{ SET, 0x06, 6, 0x3f, false, true },
		{ SET, 0x73, 2, 1, false, false },
		{ SET, 0x08, 16, 4711, false, true },
		{ SET, 0x09, 16, 0, false, true },
		{ SET, 0x07, 9, 0x0ed, false, true },
		{ ADD, 0x59, 0, 12345678, false, true },
		{ ADD, 0x5b, 0, 0xfffffff0, true, true },
		{ SET, 0x0b, 16, 0xffff, true, false },
		{ SET, 0x0c, 16, 53, false, false },
		{ SET, 0x0d, 32, 0xfe800000, true, true },
		{ SET, 0x10, 32, 77, true, false },
		{ SET, 0x14, 32, 0xdeadbeef, true, true },
		{ SET, 0x47, 8, 3, true, true },
		{ SET, 0x06, 6, 0x15, true, true },
		{ SET, 0x11, 32, 1, true, false },
	};

	for (size_t i = 0; i < array_size(rows); i++) {
		struct pkt p = { 0 }, out;
		uint8_t c[8];

		pkt_eth(&p, 2, 1, rows[i].v6 ? 0x86dd : 0x0800);
		if (rows[i].v6)
			pkt_ip6(&p, 1, 2, rows[i].tcp ? 6 : 17);
		else
			pkt_ip4(&p, 0x01010101, 0x02020202, rows[i].tcp ? 6 : 17);
		if (rows[i].tcp)
			pkt_tcp(&p, 1, 2);
		else
			pkt_udp(&p, 1, 2);
		pkt_fill(&p, 33);
		pkt_end(&p);
		finish_l4(&p);
		command(c, rows[i].op, rows[i].field, 0, rows[i].width, rows[i].data);
		assert_true(edit_one(&p, modify(c, 1), &out));
		assert_int_equal(out.len, p.len);
		assert_true(memcmp(out.b, p.b, p.len) != 0);
		assert_sums_are_right(&out);
	}
}

static void a_datagram_without_checksum_stays_without(void **state)
{
	struct pkt p = pkt_plain(1, 2), out;
	uint8_t c[8];

	command(c, SET, 0x0b, 0, 16, 99);
	assert_true(edit_one(&p, modify(c, 1), &out));
	assert_memory_equal(out.b + 34, "\0\x63\0\x02", 4);
	assert_memory_equal(out.b + 40, "\0\0", 2);
}

static void fields_of_absent_headers_are_left_alone(void **state)
{
	struct pkt p = pkt_plain(1, 2), out;
	uint8_t c[4 * 8];

	command(c, SET, 0x08, 0, 16, 99);
	command(c + 8, SET, 0x0d, 0, 32, 99);
	command(c + 16, SET, 0x17, 0, 12, 99);
	command(c + 24, ADD, 0x47, 0, 0, 1);
	assert_true(edit_one(&p, modify(c, 4), &out));
	assert_memory_equal(out.b, p.b, p.len);
}

static void copies_go_through_registers(void **state)
{
	struct pkt p = pkt_plain(0x1234, 2), out;
	uint8_t c[2 * 8];

	command(c, COPY, 0x0b, 4, 8, 0x52u << 16 | 16u << 8); /* bits 11:4 to bits 23:16 of C1 */
	command(c + 8, COPY, 0x52, 16, 8, 0x0cu << 16);
	assert_true(edit_one(&p, modify(c, 2), &out));
	assert_memory_equal(out.b + 34, "\x12\x34\x00\x23", 4);
}

static void commands_that_do_not_exist_are_refused(void **state)
{
	static const struct {
		unsigned int op, field, shift, width;
		uint32_t second;
	} rows[] = {
		{ 0, 1, 0, 32, 0 },     { 4, 1, 0, 32, 0 },          { SET, 0, 0, 32, 0 },
		{ SET, 0x18, 0, 8, 0 }, { SET, 0xfff, 0, 8, 0 },     { SET, 2, 0, 17, 0 },
		{ SET, 2, 1, 16, 0 },   { COPY, 2, 0, 17, 1 << 16 }, { COPY, 1, 0, 32, 2 << 16 },
		{ COPY, 1, 0, 8, 0 },
	};
	struct flow_edit *edit;
	uint8_t c[33 * 8];

	for (size_t i = 0; i < array_size(rows); i++) {
		command(c, rows[i].op, rows[i].field, rows[i].shift, rows[i].width, rows[i].second);
		assert_int_equal(flow_edit_modify(c, 1, &edit), -EINVAL);
	}
	for (int i = 0; i < 33; i++)
		command(c + 8 * i, SET, 1, 0, 32, 0);
	assert_int_equal(flow_edit_modify(c, 0, &edit), -EINVAL);
	assert_int_equal(flow_edit_modify(c, 33, &edit), -EINVAL);
}

static void headers_of_the_wrong_length_are_refused(void **state)
{
	static const uint8_t data[FLOW_DATA_MAX + 1];
	struct flow_edit *edit;

	assert_int_equal(flow_edit_reformat(FLOW_ENCAP_L2, data, 13, &edit), -EINVAL);
	assert_int_equal(flow_edit_reformat(FLOW_ENCAP_L2, data, sizeof(data), &edit), -EINVAL);
	assert_int_equal(flow_edit_reformat(FLOW_ENCAP_L2, NULL, 14, &edit), -EINVAL);
	assert_int_equal(flow_edit_reformat(FLOW_DECAP_L2, data, 1, &edit), -EINVAL);
	assert_int_equal(flow_edit_reformat(FLOW_DECAP_L3, data, 16, &edit), -EINVAL);
	assert_int_equal(flow_edit_reformat(FLOW_PUSH_VLAN, data, 3, &edit), -EINVAL);
}

/* Two ways out of one rule, one of them by a table that changes the packet. */
static unsigned int sent;
static uint32_t sent_len;

static void note_sent(struct ether_port *at, struct ether_frame *frame)
{
	sent++;
	sent_len = frame->len;
}

static void each_copy_is_changed_separately(void **state)
{
	static const uint8_t tag[4] = { 0x81, 0x00, 0x00, 0x05 };
	struct flow_edit *push = reformat(FLOW_PUSH_VLAN, tag, 4);
	struct flow_action in_table[] = { { .op = FLOW_OP_EDIT, .edit = push },
					  { .op = FLOW_OP_PORT, .vport = FLOW_VPORT_UPLINK } };
	struct flow_action actions[] = { { .op = FLOW_OP_TABLE },
					 { .op = FLOW_OP_PORT, .vport = FLOW_VPORT_UPLINK } };
	struct flow_matcher *m, *mt;
	struct flow_table *root, *t;
	struct flow_rule *r, *rt;
	struct flow_key key;
	struct pkt p = pkt_plain(1, 2);
	struct ether_frame frame = { .data = p.b, .len = p.len };

	memset(&key, 0, sizeof(key));
	assert_int_equal(flow_table_root(port, FLOW_FDB, &root), 0);
	assert_int_equal(flow_table_create(port, FLOW_FDB, &t), 0);
	actions[0].table = t;
	assert_int_equal(flow_matcher_create(root, 0, &key, &m), 0);
	assert_int_equal(flow_matcher_create(t, 0, &key, &mt), 0);
	assert_int_equal(flow_rule_create(mt, &key, 0, in_table, 2, &rt), 0);
	assert_int_equal(flow_rule_create(m, &key, 0, actions, 2, &r), 0);
	ether_port_set_transmit(note_sent);
	sent = 0;
	assert_true(ether_steer_out(port, &frame));
	assert_int_equal(frame.len, p.len + 4);
	assert_memory_equal(frame.data + 12, tag, 4);
	assert_int_equal(sent, 1);
	assert_int_equal(sent_len, p.len);
	ether_port_set_transmit(NULL);
	flow_rule_destroy(r);
	flow_rule_destroy(rt);
	flow_matcher_destroy(m);
	flow_matcher_destroy(mt);
	flow_table_put(t);
	flow_edit_put(push);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tag_is_pushed_and_popped),
		cmocka_unit_test(a_tunnel_is_put_on_and_taken_off),
		cmocka_unit_test(a_layer_3_tunnel_is_put_on_and_taken_off),
		cmocka_unit_test(set_changes_the_bits_asked_for),
		cmocka_unit_test(checksums_are_updated_for_changed_fields),
		cmocka_unit_test(a_datagram_without_checksum_stays_without),
		cmocka_unit_test(fields_of_absent_headers_are_left_alone),
		cmocka_unit_test(copies_go_through_registers),
		cmocka_unit_test(commands_that_do_not_exist_are_refused),
		cmocka_unit_test(headers_of_the_wrong_length_are_refused),
		cmocka_unit_test(each_copy_is_changed_separately),
	};

	port = ether_port(0, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
