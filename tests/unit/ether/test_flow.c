/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules against frames: precedence, destinations, and changes of rules under traffic. */
#include "cmocka_all.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ether/flow_action.h"
#include "ether/flow_edit.h"
#include "ether/flow_layout.h"
#include "ether/flow_rule.h"
#include "ether/flow_table.h"
#include "ether/port.h"
#include "ether/steer.h"
#include "flow_packets.h"

struct sink {
	struct ether_dest dest;
	atomic_uint frames;
	uint32_t tag, len;
	uint8_t bytes[2048];
};

static void sink_take(struct ether_dest *dest, struct ether_frame *frame)
{
	struct sink *s = container_of(dest, struct sink, dest);

	s->tag = frame->tag;
	s->len = frame->len;
	memcpy(s->bytes, frame->data, frame->len);
	atomic_fetch_add(&s->frames, 1);
}

#define SINK  ((struct sink){ .dest.deliver = sink_take })
#define TO(s) ((struct flow_action){ .op = FLOW_OP_DEST, .dest = &(s).dest })

/* A port of its own for every test. */
static struct ether_port *fresh_port(void)
{
	static unsigned int next;
	struct ether_port *port = ether_port(next / ETHER_PORTS, next % ETHER_PORTS + 1);

	next++;
	assert_non_null(port);
	return port;
}

static struct flow_matcher *matcher_on(struct flow_table *table, uint32_t priority,
				       enum flow_field field)
{
	struct flow_matcher *m;
	struct flow_key mask;

	memset(&mask, 0, sizeof(mask));
	if (field)
		flow_key_set(&mask, field, UINT64_MAX);
	assert_int_equal(flow_matcher_create(table, priority, &mask, &m), 0);
	return m;
}

static struct flow_rule *rule_on(struct flow_matcher *m, enum flow_field field, uint64_t value,
				 unsigned int flags, const struct flow_action *actions,
				 unsigned int count)
{
	struct flow_rule *rule;
	struct flow_key key;

	memset(&key, 0, sizeof(key));
	if (field)
		flow_key_set(&key, field, value);
	assert_int_equal(flow_rule_create(m, &key, flags, actions, count, &rule), 0);
	return rule;
}

static void steer(struct ether_port *port, const struct pkt *p)
{
	struct ether_frame frame = { .data = p->b, .len = p->len };

	ether_steer(port, &frame);
}

static struct flow_table *root(struct ether_port *port, enum flow_domain domain)
{
	struct flow_table *t;

	assert_int_equal(flow_table_root(port, domain, &t), 0);
	return t;
}

static void a_port_without_rules_drops_incoming_and_passes_outgoing_frames(void **state)
{
	struct ether_port *port = fresh_port();
	struct pkt p = pkt_plain(1, 2);
	struct ether_frame frame = { .data = p.b, .len = p.len };

	steer(port, &p);
	assert_true(ether_steer_out(port, &frame));
	assert_ptr_equal(frame.data, p.b);
	root(port, FLOW_TX);
	assert_true(ether_steer_out(port, &frame));
}

static void only_the_matching_rule_sees_a_frame(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, FLOW_OUTER_udp_dport);
	struct sink a = SINK, b = SINK;
	struct flow_action to_a = TO(a), to_b = TO(b);
	struct flow_rule *ra = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, &to_a, 1);
	struct flow_rule *rb = rule_on(m, FLOW_OUTER_udp_dport, 20, 0, &to_b, 1);
	struct pkt p10 = pkt_plain(1, 10), p20 = pkt_plain(1, 20), p30 = pkt_plain(1, 30);

	assert_int_equal(a.dest.users, 1);
	steer(port, &p10);
	steer(port, &p20);
	steer(port, &p20);
	steer(port, &p30);
	assert_int_equal(a.frames, 1);
	assert_int_equal(b.frames, 2);
	assert_int_equal(a.len, p10.len);
	assert_memory_equal(a.bytes, p10.b, p10.len);
	assert_int_equal(flow_matcher_destroy(m), -EBUSY);
	flow_rule_destroy(rb);
	assert_int_equal(b.dest.users, 0);
	steer(port, &p20);
	assert_int_equal(b.frames, 2);
	flow_rule_destroy(ra);
	assert_int_equal(flow_matcher_destroy(m), 0);
	steer(port, &p10);
	assert_int_equal(a.frames, 1);
}

