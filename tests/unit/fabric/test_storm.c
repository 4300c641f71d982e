/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/peer.h"

static const uint8_t storm_group[16] = { 0xff, 0x0e, 9 };

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* ---- everyone with everyone ---- */

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CROWD 16
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define CROWD 16
#else
#define CROWD 64
#endif
#else
#define CROWD 64
#endif

static struct fabric_link *await_up(fabric_id_t id)
{
	struct fabric_link *link = fabric_link_get(id);

	must(link, "no link");
	while (fabric_link_state(link) == FABRIC_LINK_CONNECTING)
		usleep(200);
	return link;
}

static int role_guest(void)
{
	struct fabric_link *links[CROWD];
	uint64_t ids[CROWD];
	uint32_t first, count;

	must(!fabric_init(record_config()), "init");
	must(!fabric_qpn_block_get(&first, &count), "block");
	say(fabric_self());
	for (int i = 0; i < CROWD; i++)
		must(hear(&ids[i]), "ids");
	for (int i = 0; i < CROWD; i++) {
		links[i] = await_up((fabric_id_t)ids[i]);
		must(fabric_link_state(links[i]) == FABRIC_LINK_UP, "not up");
	}
	for (int i = 0; i < CROWD; i++)
		while (!send_record(links[i], PING, (uint32_t)i, 64))
			usleep(200);
	while (seen_pongs < CROWD)
		usleep(200);
	say(seen_broken);
	/* No process ends before all have been answered. */
	must(hear(&ids[0]), "end");
	for (int i = 0; i < CROWD; i++)
		fabric_link_put(links[i]);
	fabric_fini();
	return 0;
}

static void a_crowd_links_everyone_with_everyone(void **state)
{
	struct peer guests[CROWD];

	for (int i = 0; i < CROWD; i++)
		guests[i] = peer_spawn_known("guest");
	for (int i = 0; i < CROWD; i++)
		for (int j = 0; j < CROWD; j++)
			peer_tell(&guests[i], guests[j].id);
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(peer_hear(&guests[i]), 0);
	for (int i = 0; i < CROWD; i++)
		peer_tell(&guests[i], 0);
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(peer_end(&guests[i]), 0);
	assert_true(nothing_left());
}

/* ---- kill -9 ---- */

#define WILD   6
#define KILLS  150
#define PLACES 16

/* Does everything that takes a lock, writes a shared word or opens a socket, in a random order. */
static int role_wild(void)
{
	uint32_t seed = (uint32_t)getpid() * 2654435761u, first, count;
	struct fabric_process p;
	uint64_t word;

	must(!fabric_init(record_config()), "init");
	must(!fabric_qpn_block_get(&first, &count), "block");
	say(fabric_self());
	fcntl(0, F_SETFL, O_NONBLOCK);
	for (uint32_t turn = 0;; turn++) {
		struct fabric_link *link;

		if (read(0, &word, sizeof(word)) == 0)
			return 0;
		if (fabric_process_in_slot(next_random(&seed) % PLACES, &p))
			continue;
		link = fabric_link_get(p.id);
		must(link, "no link");
		for (uint32_t i = 0; i < next_random(&seed) % 200; i++) {
			send_record(link, next_random(&seed) % 2 ? PING : DATA, i,
				    next_random(&seed) % 900);
			fabric_poll_enter();
			fabric_poll_links();
		}
		if (next_random(&seed) % 8 == 0)
			fabric_link_kill(link);
		fabric_link_put(link);
		must(!fabric_mcast_join(1, storm_group, turn % 4), "join");
		fabric_mcast_leave(1, storm_group, next_random(&seed) % 4);
		if (next_random(&seed) % 4 == 0) {
			must(!fabric_qpn_block_put(first), "put");
			must(!fabric_qpn_block_get(&first, &count), "get");
		}
		if (next_random(&seed) % 32 == 0) {
			fabric_fini();
			must(!fabric_init(record_config()), "again");
			must(!fabric_qpn_block_get(&first, &count), "block again");
		}
		must(!seen_broken, "broken record");
	}
}

static void survivors_of_a_kill_storm_go_on(void **state)
{
	struct peer wild[WILD], witness = peer_spawn_known("echo");
	uint32_t seed = (uint32_t)fabric_now_ns();
	struct fabric_link *link;
	uint16_t lid;

	print_message("seed %u\n", seed);
	for (int i = 0; i < WILD; i++)
		wild[i] = peer_spawn_known("wild");
	for (int i = 0; i < KILLS; i++) {
		struct peer *victim = &wild[next_random(&seed) % WILD];

		usleep(next_random(&seed) % 20000);
		peer_kill(victim);
		*victim = peer_spawn_known("wild");
		/* A killed process leaves no lock behind. */
		assert_int_equal(fabric_lid_get("storm", &lid), 0);
	}
	for (int i = 0; i < WILD; i++)
		peer_kill(&wild[i]);
	fabric_directory_reap();
	assert_int_equal(fabric_mcast_members(1, storm_group, NULL, 0), 0);
	for (uint32_t slot = 0; slot < FABRIC_SLOTS; slot++) {
		struct fabric_process p;

		if (!fabric_process_in_slot(slot, &p))
			assert_true(p.id == fabric_self() || p.id == witness.id);
	}
	link = await_up(witness.id);
	assert_int_equal(fabric_link_state(link), FABRIC_LINK_UP);
	until(send_record(link, PING, 1, 100));
	until(seen_pongs == 1);
	fabric_link_put(link);
	assert_int_equal(peer_end(&witness), 0);
}

/* ---- killed in the middle of everything, without luck being needed ---- */

static void newcomers_killed_at_any_moment_leave_a_usable_directory(void **state)
{
	uint32_t seed = (uint32_t)fabric_now_ns();

	print_message("seed %u\n", seed);
	for (int i = 0; i < 100; i++) {
		struct peer peer = peer_spawn("wild");
		uint16_t lid;

		usleep(next_random(&seed) % 8000);
		peer_kill(&peer);
		assert_int_equal(fabric_lid_get("newcomers", &lid), 0);
	}
	fabric_directory_reap();
	for (uint32_t slot = 0; slot < FABRIC_SLOTS; slot++) {
		struct fabric_process p;

		if (!fabric_process_in_slot(slot, &p))
			assert_int_equal(p.id, fabric_self());
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crowd_links_everyone_with_everyone),
		cmocka_unit_test_setup_teardown(survivors_of_a_kill_storm_go_on, up, down),
		cmocka_unit_test_setup_teardown(
			newcomers_killed_at_any_moment_leave_a_usable_directory, up, down),
	};

	peer_main(argc);
	setenv("VERBENA_RING", "16384", 1);
	PEER_ROLE("echo", role_echo);
	PEER_ROLE("guest", role_guest);
	PEER_ROLE("wild", role_wild);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
