/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "roce/fault.h"
#include "samples.h"
#include "util/api.h"
#include "util/explain.h"

static struct roce_fault *load(const char *script, uint64_t seed)
{
	struct roce_fault *f;

	assert_int_equal(roce_fault_create(&f), 0);
	assert_int_equal(roce_fault_load(f, script, seed, 1000), 0);
	return f;
}

static enum roce_fault_action judge(struct roce_fault *f, enum roce_dir dir, uint8_t op,
				    uint32_t psn)
{
	struct roce_pkt pkt = sample_packet(op, 64);

	pkt.psn = psn;
	return roce_fault_judge(f, dir, &pkt, NULL, 1000).action;
}

/* Judges the next packet of a sequence. */
static enum roce_fault_action out(struct roce_fault *f)
{
	static uint32_t psn;

	return judge(f, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, psn++ & PSN_MASK);
}

static void without_rules_nothing_happens(void **state)
{
	struct roce_fault *f = load(" \n; # nothing at all\n;;", 1);

	assert_false(roce_fault_on(f));
	assert_int_equal(out(f), ROCE_FAULT_NONE);
	roce_fault_destroy(f);
}

static void a_rule_without_conditions_always_fires(void **state)
{
	struct roce_fault *f = load("drop", 1);

	assert_true(roce_fault_on(f));
	for (int i = 0; i < 10; i++)
		assert_int_equal(out(f), ROCE_FAULT_DROP);
	roce_fault_destroy(f);
}

static void inspection_is_enabled_while_a_script_has_rules(void **state)
{
	struct roce_fault *a, *b;

	assert_false(roce_inspect_enabled());
	a = load("drop", 1);
	assert_true(roce_inspect_enabled());
	b = load("dup", 1);
	assert_int_equal(roce_fault_load(b, "drop; dup", 1, 0), 0);
	assert_int_equal(roce_fault_load(a, "", 1, 0), 0);
	assert_true(roce_inspect_enabled());
	assert_int_equal(roce_fault_load(a, "", 1, 0), 0);
	assert_true(roce_inspect_enabled());
	roce_fault_destroy(b);
	assert_false(roce_inspect_enabled());
	roce_fault_destroy(a);
	assert_false(roce_inspect_enabled());
}

static void nth_every_after_and_count_count_what_met_the_conditions(void **state)
{
	struct roce_fault *f = load("drop nth=3 opcode=SEND_ONLY", 1);

	for (int i = 1; i < 8; i++) {
		assert_int_equal(judge(f, ROCE_DIR_OUT, ROCE_PKT_ACK, 0), ROCE_FAULT_NONE);
		assert_int_equal(out(f), i == 3 ? ROCE_FAULT_DROP : ROCE_FAULT_NONE);
	}
	assert_int_equal(roce_fault_load(f, "dup every=4", 1, 0), 0);
	for (int i = 1; i < 20; i++)
		assert_int_equal(out(f), i % 4 ? ROCE_FAULT_NONE : ROCE_FAULT_DUP);
	assert_int_equal(roce_fault_load(f, "drop after=5 count=3", 1, 0), 0);
	for (int i = 1; i < 20; i++)
		assert_int_equal(out(f), i > 5 && i <= 8 ? ROCE_FAULT_DROP : ROCE_FAULT_NONE);
	roce_fault_destroy(f);
}