/* Rules with one value for a few destinations, destroyed in any order. */
static void each_destination_gets_a_packet_once_whichever_of_its_rules_are_left(void **state)
{
	enum { RULES = 200, SINKS = 5 };
	struct ether_port *port = fresh_port();
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, FLOW_OUTER_udp_dport);
	struct pkt p = pkt_plain(1, 10);
	unsigned int left[SINKS] = { 0 }, order[RULES], seed = 1;
	struct flow_rule *rules[RULES];
	struct sink sinks[SINKS];

	for (unsigned int i = 0; i < SINKS; i++)
		sinks[i] = SINK;
	for (unsigned int i = 0; i < RULES; i++) {
		struct flow_action to = TO(sinks[i % SINKS]);

		rules[i] = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, &to, 1);
		left[i % SINKS]++;
		order[i] = i;
	}
	for (unsigned int i = RULES; i--;) {
		unsigned int pick = rand_r(&seed) % (i + 1), rule = order[pick];

		order[pick] = order[i];
		steer(port, &p);
		for (unsigned int k = 0; k < SINKS; k++) {
			assert_int_equal(sinks[k].frames, left[k] ? 1 : 0);
			sinks[k].frames = 0;
		}
		flow_rule_destroy(rules[rule]);
		left[rule % SINKS]--;
	}
	steer(port, &p);
	for (unsigned int k = 0; k < SINKS; k++) {
		assert_int_equal(sinks[k].frames, 0);
		assert_int_equal(sinks[k].dest.users, 0);
	}
	assert_int_equal(flow_matcher_destroy(m), 0);
}

/* Nine that differ, so that a row is longer than what is looked up at a time. */
#define ROW 9

static unsigned int steer_row(struct ether_port *port, bool (*stop)(void))
{
	struct ether_frame frame[ROW];
	struct pkt p[ROW];

	for (unsigned int i = 0; i < ROW; i++) {
		p[i] = pkt_plain(1, 10 + i % 3);
		frame[i] = (struct ether_frame){ .data = p[i].b, .len = p[i].len };
	}
	return ether_steer_many(port, frame, ROW, stop);
}

static int asked;

static bool stop_at_the_fifth(void)
{
	return ++asked == 5;
}

static void a_batch_of_frames_is_matched_like_single_frames(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_table *t = root(port, FLOW_RX);
	struct flow_matcher *first = matcher_on(t, 0, FLOW_OUTER_udp_dport);
	/* Another part of the key, which is filled in only for those that get so far. */
	struct flow_matcher *second = matcher_on(t, 1, FLOW_source_sqn);
	struct sink a = SINK, b = SINK, all = SINK, seen = SINK;
	struct flow_action to_a = TO(a), to_b = TO(b), to_all = TO(all), to_seen = TO(seen);
	struct flow_rule *rules[] = {
		rule_on(first, FLOW_OUTER_udp_dport, 10, 0, &to_a, 1),
		rule_on(first, FLOW_OUTER_udp_dport, 11, 0, &to_b, 1),
		rule_on(second, FLOW_source_sqn, 0, 0, &to_all, 1),
	};
	struct flow_matcher *sniffer;
	struct flow_rule *sniffs;

	assert_int_equal(steer_row(port, NULL), ROW);
	assert_int_equal(a.frames, 3);
	assert_int_equal(b.frames, 3);
	assert_int_equal(all.frames, 3);

	asked = 0;
	assert_int_equal(steer_row(port, stop_at_the_fifth), 4);
	assert_int_equal(a.frames, 5);
	assert_int_equal(b.frames, 4);
	assert_int_equal(all.frames, 4);

	sniffer = matcher_on(root(port, FLOW_SNIFFER), 0, 0);
	sniffs = rule_on(sniffer, 0, 0, 0, &to_seen, 1);
	asked = 0;
	assert_int_equal(steer_row(port, stop_at_the_fifth), 4);
	assert_int_equal(seen.frames, 4);
	assert_int_equal(a.frames + b.frames + all.frames, 17);

	flow_rule_destroy(sniffs);
	assert_int_equal(flow_matcher_destroy(sniffer), 0);
	for (unsigned int i = 0; i < array_size(rules); i++)
		flow_rule_destroy(rules[i]);
	assert_int_equal(flow_matcher_destroy(first), 0);
	assert_int_equal(flow_matcher_destroy(second), 0);
	assert_int_equal(steer_row(port, NULL), ROW);
	assert_int_equal(a.frames + b.frames + all.frames, 17);
}

