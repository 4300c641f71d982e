/* SPDX-License-Identifier: BSD-2-Clause */
/* What lanes send, and who gets which. */
#include "cmocka_all.h"

#include <pthread.h>

#include "lane.h"
#include "roce/taps.h"

/* ---- ids ---- */

static void packets_of_a_lane_have_the_ids_that_their_icrc_counts_on(void **state)
{
	static const unsigned int rows[] = { 1, 2, 1, 40, 64, 3, 65, 1 };

	for (size_t v = 0; v < array_size(hosts); v++) {
		struct lane l;

		lane_init(&l, v, NULL);
		/* each alone, all in one batch, and with a short one at the end */
		for (size_t i = 0; i < array_size(rows); i++) {
			add_row(&l, rows[i], 64);
			flush(&l);
			see_all(&l);
		}
		for (size_t i = 0; i < array_size(rows); i++)
			add_row(&l, rows[i], 32 + i * 4);
		flush(&l);
		see_all(&l);
		add_row(&l, 17, 512);
		assert_int_equal(add_one(&l, 3), 0);
		flush(&l);
		see_all(&l);
		pair_receive(&l.p, l.added);
		for (uint32_t i = 0; i < l.added; i++) {
			assert_int_equal(l.p.in.at[i].pkt.psn, i);
			assert_int_equal(l.p.in.at[i].meta.sport, l.p.path.sport);
		}
		assert_true(source_of(&l)->connected);
		assert_int_equal(count_of(&l).tx_lost, 0);
		lane_fini(&l);
	}
}

static void a_row_leaves_by_one_send_whose_segments_are_counted(void **state)
{
	struct sight first, s;
	struct lane l;

	lane_init(&l, 0, NULL);
	for (unsigned int i = 0; i < 3; i++) {
		add_row(&l, 30, 64);
		flush(&l);
		assert_int_equal(count_of(&l).tx_calls, i + 1);
		first = see_one(&l);
		for (unsigned int k = 1; k < 30; k++) {
			s = see_one(&l);
			assert_true(s.right);
			assert_int_equal(s.id, (uint16_t)(first.id + k));
		}
	}
	lane_fini(&l);
}

/* By itself, a link-local address says nothing about the interface. */
static void a_lane_leads_to_a_link_local_address_as_well(void **state)
{
	struct roce_addr here;
	struct lane l = { .dqpn = BLOCK };

	here = addr("fe80::a%va");
	l.p.b = far_open("fe80::b%vb", NULL);
	assert_int_equal(roce_endpoint_open(&here, NULL, &l.p.a), 0);
	assert_int_equal(roce_tx_create(l.p.a, &l.p.tx), 0);
	assert_int_equal(roce_rx_create(&l.p.rx), 0);
	l.p.path = path_to(l.p.a, "fe80::b%va");
	assert_true(source_of(&l)->connected);
	l.wire = sniff();
	add_row(&l, 7, 64);
	flush(&l);
	see_all(&l);
	pair_receive(&l.p, 7);
	lane_fini(&l);
}

static void lanes_count_each_for_itself_in_one_batch(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_dest dest = { .addr = addr(hosts[v].to) };
		struct roce_path path[3];
		struct roce_endpoint *third;
		struct lane l;

		lane_init(&l, v, NULL);
		third = far_open(hosts[v].other, NULL);
		path[0] = l.p.path;
		path[1] = path_to(l.p.a, hosts[v].other);
		assert_true(l.p.a->source[path[1].route.socket].connected);
		assert_int_not_equal(path[1].route.socket, path[0].route.socket);
		/* and the socket of all, which counts nothing */
		assert_int_equal(roce_path_init(&path[2], l.p.a, &dest), 0);
		for (unsigned int round = 0; round < 4; round++) {
			uint32_t from = l.added;

			for (unsigned int i = 0; i < 18; i++) {
				l.p.path = path[i % 3];
				add_row(&l, 1 + (i + round) % 4, 64);
			}
			flush(&l);
			l.seen = from;
			for (unsigned int i = 0; i < 18; i++) {
				for (unsigned int k = 0; k < 1 + (i + round) % 4; k++) {
					struct sight s = see_one(&l);

					assert_true(s.right);
					assert_int_equal(s.sport, path[i % 3].sport);
					assert_int_equal(s.to, i % 3 == 1 ? 3 : 2);
					if (i % 3 == 2)
						assert_int_equal(s.id, s.ipv4 ? k : 0);
				}
			}
		}
		roce_endpoint_close(third);
		lane_fini(&l);
	}
}