static void conditions_look_at_the_packet(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_TR_UD | ROCE_PKT_SEND_ONLY, 64);
	struct roce_addr here, there;
	struct roce_fault *f = load("drop opcode=UC_WRITE_ONLY", 1);

	assert_int_equal(judge(f, ROCE_DIR_IN, 0x2a, 0), ROCE_FAULT_DROP);
	assert_int_equal(judge(f, ROCE_DIR_IN, 0x0a, 0), ROCE_FAULT_NONE);
	roce_fault_load(f, "drop opcode=write_only", 1, 0);
	assert_int_equal(judge(f, ROCE_DIR_IN, 0x2a, 0), ROCE_FAULT_DROP);
	assert_int_equal(judge(f, ROCE_DIR_IN, 0xaa, 0), ROCE_FAULT_DROP);
	/* CNP: 0x81 & 0x1f is SEND_MIDDLE */
	roce_fault_load(f, "drop opcode=send_middle", 1, 0);
	assert_int_equal(judge(f, ROCE_DIR_IN, ROCE_OP_CNP, 0), ROCE_FAULT_NONE);
	roce_fault_load(f, "drop opcode=0x64", 1, 0);
	assert_int_equal(judge(f, ROCE_DIR_IN, 0x64, 0), ROCE_FAULT_DROP);
	roce_fault_load(f, "drop psn=0xfffffe-1", 1, 0);
	assert_int_equal(judge(f, ROCE_DIR_IN, 0, 0xfffffd), ROCE_FAULT_NONE);
	assert_int_equal(judge(f, ROCE_DIR_IN, 0, 0xfffffe), ROCE_FAULT_DROP);
	assert_int_equal(judge(f, ROCE_DIR_IN, 0, 1), ROCE_FAULT_DROP);
	assert_int_equal(judge(f, ROCE_DIR_IN, 0, 2), ROCE_FAULT_NONE);
	roce_fault_load(f, "drop dir=in", 1, 0);
	assert_int_equal(judge(f, ROCE_DIR_IN, 0, 0), ROCE_FAULT_DROP);
	assert_int_equal(judge(f, ROCE_DIR_OUT, 0, 0), ROCE_FAULT_NONE);
	roce_fault_load(f, "drop qp=0xabcde1 sqp=0x123 peer=10.0.0.2", 1, 0);
	roce_addr_parse("10.0.0.2", &there);
	roce_addr_parse("10.0.0.1", &here);
	assert_int_equal(roce_fault_judge(f, ROCE_DIR_IN, &pkt, &there, 0).action, ROCE_FAULT_DROP);
	assert_int_equal(roce_fault_judge(f, ROCE_DIR_IN, &pkt, &here, 0).action, ROCE_FAULT_NONE);
	pkt.sqpn++;
	assert_int_equal(roce_fault_judge(f, ROCE_DIR_IN, &pkt, &there, 0).action, ROCE_FAULT_NONE);
	pkt.sqpn--;
	pkt.dqpn++;
	assert_int_equal(roce_fault_judge(f, ROCE_DIR_IN, &pkt, &there, 0).action, ROCE_FAULT_NONE);
	roce_fault_destroy(f);
}

static void a_link_is_down_between_two_moments(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 64);
	struct roce_fault *f = load("drop from_ms=100 to_ms=300", 1);
	static const struct {
		uint64_t ms;
		enum roce_fault_action want;
	} times[] = { { 0, ROCE_FAULT_NONE },
		      { 99, ROCE_FAULT_NONE },
		      { 100, ROCE_FAULT_DROP },
		      { 299, ROCE_FAULT_DROP },
		      { 300, ROCE_FAULT_NONE } };

	for (size_t i = 0; i < array_size(times); i++)
		assert_int_equal(
			roce_fault_judge(f, ROCE_DIR_IN, &pkt, NULL, 1000 + times[i].ms * 1000000)
				.action,
			times[i].want);
	roce_fault_destroy(f);
}

static void one_seed_gives_one_sequence_and_another_gives_another(void **state)
{
	struct roce_fault *a = load("drop p=0.3; dup p=10%", 42),
			  *b = load("drop p=0.3; dup p=0.1", 42);
	struct roce_fault *c = load("drop p=0.3; dup p=0.1", 43);
	unsigned int differ = 0, count[16] = { 0 };

	for (uint32_t i = 0; i < 20000; i++) {
		enum roce_fault_action x = judge(a, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, i);

		assert_int_equal(x, judge(b, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, i));
		differ += x != judge(c, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, i);
		count[x]++;
	}
	assert_true(differ > 1000);
	/* 6000 and 1400 of 20000 on average; six standard deviations */
	assert_in_range(count[ROCE_FAULT_DROP], 5600, 6400);
	assert_in_range(count[ROCE_FAULT_DUP], 1180, 1620);
	roce_fault_destroy(a);
	roce_fault_destroy(b);
	roce_fault_destroy(c);
}

static void a_new_rule_does_not_change_what_others_draw(void **state)
{
	struct roce_fault *a = load("drop p=0.5", 7),
			  *b = load("drop p=0.5; dup opcode=ACK p=0.5", 7);

	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(judge(a, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, i),
				 judge(b, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, i));
		judge(b, ROCE_DIR_OUT, ROCE_PKT_ACK, i);
		judge(a, ROCE_DIR_OUT, ROCE_PKT_ACK, i);
	}
	roce_fault_destroy(a);
	roce_fault_destroy(b);
}