static void the_lower_number_goes_first_and_age_decides_between_equals(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_table *t = root(port, FLOW_RX);
	struct flow_matcher *m5 = matcher_on(t, 5, FLOW_OUTER_udp_dport);
	struct flow_matcher *m3 = matcher_on(t, 3, FLOW_OUTER_ip_protocol);
	struct flow_matcher *m3b = matcher_on(t, 3, FLOW_OUTER_udp_dport);
	struct sink s5 = SINK, s3 = SINK, s3b = SINK;
	struct flow_action to5 = TO(s5), to3 = TO(s3), to3b = TO(s3b);
	struct flow_rule *r5 = rule_on(m5, FLOW_OUTER_udp_dport, 10, 0, &to5, 1);
	struct flow_rule *r3b = rule_on(m3b, FLOW_OUTER_udp_dport, 10, 0, &to3b, 1);
	struct flow_rule *r3 = rule_on(m3, FLOW_OUTER_ip_protocol, 17, 0, &to3, 1);
	struct pkt p = pkt_plain(1, 10);

	steer(port, &p);
	assert_int_equal(s3.frames, 1);
	flow_rule_destroy(r3);
	steer(port, &p);
	assert_int_equal(s3b.frames, 1);
	flow_rule_destroy(r3b);
	steer(port, &p);
	assert_int_equal(s5.frames, 1);
	assert_int_equal(s3.frames + s3b.frames, 2);
	flow_rule_destroy(r5);
	flow_matcher_destroy(m3);
	flow_matcher_destroy(m3b);
	flow_matcher_destroy(m5);
}

static void equal_rules_of_a_root_all_get_a_copy(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, FLOW_OUTER_udp_dport);
	struct sink s[3] = { SINK, SINK, SINK };
	struct flow_rule *r[3], *refused;
	struct pkt p = pkt_plain(1, 10);
	struct flow_key key;

	for (int i = 0; i < 3; i++) {
		struct flow_action a[] = { { .op = FLOW_OP_TAG, .tag = 7 }, TO(s[i]) };

		r[i] = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, a, 2);
	}
	steer(port, &p);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(s[i].frames, 1);
		assert_int_equal(s[i].tag, 7);
	}
	flow_rule_destroy(r[1]);
	steer(port, &p);
	flow_rule_destroy(r[0]);
	steer(port, &p);
	assert_int_equal(s[0].frames, 2);
	assert_int_equal(s[1].frames, 1);
	assert_int_equal(s[2].frames, 3);

	memset(&key, 0, sizeof(key));
	flow_key_set(&key, FLOW_OUTER_udp_dport, 10);
	assert_int_equal(flow_rule_create(m, &key, FLOW_RULE_ALONE, NULL, 0, &refused), -EEXIST);
	flow_rule_destroy(r[2]);
	steer(port, &p);
	assert_int_equal(s[2].frames, 3);
	flow_matcher_destroy(m);
}

static void a_queue_with_two_equal_rules_gets_one_copy_until_both_are_destroyed(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, FLOW_OUTER_udp_dport);
	struct flow_counter *count = flow_counter_create(1);
	struct sink a = SINK, b = SINK;
	struct flow_action to_a[] = { { .op = FLOW_OP_COUNT, .counter = count }, TO(a) };
	struct flow_action to_b[] = { TO(b) };
	struct flow_rule *r[4];
	struct pkt p = pkt_plain(1, 10);
	uint64_t packets, bytes;

	for (int i = 0; i < 3; i++)
		r[i] = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, to_a, 2);
	r[3] = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, to_b, 1);
	steer(port, &p);
	assert_int_equal(a.frames, 1);
	assert_int_equal(b.frames, 1);
	flow_counter_read(count, &packets, &bytes);
	assert_int_equal(packets, 3); /* each of them has met it */
	flow_rule_destroy(r[1]);
	steer(port, &p);
	flow_rule_destroy(r[0]);
	steer(port, &p);
	assert_int_equal(a.frames, 3);
	flow_rule_destroy(r[2]);
	steer(port, &p);
	assert_int_equal(a.frames, 3);
	assert_int_equal(b.frames, 4);
	flow_rule_destroy(r[3]);
	flow_matcher_destroy(m);
	flow_counter_put(count);
}

