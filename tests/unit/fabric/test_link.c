/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/peer.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "fabric/link_cold.h"

static struct fabric_link *link_to(fabric_id_t id)
{
	struct fabric_link *link = fabric_link_get(id);

	assert_non_null(link);
	until(fabric_link_state(link) != FABRIC_LINK_CONNECTING);
	assert_int_equal(fabric_link_state(link), FABRIC_LINK_UP);
	return link;
}

static void ping(struct fabric_link *link, uint32_t count, uint32_t len)
{
	uint64_t before = seen_pongs;

	for (uint32_t i = 0; i < count; i++)
		until(send_record(link, PING, i, len));
	until(seen_pongs == before + count);
	assert_int_equal(seen_broken, 0);
}

static void a_link_to_oneself_echoes(void **state)
{
	struct fabric_link *link = link_to(fabric_self());

	assert_true(fabric_link_is_self(link));
	assert_ptr_equal(fabric_link_segment(link), fabric_segment_self());
	assert_int_equal(fabric_link_peer_pid(link), getpid());
	assert_int_equal(fabric_link_peer_share_fd(link), -1);
	ping(link, 1000, 100);
	assert_int_equal(seen_pings, 1000);
	fabric_link_put(link);
}

static void a_peer_that_never_polls_answers(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link = link_to(peer.id);

	assert_int_equal(fabric_link_peer(link), peer.id);
	assert_int_equal(fabric_link_peer_pid(link), peer.pid);
	assert_false(fabric_link_is_self(link));
	for (uint32_t len = 0; len < 3000; len += 37)
		ping(link, 10, len);
	peer_tell(&peer, 0);
	assert_true(peer_hear(&peer) >= 809);
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
	until(seen_downs == 1);
}

static void a_kick_that_failed_does_not_suppress_the_next(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link = link_to(peer.id);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), wake = link->cold->wake_fd;

	assert_true(full >= 0);
	/* The peer may be awake, and need no kick, at some of these times. */
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t before = seen_pongs;

		link->cold->wake_fd = full;
		until(send_record(link, PING, 2 * i, 8));
		link->cold->wake_fd = wake;
		until(send_record(link, PING, 2 * i + 1, 8));
		until(seen_pongs == before + 2);
	}
	close(full);
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