/* Connecting starts anywhere. */
static void start_at_the_end_of_ids(struct lane *l)
{
	struct roce_source *s = source_of(l);

	do
		assert_int_equal(roce_lane_connect(l->p.a, s), 0);
	while (s->step && s->id < 0xffff - 60);
	if (!s->step)
		skip(); /* a kernel that does not count */
}

static void ids_begin_again_behind_the_last_one(void **state)
{
	bool high = false, low = false;
	struct lane l;

	lane_init(&l, 0, NULL);
	/* send by send, in one batch, and within one send */
	start_at_the_end_of_ids(&l);
	for (unsigned int i = 0; i < 100; i++) {
		add_row(&l, 1, 64);
		flush(&l);
	}
	while (l.seen < l.added) {
		struct sight s = see_one(&l);

		assert_true(s.right);
		high |= s.id == 0xffff;
		low |= s.id == 0;
	}
	assert_true(high && low);
	start_at_the_end_of_ids(&l);
	for (unsigned int i = 0; i < 100; i++)
		add_row(&l, 2, 64);
	flush(&l);
	see_all(&l);
	start_at_the_end_of_ids(&l);
	add_row(&l, 64, 64);
	add_row(&l, 64, 64);
	flush(&l);
	see_all(&l);
	lane_fini(&l);
}

/* ---- when the count is wrong ---- */

static void a_doubt_mends_what_another_sender_has_spoilt(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct sight s;
		struct lane l;

		lane_init(&l, v, NULL);
		add_row(&l, 3, 64);
		flush(&l);
		see_all(&l);
		for (unsigned int i = 0; i < 5; i++)
			assert_int_equal(send(source_of(&l)->fd, "", 1, 0), 1);
		add_row(&l, 1, 64);
		flush(&l);
		s = see_one(&l);
		assert_int_equal(s.right, !source_of(&l)->step);
		/* Also what was made ready meanwhile. */
		add_row(&l, 4, 64);
		add_row(&l, 1, 64);
		roce_path_doubt(&l.p.path, l.p.a);
		flush(&l);
		see_all(&l);
		add_row(&l, 20, 64);
		flush(&l);
		see_all(&l);
		assert_true(source_of(&l)->connected);
		lane_fini(&l);
	}
}

static void packets_that_were_forgotten_leave_no_gap(void **state)
{
	struct lane l;

	lane_init(&l, 0, NULL);
	for (unsigned int i = 0; i < 3; i++) {
		uint32_t before = l.added;

		add_row(&l, 3, 64);
		add_row(&l, 1, 64);
		add_row(&l, 2, 64);
		roce_tx_reset(l.p.tx);
		assert_int_equal(roce_tx_pending(l.p.tx), 0);
		l.added = before;
		add_row(&l, 2, 64);
		add_row(&l, 1, 64);
		flush(&l);
		see_all(&l);
	}
	lane_fini(&l);
}

/* ---- which lane ---- */

static void one_host_has_one_lane(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_path path;
		struct lane l;

		lane_init(&l, v, NULL);
		path = path_to(l.p.a, hosts[v].to);
		assert_memory_equal(&path, &l.p.path, sizeof(path));
		path = path_to(l.p.a, hosts[v].other);
		assert_int_not_equal(path.route.socket, l.p.path.route.socket);
		assert_int_equal(l.p.a->lanes, 2);
		lane_fini(&l);
	}
}