static void equal_rules_of_a_root_differ_in_destinations_only(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, FLOW_OUTER_udp_dport);
	struct sink s = SINK, other = SINK;
	struct flow_action tagged[] = { { .op = FLOW_OP_TAG, .tag = 1 }, TO(s) };
	struct flow_action again[] = { { .op = FLOW_OP_TAG, .tag = 1 }, TO(other) };
	struct flow_action else_tagged[] = { { .op = FLOW_OP_TAG, .tag = 2 }, TO(other) };
	struct flow_action plain[] = { TO(other) }, drop = { .op = FLOW_OP_DROP };
	struct flow_rule *r[3], *refused;
	struct pkt p = pkt_plain(1, 10);
	struct flow_key key;

	memset(&key, 0, sizeof(key));
	flow_key_set(&key, FLOW_OUTER_udp_dport, 10);
	r[0] = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, tagged, 2);
	r[1] = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, again, 2);
	r[2] = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, plain, 1);
	assert_int_equal(flow_rule_create(m, &key, 0, else_tagged, 2, &refused), -EEXIST);
	assert_int_equal(flow_rule_create(m, &key, 0, &drop, 1, &refused), -EEXIST);
	steer(port, &p);
	assert_int_equal(s.frames, 1);
	assert_int_equal(other.frames, 1);
	for (int i = 0; i < 3; i++)
		flow_rule_destroy(r[i]);
	r[0] = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, &drop, 1);
	assert_int_equal(flow_rule_create(m, &key, 0, plain, 1, &refused), -EEXIST);
	flow_rule_destroy(r[0]);
	assert_int_equal(atomic_load(&other.dest.users), 0);
	flow_matcher_destroy(m);
}

static void a_frame_goes_on_after_a_rule_with_go_on(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_table *t = root(port, FLOW_RX);
	struct flow_matcher *m0 = matcher_on(t, 0, 0), *m1 = matcher_on(t, 1, 0);
	struct sink a = SINK, b = SINK;
	struct flow_action tag_a[] = { { .op = FLOW_OP_TAG, .tag = 7 }, TO(a) }, to_b = TO(b);
	struct flow_rule *ra = rule_on(m0, 0, 0, FLOW_RULE_GO_ON, tag_a, 2);
	struct flow_rule *rb = rule_on(m1, 0, 0, 0, &to_b, 1);
	struct pkt p = pkt_plain(1, 10);

	steer(port, &p);
	assert_int_equal(a.frames, 1);
	assert_int_equal(a.tag, 7);
	assert_int_equal(b.frames, 1);
	assert_int_equal(b.tag, ETHER_TAG_NONE);
	flow_rule_destroy(ra);
	flow_rule_destroy(rb);
	flow_matcher_destroy(m0);
	flow_matcher_destroy(m1);
}

static void sniffers_get_copies_only(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_matcher *ms = matcher_on(root(port, FLOW_SNIFFER), 0, 0);
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, FLOW_OUTER_udp_dport);
	struct sink snoop = SINK, a = SINK;
	struct flow_action to_snoop = TO(snoop), to_a = TO(a);
	struct flow_rule *rs = rule_on(ms, 0, 0, FLOW_RULE_GO_ON, &to_snoop, 1);
	struct flow_rule *ra = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, &to_a, 1);
	struct pkt p = pkt_plain(1, 10), other = pkt_plain(1, 11);

	steer(port, &p);
	steer(port, &other);
	assert_int_equal(snoop.frames, 2);
	assert_int_equal(a.frames, 1);
	flow_rule_destroy(rs);
	flow_rule_destroy(ra);
	flow_matcher_destroy(ms);
	flow_matcher_destroy(m);
}

static void tables_chain_and_the_oldest_of_equal_rules_wins_there(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_table *t;
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, 0), *mt;
	struct sink a = SINK, b = SINK;
	struct flow_action to_a = TO(a), to_b = TO(b), jump = { .op = FLOW_OP_TABLE };
	struct flow_rule *r, *ra, *rb;
	struct pkt p = pkt_plain(1, 10), other = pkt_plain(1, 11);

	assert_int_equal(flow_table_create(port, FLOW_RX, &t), 0);
	jump.table = t;
	r = rule_on(m, 0, 0, 0, &jump, 1);
	mt = matcher_on(t, 0, FLOW_OUTER_udp_dport);
	ra = rule_on(mt, FLOW_OUTER_udp_dport, 10, 0, &to_a, 1);
	rb = rule_on(mt, FLOW_OUTER_udp_dport, 10, 0, &to_b, 1);
	steer(port, &p);
	steer(port, &other);
	assert_int_equal(a.frames, 1);
	assert_int_equal(b.frames, 0);
	flow_rule_destroy(ra);
	steer(port, &p);
	assert_int_equal(b.frames, 1);
	flow_rule_destroy(rb);
	flow_rule_destroy(r);
	flow_matcher_destroy(mt);
	flow_matcher_destroy(m);
	flow_table_put(t);
}

