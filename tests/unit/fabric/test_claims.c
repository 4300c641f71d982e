/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/peer.h"

#include "fabric/claims.h"
#include "fabric/dirfile.h"

#define NUMBER 0x1064650u

/* Claims with equal flags conflict. */
static int same_flags(const struct fabric_claim *other, void *arg)
{
	return other->flags == *(uint32_t *)arg ? -EADDRINUSE : 0;
}

static int claim(uint32_t number, uint32_t flags, uint32_t *handle)
{
	const struct fabric_claim_check check = { .refuse = same_flags, .arg = &flags };
	const struct fabric_claim claim = { .number = number, .flags = flags };

	return fabric_claim_add(&claim, &check, handle);
}

static int change(uint32_t handle, uint32_t flags)
{
	const struct fabric_claim_check check = { .refuse = same_flags, .arg = &flags };

	return fabric_claim_set_flags(handle, flags, &check);
}

/* Role: claims NUMBER with each word as flags; says the result. 0 gives the last one back. */
static int role_claims(void)
{
	uint32_t handle = 0;
	uint64_t word;

	must(!fabric_init(record_config()), "init");
	say(fabric_self());
	while (hear(&word)) {
		if (word)
			say((uint64_t)-claim(NUMBER, (uint32_t)word, &handle));
		else
			fabric_claim_remove(handle), say(0);
	}
	fabric_fini();
	return 0;
}

/* Role: claims a thousand numbers from NUMBER on, then waits. */
static int role_many(void)
{
	uint32_t handle;
	uint64_t word;

	must(!fabric_init(record_config()), "init");
	for (uint32_t i = 0; i < 1000; i++)
		must(!claim(NUMBER + i, 1, &handle), "claim");
	say(fabric_self());
	while (hear(&word))
		;
	fabric_fini();
	return 0;
}

static uint64_t peer_claim(struct peer *peer, uint32_t flags)
{
	peer_tell(peer, flags);
	return peer_hear(peer);
}

static void a_claim_is_shown_to_other_processes_only(void **state)
{
	struct peer peer = peer_spawn_known("claims");
	uint32_t a, b;

	assert_int_equal(claim(NUMBER, 7, &a), 0);
	assert_int_equal(claim(NUMBER, 7, &b), 0);
	assert_int_not_equal(a, 0);
	assert_int_not_equal(a, b);
	assert_int_equal(peer_claim(&peer, 7), EADDRINUSE);
	assert_int_equal(peer_claim(&peer, 8), 0);
	assert_int_equal(claim(NUMBER, 8, &a), -EADDRINUSE);
	assert_int_equal(claim(NUMBER + 1, 8, &a), 0);
	assert_int_equal(peer_end(&peer), 0);
}

static void a_claim_ends_when_it_is_removed_or_its_process_dies(void **state)
{
	struct peer peer = peer_spawn_known("claims");
	uint32_t handle;

	assert_int_equal(peer_claim(&peer, 7), 0);
	assert_int_equal(claim(NUMBER, 7, &handle), -EADDRINUSE);
	assert_int_equal(peer_claim(&peer, 0), 0);
	assert_int_equal(claim(NUMBER, 7, &handle), 0);
	fabric_claim_remove(handle);
	assert_int_equal(peer_claim(&peer, 7), 0);
	peer_kill(&peer);
	assert_int_equal(claim(NUMBER, 7, &handle), 0);
}

static void changed_flags_are_checked_and_count_from_then_on(void **state)
{
	struct peer peer = peer_spawn_known("claims");
	uint32_t handle;

	assert_int_equal(claim(NUMBER, 7, &handle), 0);
	assert_int_equal(peer_claim(&peer, 8), 0);
	assert_int_equal(change(handle, 8), -EADDRINUSE);
	assert_int_equal(change(handle, 9), 0);
	assert_int_equal(peer_claim(&peer, 7), 0);
	assert_int_equal(peer_claim(&peer, 9), EADDRINUSE);
	assert_int_equal(peer_end(&peer), 0);
}

static void remove_all(uint32_t *handles, uint32_t n)
{
	while (n)
		fabric_claim_remove(handles[--n]);
	for (uint32_t i = 0; i < DIR_CLAIMS; i++)
		assert_int_equal(fabric_directory_file()->claim[i].number, 0);
	assert_int_equal(fabric_directory_file()->claims_used, 0);
}

static void places_of_dead_processes_are_used_again(void **state)
{
	struct peer peer = peer_spawn_known("many");
	uint32_t handles[1000];

	assert_int_equal(fabric_directory_file()->claims_used, 1000);
	peer_kill(&peer);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(claim(NUMBER + i, 1, &handles[i]), 0);
	assert_in_range(fabric_directory_file()->claims_used, 1000, 1001);
	remove_all(handles, 1000);
}

static void a_full_directory_says_so(void **state)
{
	static uint32_t handles[DIR_CLAIMS];
	uint32_t n;

	for (n = 0; n < DIR_CLAIMS - 1; n++)
		assert_int_equal(claim(n + 1, 1, &handles[n]), 0);
	assert_int_equal(claim(n + 1, 1, &handles[n]), -ENOSPC);
	remove_all(handles, n);
}

static int role_racer(void)
{
	uint32_t handle, got = 0;
	uint64_t word;

	must(!fabric_init(record_config()), "init");
	say(fabric_self());
	must(hear(&word), "start");
	for (uint32_t i = 0; i < 500; i++)
		got += !claim(NUMBER + i, 1, &handle);
	say(got);
	while (hear(&word))
		;
	fabric_fini();
	return 0;
}

static void processes_that_race_for_a_number_never_both_get_it(void **state)
{
	struct peer peer[4];
	uint64_t got = 0;

	for (int i = 0; i < 4; i++)
		peer[i] = peer_spawn_known("racer");
	for (int i = 0; i < 4; i++)
		peer_tell(&peer[i], 1);
	for (int i = 0; i < 4; i++)
		got += peer_hear(&peer[i]);
	assert_int_equal(got, 500);
	for (int i = 0; i < 4; i++)
		assert_int_equal(peer_end(&peer[i]), 0);
}

static void without_a_fabric_there_are_no_claims(void **state)
{
	uint32_t handle;

	assert_int_equal(claim(NUMBER, 1, &handle), -ENOTCONN);
	assert_int_equal(change(1, 1), -ENOTCONN);
	fabric_claim_remove(1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		test(a_claim_is_shown_to_other_processes_only),
		test(a_claim_ends_when_it_is_removed_or_its_process_dies),
		test(changed_flags_are_checked_and_count_from_then_on),
		test(places_of_dead_processes_are_used_again),
		test(a_full_directory_says_so),
		test(processes_that_race_for_a_number_never_both_get_it),
		cmocka_unit_test(without_a_fabric_there_are_no_claims),
	};

	peer_main(argc);
	PEER_ROLE("claims", role_claims);
	PEER_ROLE("many", role_many);
	PEER_ROLE("racer", role_racer);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