static void a_lane_is_for_its_host_alone(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_dest dest = { .addr = addr(hosts[v].other) };
		struct roce_path path;
		struct lane l;

		lane_init(&l, v, NULL);
		dest.sport = l.p.path.sport;
		assert_int_equal(roce_path_init(&path, l.p.a, &dest), 0);
		assert_int_equal(path.route.socket, 0);
		assert_int_equal(path.sport, ROCE_UDP_PORT);
		/* Nor for another port of it, */
		dest.addr = addr(hosts[v].to);
		dest.port = 4792;
		assert_int_equal(roce_path_init(&path, l.p.a, &dest), 0);
		assert_int_equal(path.route.socket, 0);
		/* but its port may be chosen for others. */
		assert_int_equal(roce_endpoint_source(l.p.a, dest.sport), 0);
		assert_int_equal(roce_path_init(&path, l.p.a, &dest), 0);
		assert_int_equal(path.sport, l.p.path.sport);
		assert_int_not_equal(path.route.socket, l.p.path.route.socket);
		assert_false(l.p.a->source[path.route.socket].lane);
		lane_fini(&l);
	}
}

static void groups_and_the_other_ip_version_have_no_lanes(void **state)
{
	static const char *const to[] = { "239.1.2.3", "ff0e::9", "fd08::2" };
	struct lane l;

	lane_init(&l, 0, NULL);
	for (size_t i = 0; i < array_size(to); i++) {
		struct roce_dest dest = { .addr = addr(to[i]), .sport = 7 };

		roce_endpoint_lane(l.p.a, &dest);
		assert_int_equal(dest.sport, 0);
	}
	assert_int_equal(l.p.a->lanes, 1);
	lane_fini(&l);
}

static void a_host_that_cannot_be_reached_is_no_reason_against_lanes(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct lane l = { .dqpn = BLOCK };
		struct roce_path path;

		far_init(&l.p, hosts[v].a, hosts[v].b, NULL);
		l.wire = sniff();
		path = path_to(l.p.a, v ? "2001:db8::5" : "203.0.113.5");
		assert_int_equal(path.route.socket, 0);
		l.p.path = path_to(l.p.a, hosts[v].to);
		assert_true(source_of(&l)->connected);
		add_row(&l, 2, 64);
		flush(&l);
		see_all(&l);
		lane_fini(&l);
	}
}

static void lanes_and_chosen_ports_have_limits_of_their_own(void **state)
{
	struct roce_addr here = addr("127.0.0.1");
	struct roce_endpoint *ep;
	char text[32];

	assert_int_equal(roce_endpoint_open(&here, NULL, &ep), 0);
	for (unsigned int i = 0; i < ROCE_MAX_LANES; i++) {
		snprintf(text, sizeof(text), "127.0.1.%u", i);
		assert_int_not_equal(path_to(ep, text).route.socket, 0);
	}
	assert_int_equal(path_to(ep, "127.0.2.1").route.socket, 0);
	assert_int_not_equal(path_to(ep, "127.0.1.63").route.socket, 0);
	for (unsigned int i = 0; i < ROCE_MAX_SOURCES; i++)
		assert_int_equal(roce_endpoint_source(ep, 20000 + i), 0);
	assert_int_equal(roce_endpoint_source(ep, 30000), -ENOSPC);
	assert_int_equal(roce_endpoint_source(ep, 20000), 0);
	assert_int_equal(atomic_load(&ep->sources), 1 + ROCE_MAX_LANES + ROCE_MAX_SOURCES);
	roce_endpoint_close(ep);
}

/* ---- faults ---- */