static void a_loop_of_tables_ends(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_counter *c = flow_counter_create(1);
	struct flow_action a[] = { { .op = FLOW_OP_COUNT, .counter = c }, { .op = FLOW_OP_TABLE } };
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, 0), *mt;
	struct flow_rule *r, *rt;
	struct flow_table *t;
	struct pkt p = pkt_plain(1, 10);
	uint64_t packets, bytes;

	assert_int_equal(flow_table_create(port, FLOW_RX, &t), 0);
	a[1].table = t;
	mt = matcher_on(t, 0, 0);
	r = rule_on(m, 0, 0, 0, a + 1, 1);
	rt = rule_on(mt, 0, 0, 0, a, 2);
	steer(port, &p);
	flow_counter_read(c, &packets, &bytes);
	assert_in_range(packets, 1, 1000);
	assert_int_equal(bytes, packets * p.len);
	flow_rule_destroy(rt);
	flow_rule_destroy(r);
	flow_matcher_destroy(mt);
	flow_matcher_destroy(m);
	flow_table_put(t);
	flow_counter_put(c);
}

static void counters_of_a_bulk_count_separately(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_counter *bulk = flow_counter_create(4);
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, FLOW_OUTER_udp_dport);
	struct flow_rule *r[4];
	uint64_t packets, bytes;

	for (int i = 0; i < 4; i++) {
		struct flow_action a[] = { { .op = FLOW_OP_COUNT, .counter = bulk + i },
					   { .op = FLOW_OP_DROP } };

		r[i] = rule_on(m, FLOW_OUTER_udp_dport, i, 0, a, 2);
	}
	for (int i = 0; i < 4; i++)
		for (int n = 0; n <= i; n++) {
			struct pkt p = pkt_plain(1, i);

			steer(port, &p);
		}
	for (int i = 0; i < 4; i++) {
		flow_counter_read(bulk + i, &packets, &bytes);
		assert_int_equal(packets, i + 1);
		flow_rule_destroy(r[i]);
	}
	flow_counter_clear(bulk + 3);
	flow_counter_read(bulk + 3, &packets, &bytes);
	assert_int_equal(packets + bytes, 0);
	flow_matcher_destroy(m);
	flow_counter_put(bulk);
}

static void a_sampler_takes_one_of_n(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_counter *c = flow_counter_create(1);
	struct sink s = SINK, all = SINK;
	struct flow_action sampled[] = { { .op = FLOW_OP_COUNT, .counter = c }, TO(s) };
	struct flow_action to_all = TO(all), a = { .op = FLOW_OP_SAMPLE };
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, 0), *mt;
	struct flow_rule *r, *rt;
	struct flow_table *t;
	struct pkt p = pkt_plain(1, 10);
	uint64_t packets, bytes;

	assert_int_equal(flow_table_create(port, FLOW_RX, &t), 0);
	assert_int_equal(flow_sampler_create(4, t, sampled, 2, &a.sampler), 0);
	mt = matcher_on(t, 0, 0);
	rt = rule_on(mt, 0, 0, 0, &to_all, 1);
	r = rule_on(m, 0, 0, 0, &a, 1);
	for (int i = 0; i < 100; i++)
		steer(port, &p);
	flow_counter_read(c, &packets, &bytes);
	assert_int_equal(packets, 25);
	assert_int_equal(s.frames, 25);
	assert_int_equal(all.frames, 100);
	flow_rule_destroy(r);
	flow_rule_destroy(rt);
	flow_matcher_destroy(m);
	flow_matcher_destroy(mt);
	flow_sampler_destroy(a.sampler);
	flow_table_put(t);
	flow_counter_put(c);
}

/* ---- the switch and what leaves ---- */

static unsigned int sent;

static void note_sent(struct ether_port *port, struct ether_frame *frame)
{
	(void)port;
	(void)frame;
	sent++;
}