static void chance_depends_on_the_packet_id_not_on_other_packets(void **state)
{
	struct roce_fault *quiet = load("drop p=50%", 3), *busy = load("drop p=50%", 3);
	unsigned int drops = 0;

	for (uint32_t psn = 0; psn < 1000; psn++) {
		enum roce_fault_action fate;

		fate = judge(quiet, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, 7000 + psn);
		/* other first PSN, with responses and the other direction in between */
		assert_int_equal(judge(busy, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, 42 + psn), fate);
		for (uint32_t i = psn % 3; i; i--) {
			judge(busy, ROCE_DIR_IN, ROCE_PKT_ACK, 42 + psn);
			judge(busy, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, 900000 + psn);
		}
		drops += fate == ROCE_FAULT_DROP;
	}
	assert_in_range(drops, 400, 600);
	roce_fault_destroy(quiet);
	roce_fault_destroy(busy);
}

static void a_packet_that_is_sent_often_enough_gets_through(void **state)
{
	struct roce_fault *f = load("drop p=80%", 1);

	for (uint32_t psn = 0; psn < 3000; psn++)
		judge(f, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, psn);
	for (uint32_t psn = 0; psn < 512; psn++) {
		int tries = 0;

		/* many packets that share a slot, sent alternately */
		while (judge(f, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, psn) == ROCE_FAULT_DROP) {
			judge(f, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, psn + 512);
			judge(f, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, psn + 1024);
			assert_true(++tries < 200);
		}
	}
	roce_fault_destroy(f);
}

static void a_repeat_of_a_packet_that_got_through_is_not_selected(void **state)
{
	static const char *const picks[] = { "drop p=50%", "dup p=50%",       "reorder p=50%",
					     "drop nth=3", "corrupt every=2", "delay us=9 p=50%" };

	for (size_t i = 0; i < array_size(picks); i++) {
		struct roce_fault *f = load(picks[i], 5);
		unsigned int hits = 0;

		for (uint32_t psn = 0; psn < 100; psn++) {
			enum roce_fault_action fate =
				judge(f, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, psn);

			hits += fate != ROCE_FAULT_NONE;
			/* lost packets are selected from again until they get through; others never */
			while (fate == ROCE_FAULT_DROP || fate == ROCE_FAULT_CORRUPT)
				fate = judge(f, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, psn);
			for (uint32_t old = psn > 5 ? psn - 5 : 0; old <= psn; old++)
				assert_int_equal(judge(f, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, old),
						 ROCE_FAULT_NONE);
		}
		assert_true(hits > 0);
		roce_fault_destroy(f);
	}
}

static void again_selects_from_all_packets(void **state)
{
	struct roce_fault *f = load("dup every=2 again=yes", 1);

	for (int i = 1; i < 10; i++)
		assert_int_equal(judge(f, ROCE_DIR_OUT, ROCE_PKT_SEND_ONLY, 7),
				 i % 2 ? ROCE_FAULT_NONE : ROCE_FAULT_DUP);
	roce_fault_destroy(f);
}

static void a_packet_that_was_overtaken_is_not_a_repeat(void **state)
{
	struct roce_fault *a = load("drop p=50%", 9), *b = load("drop p=50%", 9);
	enum roce_fault_action first, second;

	judge(a, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, 50);
	judge(b, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, 50);
	for (uint32_t psn = 51; psn < 200; psn += 2) {
		first = judge(a, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, psn);
		second = judge(a, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, psn + 1);
		assert_int_equal(judge(b, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, psn + 1), second);
		assert_int_equal(judge(b, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, psn), first);
	}
	roce_fault_destroy(a);
	roce_fault_destroy(b);
}

static void a_qp_that_was_reset_is_another_connection(void **state)
{
	struct roce_fault *f = load("dup every=1", 1);
	struct roce_fired list[4];

	assert_int_equal(judge(f, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, 7), ROCE_FAULT_DUP);
	assert_int_equal(judge(f, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, 7), ROCE_FAULT_NONE);
	roce_fault_reset_qp(f, 0xabcde1);
	assert_int_equal(judge(f, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, 7), ROCE_FAULT_DUP);
	assert_int_equal(roce_fault_list(f, list, array_size(list)), 2);
	assert_int_equal(list[0].connection, 1);
	assert_int_equal(list[1].connection, 2);
	assert_int_equal(list[1].packet, 0);
	roce_fault_destroy(f);
}

static void datagrams_of_several_senders_are_told_apart(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_TR_UD | ROCE_PKT_SEND_ONLY, 64);
	struct roce_fault *f = load("dup every=1", 1);
	struct roce_addr here, there;

	roce_addr_parse("10.0.0.2", &there);
	roce_addr_parse("10.0.0.1", &here);
	assert_int_equal(roce_fault_judge(f, ROCE_DIR_IN, &pkt, &here, 0).action, ROCE_FAULT_DUP);
	assert_int_equal(roce_fault_judge(f, ROCE_DIR_IN, &pkt, &here, 0).action, ROCE_FAULT_NONE);
	assert_int_equal(roce_fault_judge(f, ROCE_DIR_IN, &pkt, &there, 0).action, ROCE_FAULT_DUP);
	pkt.sqpn++;
	assert_int_equal(roce_fault_judge(f, ROCE_DIR_IN, &pkt, &there, 0).action, ROCE_FAULT_DUP);
	roce_fault_destroy(f);
}