static void a_peer_that_polls_answers(void **state)
{
	struct peer peer = peer_spawn_known("echo-polling");
	struct fabric_link *link = link_to(peer.id);

	for (uint32_t len = 0; len < 3000; len += 97)
		ping(link, 100, len);
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

static bool has_two_cpus(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 1;
}

static void both_sides_polling_pass_records_without_kicks(void **state)
{
	uint32_t slot = fabric_id_slot(fabric_self()), sent = 0;
	uint64_t kicks = UINT64_MAX;
	struct fabric_link *link;
	struct peer peer;

	if (!has_two_cpus()) {
		print_message("two that poll need two processors\n");
		skip();
	}
	peer = peer_spawn_known("echo-polling");
	link = link_to(peer.id);
	/* On a busy machine the two may have to share a core for a while, and then need kicks. */
	for (int window = 0; window < 5000 && kicks > 5; window++) {
		kicks = fabric_counter_read(slot, FABRIC_COUNT_KICKS);
		for (int i = 0; i < 100; i++) {
			until(send_record(link, PING, sent++, 16));
			while (seen_pongs < sent) {
				fabric_poll_enter();
				fabric_poll_links();
			}
		}
		kicks = fabric_counter_read(slot, FABRIC_COUNT_KICKS) - kicks;
	}
	assert_true(kicks <= 5);
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

static void the_same_process_has_the_same_link(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *one = fabric_link_get(peer.id), *two = fabric_link_get(peer.id);
	struct fabric_link *three = link_to(peer.id);

	assert_ptr_equal(one, two);
	assert_ptr_equal(one, three);
	fabric_link_put(one);
	fabric_link_put(two);
	fabric_link_put(three);
	assert_int_equal(peer_end(&peer), 0);
}

static void a_link_to_no_process_is_dead_at_once(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link;

	assert_int_equal(peer_end(&peer), 0);
	link = fabric_link_get(peer.id);
	assert_non_null(link);
	assert_int_equal(fabric_link_state(link), FABRIC_LINK_DEAD);
	assert_false(send_record(link, DATA, 0, 0));
	fabric_link_put(link);
	link = fabric_link_get(12345u << FABRIC_SLOT_BITS | 7);
	assert_int_equal(fabric_link_state(link), FABRIC_LINK_DEAD);
	fabric_link_put(link);
	assert_int_equal(seen_downs, 0);
}

static void a_killed_peer_takes_its_link_down(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link = link_to(peer.id), *again;

	ping(link, 10, 10);
	peer_kill(&peer);
	until(fabric_link_state(link) == FABRIC_LINK_DEAD);
	until(seen_downs == 1);
	assert_false(send_record(link, DATA, 0, 0));
	/* Its memory may still be looked at. */
	assert_non_null(fabric_link_segment(link));
	assert_int_equal(*(volatile uint8_t *)((char *)fabric_link_segment(link) + 8192), 0);
	again = fabric_link_get(peer.id);
	assert_ptr_not_equal(again, link);
	until(fabric_link_state(again) == FABRIC_LINK_DEAD);
	fabric_link_put(again);
	fabric_link_put(link);
}

static void a_link_that_was_killed_can_be_made_again(void **state)
{
	struct peer peer = peer_spawn_known("echo");

	for (uint64_t i = 1; i <= 20; i++) {
		struct fabric_link *link = link_to(peer.id);

		ping(link, 1, 8);
		fabric_link_kill(link);
		until(seen_downs == i);
		assert_int_equal(fabric_link_state(link), FABRIC_LINK_DEAD);
		fabric_link_put(link);
	}
	assert_int_equal(peer_end(&peer), 0);
}

static int role_last_words(void)
{
	struct fabric_link *link;
	uint64_t to;

	must(!fabric_init(record_config()), "init");
	say(fabric_self());
	must(hear(&to), "whom");
	link = fabric_link_get((fabric_id_t)to);
	while (fabric_link_state(link) == FABRIC_LINK_CONNECTING)
		usleep(50);
	for (uint32_t i = 0; i < 100; i++)
		must(send_record(link, DATA, i, 40), "send");
	_exit(0);
}

static void records_that_a_peer_sent_before_it_died_arrive(void **state)
{
	struct peer peer = peer_spawn_known("last-words");

	/* We seem to poll, but never look: the records are found when the peer hangs up. */
	for (uint32_t i = 0; i < 2 * FABRIC_POLL_BEGIN; i++)
		fabric_poll_enter();
	peer_tell(&peer, fabric_self());
	until((fabric_poll_enter(), seen_downs == 1));
	assert_int_equal(seen_data, 100);
	assert_int_equal(peer_end(&peer), 0);
}

/* ---- segments and share ---- */

static int shared_memfd = -1;

static int give_share(void)
{
	return shared_memfd;
}

static int role_sharing(void)
{
	struct fabric_config config = *record_config();
	uint64_t word;

	config.share_fd = give_share;
	config.segment_size = 1ull << 36;
	shared_memfd = memfd_create("share", MFD_CLOEXEC);
	must(pwrite(shared_memfd, "verbena", 8, 0) == 8, "write");
	must(!fabric_init(&config), "init");
	must(!fabric_mcast_join(1, (const uint8_t[16]){ 1 }, 1), "join");
	strcpy((char *)fabric_segment_self() + (1ull << 35), "far out");
	say(fabric_self());
	while (hear(&word))
		;
	fabric_fini();
	return 0;
}

static void segment_and_share_memfd_of_the_peer_are_reachable(void **state)
{
	struct peer peer = peer_spawn_known("sharing");
	struct fabric_link *link = link_to(peer.id);
	const char *segment = fabric_link_segment(link);
	char text[8];

	assert_int_equal(fabric_link_segment_size(link), 1ull << 36);
	assert_string_equal(segment + (1ull << 35), "far out");
	/* Not even a process that wants to can write to it. */
	assert_int_equal(mprotect((void *)segment, 4096, PROT_READ | PROT_WRITE), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(pread(fabric_link_peer_share_fd(link), text, 8, 0), 8);
	assert_string_equal(text, "verbena");
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

/* ---- both at once ---- */

static int role_meet(void)
{
	struct fabric_link *link;
	uint64_t other;

	must(!fabric_init(record_config()), "init");
	say(fabric_self());
	while (hear(&other)) {
		link = fabric_link_get((fabric_id_t)other);
		while (fabric_link_state(link) == FABRIC_LINK_CONNECTING)
			usleep(20);
		must(fabric_link_state(link) == FABRIC_LINK_UP, "not up");
		/* The records go over one link, or one side would wait for ever. */
		while (!send_record(link, PING, 1, 32))
			usleep(20);
		while (!seen_pongs)
			usleep(20);
		say(seen_ups);
		must(hear(&other), "go on");
		fabric_link_kill(link);
		while (!seen_downs)
			usleep(20);
		fabric_link_put(link);
		seen_ups = seen_downs = seen_pongs = 0;
		say(0);
	}
	fabric_fini();
	return 0;
}

static void simultaneous_connects_make_one_link(void **state)
{
	struct peer a = peer_spawn_known("meet"), b = peer_spawn_known("meet");

	for (int i = 0; i < 200; i++) {
		peer_tell(&a, b.id);
		peer_tell(&b, a.id);
		assert_int_equal(peer_hear(&a), 1);
		assert_int_equal(peer_hear(&b), 1);
		peer_tell(&a, 0);
		peer_tell(&b, 0);
		peer_hear(&a);
		peer_hear(&b);
	}
	assert_int_equal(peer_end(&a), 0);
	assert_int_equal(peer_end(&b), 0);
}

/* ---- peers that misbehave ---- */

static void a_corrupt_header_ends_the_link_and_is_counted(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link = link_to(peer.id);
	uint32_t slot = fabric_id_slot(peer.id);
	uint64_t word;

	ping(link, 5, 5);
	fabric_link_tx_lock(link);
	assert_non_null(fabric_link_reserve(link, 8));
	atomic_store(fabric_ring_word(link->tx.data, link->tx.mask, link->tx.tail - 64),
		     FABRIC_PRESENT + 0x7fffffff);
	fabric_link_kick(link);
	fabric_link_tx_unlock(link);
	until(seen_downs == 1);
	assert_int_equal(fabric_counter_read(slot, FABRIC_COUNT_LINKS_CORRUPT), 1);
	fabric_link_put(link);
	/* The peer goes on with others, and with us. */
	link = link_to(peer.id);
	ping(link, 5, 5);
	fabric_link_put(link);
	/* It counts a question after it answered it. */
	do {
		peer_tell(&peer, 0);
		word = peer_hear(&peer);
	} while (word < 10);
	assert_int_equal(word, 10);
	assert_int_equal(peer_end(&peer), 0);
}

static void corrupt_credit_ends_the_link_and_is_counted(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link = link_to(peer.id);

	peer_stop(&peer);
	while (send_record(link, IGNORE, 1, 1000))
		;
	atomic_store(&link->tx.ctl->head, 77);
	assert_false(send_record(link, IGNORE, 1, 1000));
	until(seen_downs == 1);
	assert_int_equal(
		fabric_counter_read(fabric_id_slot(fabric_self()), FABRIC_COUNT_LINKS_CORRUPT), 1);
	fabric_link_put(link);
	kill(peer.pid, SIGCONT);
	assert_int_equal(peer_end(&peer), 0);
}

static void a_stopped_peer_does_not_hold_up_the_others(void **state)
{
	struct peer stopped = peer_spawn_known("echo"), fine = peer_spawn_known("echo");
	struct fabric_link *link, *slow;

	peer_stop(&stopped);
	slow = fabric_link_get(stopped.id);
	link = link_to(fine.id);
	ping(link, 100, 100);
	assert_int_equal(fabric_link_state(slow), FABRIC_LINK_CONNECTING);
	kill(stopped.pid, SIGCONT);
	until(fabric_link_state(slow) == FABRIC_LINK_UP);
	ping(slow, 100, 100);
	fabric_link_put(slow);
	fabric_link_put(link);
	assert_int_equal(peer_end(&stopped), 0);
	assert_int_equal(peer_end(&fine), 0);
}

static int down_and_up_impatient(void **state)
{
	struct fabric_config config = *record_config();

	config.handshake_ms = 100;
	return fabric_init(&config);
}

static void a_peer_that_never_answers_times_out(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link;

	peer_stop(&peer);
	link = fabric_link_get(peer.id);
	assert_int_equal(fabric_link_state(link), FABRIC_LINK_CONNECTING);
	until(seen_downs == 1);
	assert_int_equal(fabric_link_state(link), FABRIC_LINK_DEAD);
	fabric_link_put(link);
	kill(peer.pid, SIGCONT);
	/* The answer to the first attempt has no receiver; a new attempt works. */
	link = fabric_link_get(peer.id);
	until(fabric_link_state(link) == FABRIC_LINK_UP);
	ping(link, 3, 3);
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

/* ---- room ---- */

static void room_is_told_when_a_full_ring_drains(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link = link_to(peer.id);

	for (uint64_t round = 1; round <= 10; round++) {
		peer_stop(&peer);
		while (send_record(link, IGNORE, 1, 1000))
			;
		fabric_link_tx_lock(link);
		fabric_link_want_room(link);
		fabric_link_tx_unlock(link);
		assert_int_equal(seen_rooms, round - 1);
		kill(peer.pid, SIGCONT);
		until(seen_rooms == round);
		assert_true(send_record(link, IGNORE, 1, 1000));
	}
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

static void an_echo_through_full_rings_loses_nothing(void **state)
{
	struct peer peer = peer_spawn_known("echo-polling");
	struct fabric_link *link = link_to(peer.id);
	uint32_t sent = 0;

	/* Answers fill our ring while questions fill the peer's. */
	while (sent < 3000)
		if (send_record(link, PING, sent, 2000))
			sent++;
	until(seen_pongs == sent);
	assert_int_equal(seen_broken, 0);
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

/* ---- threads ---- */

static _Atomic uint64_t sent_pings;

static void *ping_thread(void *arg)
{
	for (uint32_t i = 0; i < 2000; i++) {
		/* A ring to oneself that is full of questions has no room for answers. */
		while (sent_pings - seen_pongs > 200 || !send_record(arg, PING, i, i % 200)) {
			fabric_poll_enter();
			fabric_poll_links();
		}
		sent_pings++;
		if (i % 16 == 0) {
			fabric_poll_enter();
			fabric_poll_links();
			fabric_poll_leave();
		}
	}
	return NULL;
}

static void threads_share_links(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *links[2] = { link_to(peer.id), link_to(fabric_self()) };
	pthread_t threads[4];

	sent_pings = 0;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ping_thread, links[i % 2]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	until(seen_pongs == 8000);
	assert_int_equal(seen_broken, 0);
	for (int i = 0; i < 2; i++)
		fabric_link_put(links[i]);
	assert_int_equal(peer_end(&peer), 0);
}

static _Atomic bool churn_stop;

static void *churn_thread(void *arg)
{
	while (!churn_stop) {
		fabric_poll_enter();
		fabric_poll_links();
	}
	return NULL;
}

static void links_come_and_go_under_pollers(void **state)
{
	pthread_t threads[2];

	churn_stop = false;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn_thread, NULL), 0);
	for (uint64_t i = 1; i <= 30; i++) {
		struct peer peer = peer_spawn_known("echo");
		struct fabric_link *link = link_to(peer.id);

		ping(link, 20, 50);
		fabric_link_put(link);
		peer_kill(&peer);
		until(seen_downs == i);
	}
	churn_stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void fini_leaves_references_usable(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link = link_to(peer.id);

	fabric_fini();
	assert_int_equal(fabric_link_state(link), FABRIC_LINK_DEAD);
	assert_int_equal(seen_downs, 1);
	assert_false(send_record(link, DATA, 0, 0));
	assert_null(fabric_link_get(peer.id));
	fabric_link_put(link);
	assert_int_equal(fabric_init(record_config()), 0);
	link = link_to(peer.id);
	ping(link, 3, 3);
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

#define LINK_TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(a_link_to_oneself_echoes),
		LINK_TEST(a_peer_that_never_polls_answers),
		LINK_TEST(a_kick_that_failed_does_not_suppress_the_next),
		LINK_TEST(a_peer_that_polls_answers),
		LINK_TEST(both_sides_polling_pass_records_without_kicks),
		LINK_TEST(the_same_process_has_the_same_link),
		LINK_TEST(a_link_to_no_process_is_dead_at_once),
		LINK_TEST(a_killed_peer_takes_its_link_down),
		LINK_TEST(a_link_that_was_killed_can_be_made_again),
		LINK_TEST(records_that_a_peer_sent_before_it_died_arrive),
		LINK_TEST(segment_and_share_memfd_of_the_peer_are_reachable),
		LINK_TEST(simultaneous_connects_make_one_link),
		LINK_TEST(a_corrupt_header_ends_the_link_and_is_counted),
		LINK_TEST(corrupt_credit_ends_the_link_and_is_counted),
		LINK_TEST(a_stopped_peer_does_not_hold_up_the_others),
		cmocka_unit_test_setup_teardown(a_peer_that_never_answers_times_out,
						down_and_up_impatient, down),
		LINK_TEST(room_is_told_when_a_full_ring_drains),
		LINK_TEST(an_echo_through_full_rings_loses_nothing),
		LINK_TEST(threads_share_links),
		LINK_TEST(links_come_and_go_under_pollers),
		LINK_TEST(fini_leaves_references_usable),
	};

	peer_main(argc);
	PEER_ROLE("echo", role_echo);
	PEER_ROLE("echo-polling", role_echo_polling);
	PEER_ROLE("last-words", role_last_words);
	PEER_ROLE("sharing", role_sharing);
	PEER_ROLE("meet", role_meet);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