static void fdb_rules_send_in_or_out(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_matcher *mf = matcher_on(root(port, FLOW_FDB), 0, FLOW_OUTER_udp_dport);
	struct flow_matcher *mr = matcher_on(root(port, FLOW_RX), 0, 0);
	struct sink s = SINK;
	struct flow_action in = { .op = FLOW_OP_PORT, .vport = FLOW_VPORT_PF };
	struct flow_action out = { .op = FLOW_OP_PORT, .vport = FLOW_VPORT_UPLINK };
	struct flow_action drop = { .op = FLOW_OP_DROP }, to_s = TO(s);
	struct flow_rule *r[] = {
		rule_on(mf, FLOW_OUTER_udp_dport, 10, 0, &in, 1),
		rule_on(mf, FLOW_OUTER_udp_dport, 11, 0, &out, 1),
		rule_on(mf, FLOW_OUTER_udp_dport, 12, 0, &drop, 1),
		rule_on(mr, 0, 0, 0, &to_s, 1),
	};
	static const unsigned int received[] = { 1, 1, 1, 2 }, passed[] = { 0, 1, 0, 1 };

	ether_port_set_transmit(note_sent);
	sent = 0;
	for (unsigned int i = 0; i < 4; i++) {
		struct pkt p = pkt_plain(1, 10 + i);
		struct ether_frame frame = { .data = p.b, .len = p.len };

		steer(port, &p);
		assert_int_equal(s.frames, received[i]);
		assert_int_equal(ether_steer_out(port, &frame), passed[i]);
	}
	assert_int_equal(sent, 1); /* what came in and was sent out again */
	for (unsigned int i = 0; i < 4; i++)
		flow_rule_destroy(r[i]);
	flow_matcher_destroy(mf);
	flow_matcher_destroy(mr);
	ether_port_set_transmit(NULL);
}

static void egress_rules_drop_and_pass(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_matcher *m = matcher_on(root(port, FLOW_TX), 0, FLOW_OUTER_udp_dport);
	struct flow_action drop = { .op = FLOW_OP_DROP };
	struct flow_rule *r = rule_on(m, FLOW_OUTER_udp_dport, 10, 0, &drop, 1);
	struct pkt p = pkt_plain(1, 10), other = pkt_plain(1, 11);
	struct ether_frame frame = { .data = p.b, .len = p.len };

	assert_false(ether_steer_out(port, &frame));
	frame = (struct ether_frame){ .data = other.b, .len = other.len };
	assert_true(ether_steer_out(port, &frame));
	flow_rule_destroy(r);
	frame = (struct ether_frame){ .data = p.b, .len = p.len };
	assert_true(ether_steer_out(port, &frame));
	flow_matcher_destroy(m);
}

/* ---- refusals ---- */

static void invalid_rules_are_refused(void **state)
{
	struct ether_port *port = fresh_port(), *far = fresh_port();
	struct flow_matcher *rx = matcher_on(root(port, FLOW_RX), 0, FLOW_OUTER_udp_dport), *bad;
	struct flow_matcher *tx = matcher_on(root(port, FLOW_TX), 0, 0);
	struct sink s = SINK;
	struct flow_action to = TO(s), tag = { .op = FLOW_OP_TAG }, vport = { .op = FLOW_OP_PORT };
	struct flow_action jump = { .op = FLOW_OP_TABLE };
	struct flow_rule *rule = (void *)1;
	struct flow_table *t;
	struct flow_key key;

	memset(&key, 0, sizeof(key));
	assert_int_equal(flow_rule_create(tx, &key, 0, &to, 1, &rule), -EINVAL);
	assert_int_equal(flow_rule_create(tx, &key, 0, &tag, 1, &rule), -EINVAL);
	assert_int_equal(flow_rule_create(rx, &key, 0, &vport, 1, &rule), -EINVAL);
	jump.table = root(port, FLOW_RX);
	assert_int_equal(flow_rule_create(rx, &key, 0, &jump, 1, &rule), -EINVAL);
	assert_int_equal(flow_table_create(far, FLOW_RX, &t), 0);
	jump.table = t;
	assert_int_equal(flow_rule_create(rx, &key, 0, &jump, 1, &rule), -EINVAL);
	flow_table_put(t);
	flow_key_set(&key, FLOW_OUTER_udp_sport, 1);
	assert_int_equal(flow_rule_create(rx, &key, 0, &to, 1, &rule), -EINVAL);
	assert_ptr_equal(rule, (void *)1);
	assert_int_equal(s.dest.users, 0);
	memset(&key, 0xff, sizeof(key));
	assert_int_equal(flow_matcher_create(jump.table, 0, &key, &bad), -EOPNOTSUPP);
	flow_matcher_destroy(rx);
	flow_matcher_destroy(tx);
}