static void pass_spares_a_packet_from_later_rules(void **state)
{
	struct roce_fault *f = load("pass opcode=ACK; drop", 1);

	assert_int_equal(judge(f, ROCE_DIR_OUT, ROCE_PKT_ACK, 0), ROCE_FAULT_NONE);
	assert_int_equal(out(f), ROCE_FAULT_DROP);
	roce_fault_destroy(f);
}

static void verdicts_carry_the_parameters_of_their_rule(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 64);
	struct roce_fault *f = load("delay us=50", 1);
	struct roce_verdict v = roce_fault_judge(f, ROCE_DIR_OUT, &pkt, NULL, 0);

	assert_int_equal(v.delay_ns, 50000);
	roce_fault_load(f, "delay ms=3", 1, 0);
	v = roce_fault_judge(f, ROCE_DIR_OUT, &pkt, NULL, 0);
	assert_int_equal(v.delay_ns, 3000000);
	roce_fault_load(f, "corrupt bit=17", 1, 0);
	v = roce_fault_judge(f, ROCE_DIR_OUT, &pkt, NULL, 0);
	assert_int_equal(v.action, ROCE_FAULT_CORRUPT);
	assert_int_equal(v.bit, 17);
	roce_fault_destroy(f);
}

static void rnr_and_nak_are_for_the_responder_only(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 64);
	struct roce_fault *f = load("rnr timer=5 nth=1; nak code=access nth=1; drop", 1);
	struct roce_verdict v = roce_fault_judge(f, ROCE_DIR_IN, &pkt, NULL, 0);

	assert_int_equal(v.action, ROCE_FAULT_DROP);
	v = roce_fault_judge_request(f, &pkt, NULL, 0);
	assert_int_equal(v.action, ROCE_FAULT_RNR);
	assert_int_equal(v.syndrome, ROCE_SYN_RNR | 5);
	v = roce_fault_judge_request(f, &pkt, NULL, 0);
	assert_int_equal(v.action, ROCE_FAULT_NAK);
	assert_int_equal(v.syndrome, ROCE_SYN_NAK_ACCESS);
	v = roce_fault_judge_request(f, &pkt, NULL, 0);
	assert_int_equal(v.action, ROCE_FAULT_NONE);
	roce_fault_destroy(f);
}

static void faults_that_fired_are_counted_and_listed(void **state)
{
	struct roce_fault *f = load("drop psn=3 ;\n dup every=2 # half of them", 1);
	struct roce_fired list[2000];
	const char *text;
	uint64_t fired;
	size_t n;

	for (uint32_t psn = 0; psn < 10; psn++)
		judge(f, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, psn);
	assert_true(roce_fault_rule(f, 0, &text, &fired));
	assert_string_equal(text, "drop psn=3");
	assert_int_equal(fired, 1);
	assert_true(roce_fault_rule(f, 1, &text, &fired));
	assert_string_equal(text, "dup every=2");
	assert_int_equal(fired, 4); /* of nine: the dropped one did not reach this rule */
	assert_false(roce_fault_rule(f, 2, &text, &fired));
	n = roce_fault_list(f, list, array_size(list));
	assert_int_equal(n, 5);
	assert_int_equal(list[1].psn, 3);
	assert_int_equal(list[1].action, ROCE_FAULT_DROP);
	assert_int_equal(list[1].qpn, 0xabcde1);
	assert_int_equal(list[1].dir, ROCE_DIR_IN);
	assert_int_equal(list[4].psn, 8);
	assert_int_equal(roce_fault_list(f, list, 2), 2);
	assert_int_equal(list[1].psn, 8);

	/* Only the newest faults are listed. */
	roce_fault_load(f, "drop", 1, 0);
	for (uint32_t psn = 0; psn < 1500; psn++)
		judge(f, ROCE_DIR_IN, ROCE_PKT_SEND_ONLY, psn);
	assert_int_equal(roce_fault_list(f, list, array_size(list)), 1024);
	assert_int_equal(list[0].psn, 476);
	assert_int_equal(list[1023].psn, 1499);
	roce_fault_destroy(f);
}