static void what_faults_leave_of_a_lanes_packets_is_right(void **state)
{
	static const char script[] = "drop p=0.1 dir=out again=yes; dup p=0.1 dir=out again=yes; "
				     "reorder p=0.1 dir=out again=yes; "
				     "delay us=1 p=0.1 dir=out again=yes";

	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_taps taps = { .fault = NULL };
		struct roce_endpoint_opts opts = { .taps = &taps };
		uint64_t dropped, doubled;
		const char *text;
		struct sight s;
		struct lane l;

		assert_int_equal(roce_fault_create(&taps.fault), 0);
		lane_init(&l, v, &opts);
		assert_int_equal(roce_fault_load(taps.fault, script, 1, 0), 0);
		for (unsigned int i = 0; i < 60; i++) {
			add_row(&l, 1 + i % 9, 64);
			if (i % 3 == 0)
				flush(&l);
			if (i % 20 == 7)
				roce_path_doubt(&l.p.path, l.p.a);
		}
		roce_tx_settle(l.p.tx);
		flush(&l);
		assert_true(roce_fault_rule(taps.fault, 0, &text, &dropped));
		assert_true(roce_fault_rule(taps.fault, 1, &text, &doubled));
		assert_true(dropped && doubled);
		for (uint64_t n = l.added - dropped + doubled; n; n--) {
			assert_true(sight_take(l.wire, 0, &s));
			assert_true(s.right);
			assert_int_equal(s.sport, l.p.path.sport);
		}
		assert_false(sight_take(l.wire, MSG_DONTWAIT, &s));
		lane_fini(&l);
		roce_fault_destroy(taps.fault);
	}
}

/* ---- threads ---- */

struct meddler {
	struct lane *l;
	atomic_bool done;
};

static void *meddle(void *arg)
{
	struct meddler *m = arg;
	struct roce_dest dest;
	char text[32];

	for (unsigned int i = 0; !atomic_load(&m->done); i++) {
		roce_path_doubt(&m->l->p.path, m->l->p.a);
		snprintf(text, sizeof(text), "10.8.0.%u", 100 + i % 20);
		dest = (struct roce_dest){ .addr = addr(text) };
		roce_endpoint_lane(m->l->p.a, &dest);
		if (!dest.sport)
			return "no lane";
		sched_yield();
	}
	return NULL;
}

static void lanes_may_be_opened_and_doubted_while_they_are_in_use(void **state)
{
	static struct lane l; /* these outlive a test that fails, as its thread does */
	static struct meddler m;
	pthread_t thread;
	void *failed;

	lane_init(&l, 0, NULL);
	m.l = &l;
	atomic_init(&m.done, false);
	assert_int_equal(pthread_create(&thread, NULL, meddle, &m), 0);
	for (unsigned int i = 0; i < 200; i++) {
		add_row(&l, 1 + i % 5, 64);
		add_row(&l, 1, 64);
		flush(&l);
		see_all(&l);
	}
	atomic_store(&m.done, true);
	pthread_join(thread, &failed);
	assert_null(failed);
	assert_true(source_of(&l)->connected);
	lane_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_of_a_lane_have_the_ids_that_their_icrc_counts_on),
		cmocka_unit_test(a_row_leaves_by_one_send_whose_segments_are_counted),
		cmocka_unit_test(a_lane_leads_to_a_link_local_address_as_well),
		cmocka_unit_test(lanes_count_each_for_itself_in_one_batch),
		cmocka_unit_test(ids_begin_again_behind_the_last_one),
		cmocka_unit_test(a_doubt_mends_what_another_sender_has_spoilt),
		cmocka_unit_test(packets_that_were_forgotten_leave_no_gap),
		cmocka_unit_test(one_host_has_one_lane),
		cmocka_unit_test(a_lane_is_for_its_host_alone),
		cmocka_unit_test(groups_and_the_other_ip_version_have_no_lanes),
		cmocka_unit_test(a_host_that_cannot_be_reached_is_no_reason_against_lanes),
		cmocka_unit_test(lanes_and_chosen_ports_have_limits_of_their_own),
		cmocka_unit_test(what_faults_leave_of_a_lanes_packets_is_right),
		cmocka_unit_test(lanes_may_be_opened_and_doubted_while_they_are_in_use),
	};

	if (!lane_hosts())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