/* ---- many ---- */

/* 65536 values of a field that counts up, hashed into four times as many slots. */
static unsigned int slots_used(enum flow_field field)
{
	enum { VALUES = 65536, SLOTS = 4 * VALUES };
	uint8_t *used = calloc(SLOTS, 1);
	unsigned int count = 0;

	assert_non_null(used);
	for (unsigned int i = 0; i < VALUES; i++) {
		struct flow_key key;
		uint64_t hash = 0;
		uint32_t slot;

		memset(&key, 0, sizeof(key));
		flow_key_set(&key, field, i);
		for (unsigned int w = 0; w < FLOW_KEY_WORDS; w++)
			if (key.words[w] || w == ((unsigned int)field >> 8) / 64)
				hash = flow_hash_step(hash, key.words[w]);
		slot = flow_hash_end(hash) & (SLOTS - 1);
		count += !used[slot];
		used[slot] = 1;
	}
	free(used);
	return count;
}

static void values_that_count_up_spread_over_the_hash_table(void **state)
{
	(void)state;
	/* A random function uses 57,990 of the slots. */
	assert_true(slots_used(FLOW_OUTER_src_ip_l) > 55000);
	assert_true(slots_used(FLOW_OUTER_dst_ip_l) > 55000);
	assert_true(slots_used(FLOW_OUTER_dmac) > 55000);
	assert_true(slots_used(FLOW_OUTER_smac) > 55000);
	assert_true(slots_used(FLOW_OUTER_tcp_dport) > 55000);
	assert_true(slots_used(FLOW_OUTER_udp_sport) > 55000);
}

static void ten_thousand_rules_are_told_apart(void **state)
{
	enum { COUNT = 10000 };
	struct ether_port *port = fresh_port();
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, FLOW_OUTER_src_ip_l);
	struct flow_rule **rules = calloc(COUNT, sizeof(*rules));
	struct flow_counter *counters = flow_counter_create(COUNT);
	unsigned int groups, count;
	uint64_t packets, bytes;

	for (uint32_t i = 0; i < COUNT; i++) {
		struct flow_action a[] = { { .op = FLOW_OP_COUNT, .counter = &counters[i] },
					   { .op = FLOW_OP_DROP } };

		rules[i] = rule_on(m, FLOW_OUTER_src_ip_l, 0x0a000000 + i, 0, a, 2);
	}
	flow_table_size(root(port, FLOW_RX), &groups, &count);
	assert_int_equal(groups, 1);
	assert_int_equal(count, COUNT);
	/* Every third rule is destroyed, and no other value is found in its slot. */
	for (uint32_t i = 0; i < COUNT; i += 3)
		flow_rule_destroy(rules[i]);
	for (uint32_t i = 0; i < COUNT; i++) {
		struct pkt p = pkt_plain(1, 2);

		pkt_set16(&p, 26, 0x0a00);
		pkt_set16(&p, 28, i);
		steer(port, &p);
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		flow_counter_read(&counters[i], &packets, &bytes);
		assert_int_equal(packets, i % 3 != 0);
		if (i % 3)
			flow_rule_destroy(rules[i]);
	}
	flow_table_size(root(port, FLOW_RX), &groups, &count);
	assert_int_equal(count, 0);
	assert_int_equal(flow_matcher_destroy(m), 0);
	flow_counter_put(counters);
	free(rules);
}

struct churn {
	struct flow_matcher *matcher;
	struct sink *sink;
	atomic_bool stop;
};

static void *churn(void *arg)
{
	struct churn *c = arg;
	struct flow_action to = TO(*c->sink);
	struct flow_rule *rules[64];

	while (!atomic_load(&c->stop)) {
		for (unsigned int i = 0; i < 64; i++)
			rules[i] = rule_on(c->matcher, FLOW_OUTER_udp_dport, 100 + i, 0, &to, 1);
		for (unsigned int i = 0; i < 64; i++)
			flow_rule_destroy(rules[i]);
	}
	return NULL;
}