static void errors_are_explained_with_their_position(void **state)
{
	static const struct {
		const char *script, *where, *why;
	} bad[] = {
		{ "dorp p=1", "character 1:", "'dorp' is no action" },
		{ "drop; dup evry=3", "character 11:", "'evry=3' is no condition" },
		{ "drop p=1.5", "character 6:", "no probability" },
		{ "drop p=", "character 6:", "no probability" },
		{ "drop p=.", "character 6:", "no probability" },
		{ "drop p=0,5", "character 6:", "no probability" },
		{ "drop p=1e-3", "character 6:", "no probability" },
		{ "drop p=-1", "character 6:", "no probability" },
		{ "drop p", "character 6:", "key=value" },
		{ "drop nth=0", "character 6:", "from 1 on" },
		{ "drop nth=x", "character 6:", "from 1 on" },
		{ "drop every=-3", "character 6:", "from 1 on" },
		{ "drop qp=0x1000000", "character 6:", "0 to 16777215" },
		{ "drop psn=5-", "character 6:", "100-199" },
		{ "drop psn=-5", "character 6:", "packet number" },
		{ "drop opcode=SEND", "character 6:", "no opcode" },
		{ "drop opcode=0x18", "character 6:", "no opcode" },
		{ "drop dir=up", "character 6:", "in or out" },
		{ "drop peer=there", "character 6:", "no IP address" },
		{ "drop us=3", "character 6:", "does not apply to" },
		{ "drop nth=3 nth=4", "character 12:", "twice" },
		{ "delay p=0.1", "character 1:", "us=50" },
		{ "nak", "character 1:", "code=" },
		{ "nak code=maybe", "character 5:", "seq, invalid" },
		{ "rnr timer=32", "character 5:", "0 to 31" },
		{ "rnr dir=out", "character 1:", "received packets" },
		{ "drop from_ms=5 to_ms=5", "character 1:", "before it starts" },
		{ "drop\n# fine\n dup nth=q", "line 3, character 6:", "from 1 on" },
	};
	struct roce_fault *f = load("drop nth=2", 1);

	for (size_t i = 0; i < array_size(bad); i++) {
		assert_int_equal(roce_fault_load(f, bad[i].script, 1, 0), -EINVAL);
		if (!strstr(explain_last(), bad[i].where) || !strstr(explain_last(), bad[i].why))
			fail_msg("'%s': %s", bad[i].script, explain_last());
	}
	/* The old rules stay, with their counts. */
	assert_int_equal(out(f), ROCE_FAULT_NONE);
	assert_int_equal(out(f), ROCE_FAULT_DROP);
	roce_fault_destroy(f);
}

static void more_rules_than_there_is_room_for_are_refused(void **state)
{
	char script[65 * 6 + 1] = "";
	struct roce_fault *f;

	for (int i = 0; i < 64; i++)
		strcat(script, "drop;");
	f = load(script, 1);
	strcat(script, "drop;");
	assert_int_equal(roce_fault_load(f, script, 1, 0), -EINVAL);
	roce_fault_destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_rules_nothing_happens),
		cmocka_unit_test(a_rule_without_conditions_always_fires),
		cmocka_unit_test(inspection_is_enabled_while_a_script_has_rules),
		cmocka_unit_test(nth_every_after_and_count_count_what_met_the_conditions),
		cmocka_unit_test(conditions_look_at_the_packet),
		cmocka_unit_test(a_link_is_down_between_two_moments),
		cmocka_unit_test(one_seed_gives_one_sequence_and_another_gives_another),
		cmocka_unit_test(a_new_rule_does_not_change_what_others_draw),
		cmocka_unit_test(chance_depends_on_the_packet_id_not_on_other_packets),
		cmocka_unit_test(a_packet_that_is_sent_often_enough_gets_through),
		cmocka_unit_test(a_repeat_of_a_packet_that_got_through_is_not_selected),
		cmocka_unit_test(again_selects_from_all_packets),
		cmocka_unit_test(a_packet_that_was_overtaken_is_not_a_repeat),
		cmocka_unit_test(a_qp_that_was_reset_is_another_connection),
		cmocka_unit_test(datagrams_of_several_senders_are_told_apart),
		cmocka_unit_test(pass_spares_a_packet_from_later_rules),
		cmocka_unit_test(verdicts_carry_the_parameters_of_their_rule),
		cmocka_unit_test(rnr_and_nak_are_for_the_responder_only),
		cmocka_unit_test(faults_that_fired_are_counted_and_listed),
		cmocka_unit_test(errors_are_explained_with_their_position),
		cmocka_unit_test(more_rules_than_there_is_room_for_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