static void a_rule_never_misses_while_others_are_created_and_destroyed(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_matcher *m = matcher_on(root(port, FLOW_RX), 0, FLOW_OUTER_udp_dport);
	struct sink stays = SINK, other = SINK;
	struct flow_action to = TO(stays);
	struct flow_rule *r = rule_on(m, FLOW_OUTER_udp_dport, 7, 0, &to, 1);
	struct churn c = { .matcher = m, .sink = &other };
	struct pkt p = pkt_plain(1, 7);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, churn, &c), 0);
	for (unsigned int i = 0; i < 20000; i++) {
		struct pkt q = pkt_plain(1, 100 + i % 64);

		steer(port, &p);
		steer(port, &q);
	}
	atomic_store(&c.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(stays.frames, 20000);
	flow_rule_destroy(r);
	assert_int_equal(flow_matcher_destroy(m), 0);
}

static void rules_tell_the_switch_what_they_want(void **state)
{
	struct ether_port *port = fresh_port();
	struct flow_table *t = root(port, FLOW_RX);
	struct flow_matcher *mac = matcher_on(t, 0, FLOW_OUTER_dmac), *any = matcher_on(t, 0, 0);
	struct sink s = SINK;
	struct flow_action to = TO(s);
	struct flow_rule *r1 = rule_on(mac, FLOW_OUTER_dmac, 0x020000000002, 0, &to, 1), *r2;
	static const uint8_t address[6] = { 2, 0, 0, 0, 0, 2 };

	assert_true(port->filter->macs == 1ull << ether_mac_bit(address));
	assert_int_equal(port->filter->flags, 0);
	r2 = rule_on(any, 0, 0, 0, &to, 1);
	assert_int_equal(port->filter->flags, ETHER_RX_ALL);
	flow_rule_destroy(r2);
	assert_true(ether_rx_filter_claims(port->filter, address));
	flow_rule_destroy(r1);
	assert_true(!port->filter->macs && !port->filter->flags);
	assert_false(ether_rx_filter_claims(port->filter, address));

	/* One that goes on takes nothing, and one for what is left takes less than all. */
	r1 = rule_on(mac, FLOW_OUTER_dmac, 0x020000000002, FLOW_RULE_GO_ON, &to, 1);
	assert_false(ether_rx_filter_claims(port->filter, address));
	flow_rule_destroy(r1);
	r2 = rule_on(any, 0, 0, FLOW_RULE_UNCLAIMED, &to, 1);
	assert_int_equal(port->filter->flags, ETHER_RX_UNCLAIMED);
	assert_int_equal(ether_rx_filter_wants(port->filter, address), ETHER_WANTS_UNCLAIMED);
	flow_rule_destroy(r2);
	assert_int_equal(port->filter->flags, 0);
	flow_matcher_destroy(mac);
	flow_matcher_destroy(any);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			each_destination_gets_a_packet_once_whichever_of_its_rules_are_left),
		cmocka_unit_test(values_that_count_up_spread_over_the_hash_table),
		cmocka_unit_test(a_port_without_rules_drops_incoming_and_passes_outgoing_frames),
		cmocka_unit_test(only_the_matching_rule_sees_a_frame),
		cmocka_unit_test(a_batch_of_frames_is_matched_like_single_frames),
		cmocka_unit_test(the_lower_number_goes_first_and_age_decides_between_equals),
		cmocka_unit_test(equal_rules_of_a_root_all_get_a_copy),
		cmocka_unit_test(
			a_queue_with_two_equal_rules_gets_one_copy_until_both_are_destroyed),
		cmocka_unit_test(equal_rules_of_a_root_differ_in_destinations_only),
		cmocka_unit_test(a_frame_goes_on_after_a_rule_with_go_on),
		cmocka_unit_test(sniffers_get_copies_only),
		cmocka_unit_test(tables_chain_and_the_oldest_of_equal_rules_wins_there),
		cmocka_unit_test(a_loop_of_tables_ends),
		cmocka_unit_test(counters_of_a_bulk_count_separately),
		cmocka_unit_test(a_sampler_takes_one_of_n),
		cmocka_unit_test(fdb_rules_send_in_or_out),
		cmocka_unit_test(egress_rules_drop_and_pass),
		cmocka_unit_test(invalid_rules_are_refused),
		cmocka_unit_test(ten_thousand_rules_are_told_apart),
		cmocka_unit_test(a_rule_never_misses_while_others_are_created_and_destroyed),
		cmocka_unit_test(rules_tell_the_switch_what_they_want),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
