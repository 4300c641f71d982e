/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 32,768 processes share a host. Most of them are made by the test: their slots are filled, and one lock on the range
 * of their bytes stands for all their lives.
 */
#include "fabric/peer.h"

#include <fcntl.h>

#include "fabric/directory.h"
#include "fabric/dirfile.h"
#include "fabric/fabric.h"
#include "fabric/numbers.h"
#include "fabric/registry.h"
#include "fabric/state.h"

static int open_directory(void)
{
	char path[128];
	struct stat st;
	int fd;

	must(stat("/proc/self/ns/net", &st) == 0, "stat");
	snprintf(path, sizeof(path), "%s/host-%llu", getenv("VERBENA_DIR"),
		 (unsigned long long)st.st_ino);
	fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0, "open");
	return fd;
}

/* Slots first to last have processes that live until the descriptor is closed. */
static void fill_with_the_living(int fd, uint32_t first, uint32_t last)
{
	struct flock lives = { .l_type = F_WRLCK,
			       .l_whence = SEEK_SET,
			       .l_start = DIR_LOCK_SLOT(first),
			       .l_len = last - first + 1 };
	struct dir_file *dir = fabric_directory_file();

	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lives), 0);
	atomic_store(&dir->slots, last + 1);
	for (uint32_t slot = first; slot <= last; slot++) {
		atomic_store(&dir->slot[slot].generation, 1);
		atomic_store(&dir->slot[slot].id, 1u << FABRIC_SLOT_BITS | slot);
	}
}

/* Says what fabric_init() says, and has numbers of queue pairs and keys if it is 0. */
static int role_try(void)
{
	int err = fabric_init(record_config());
	uint32_t qpn, key, count;

	say((uint64_t)-err);
	if (err)
		return 0;
	must(!fabric_qpn_block_get(&qpn, &count), "qpn");
	must(!fabric_key_block_get(&key, &count), "key");
	must(!fabric_reg_add(FABRIC_REG_CM_PORT, &qpn, sizeof(qpn), 1, true), "port");
	must(fabric_qpn_owner(qpn) == fabric_self(), "qpn");
	must(fabric_key_owner(key) == fabric_self(), "key");
	say(fabric_self());
	hear(&(uint64_t){ 0 });
	fabric_fini();
	return 0;
}

static void the_32768th_process_joins_and_the_next_is_refused(void **state)
{
	int fd = open_directory();
	struct peer last, late;
	fabric_id_t id;

	assert_int_equal(FABRIC_SLOTS, 32768);
	assert_int_equal(fabric_id_slot(fabric_self()), 0);
	fill_with_the_living(fd, 1, FABRIC_SLOTS - 2);
	last = peer_spawn("try");
	assert_int_equal(peer_hear(&last), 0);
	id = (fabric_id_t)peer_hear(&last);
	assert_int_equal(fabric_id_slot(id), FABRIC_SLOTS - 1);
	assert_true(fabric_process_alive(id));
	assert_true(fabric_process_alive(1u << FABRIC_SLOT_BITS | 4711));
	late = peer_spawn("try");
	assert_int_equal(peer_hear(&late), EUSERS);
	assert_int_equal(peer_end(&late), 0);
	/* All of them die. */
	close(fd);
	late = peer_spawn("try");
	assert_int_equal(peer_hear(&late), 0);
	id = (fabric_id_t)peer_hear(&late);
	assert_true(fabric_process_alive(id));
	assert_int_equal(peer_end(&late), 0);
	assert_int_equal(peer_end(&last), 0);
}

/* Stale numbers of processes that have gone are in all blocks, as after a long time. */
static void numbers_of_32768_processes_that_have_gone_are_used_again(void **state)
{
	struct dir_file *dir = fabric_directory_file();
	uint32_t first, count;
	int fd = open_directory();

	fill_with_the_living(fd, 1, FABRIC_SLOTS - 1);
	for (uint32_t i = 0; i < DIR_QPN_BLOCKS; i++)
		atomic_store(&dir->block[i], 1u << FABRIC_SLOT_BITS | (1 + i % (FABRIC_SLOTS - 1)));
	for (uint32_t i = 0; i < DIR_KEY_BLOCKS; i++)
		atomic_store(&dir->key_block[i],
			     1u << FABRIC_SLOT_BITS | (1 + i % (FABRIC_SLOTS - 1)));
	assert_int_equal(fabric_qpn_block_get(&first, &count), -ENOSPC);
	assert_int_equal(fabric_key_block_get(&first, &count), -ENOSPC);
	close(fd);
	assert_int_equal(fabric_qpn_block_get(&first, &count), 0);
	assert_int_equal(fabric_qpn_owner(first), fabric_self());
	assert_int_equal(fabric_key_block_get(&first, &count), 0);
	assert_int_equal(fabric_key_owner(first), fabric_self());
}

static void each_of_32768_processes_may_have_two_blocks_of_numbers(void **state)
{
	assert_true(DIR_QPN_BLOCKS >= 2 * FABRIC_SLOTS);
	assert_true(DIR_KEY_BLOCKS >= 2 * FABRIC_SLOTS);
	assert_true(DIR_RECORDS >= 2 * FABRIC_SLOTS);
}

/* Messages that are under way to a process that has died must not reach another one. */
static void a_slot_is_not_taken_again_at_once(void **state)
{
	struct peer keeper = peer_spawn_known("echo");
	uint32_t last = fabric_id_slot(keeper.id), first_taken = 0;

	fabric_fini();
	for (int i = 0; i < 200; i++) {
		assert_int_equal(fabric_init(record_config()), 0);
		assert_int_not_equal(fabric_id_slot(fabric_self()), last);
		if (!i)
			first_taken = fabric_id_slot(fabric_self());
		else
			assert_int_not_equal(fabric_id_slot(fabric_self()), first_taken);
		last = fabric_id_slot(fabric_self());
		fabric_fini();
	}
	assert_int_equal(peer_end(&keeper), 0);
	assert_int_equal(fabric_init(record_config()), 0);
}

/* Few processes take little room, however many come after each other. */
static void slots_that_were_never_taken_have_no_memory(void **state)
{
	struct peer keeper = peer_spawn_known("echo");
	struct stat st;
	int fd = open_directory();

	fabric_fini();
	for (int i = 0; i < 600; i++) {
		assert_int_equal(fabric_init(record_config()), 0);
		fabric_fini();
	}
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_blocks * 512ull < DIR_SPARSE + (512u << 10));
	close(fd);
	assert_int_equal(peer_end(&keeper), 0);
	assert_int_equal(fabric_init(record_config()), 0);
}

/* A peer, or a message from the network, may name any slot. */
static void a_slot_that_was_never_taken_is_not_read(void **state)
{
	struct dir_file *dir = fabric_directory_file();
	fabric_id_t id = 3u << FABRIC_SLOT_BITS | 20000;
	struct fabric_process p;
	struct stat before, after;
	int fd = open_directory();

	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(fabric_process_in_slot(20000, &p), -ESRCH);
	assert_int_equal(fabric_process_find(id, &p), -ESRCH);
	assert_int_equal(fabric_process_last(20000), FABRIC_ID_NONE);
	assert_false(fabric_process_alive(id));
	assert_true(fabric_process_reap(id));
	assert_int_equal(fabric_counter_read(20000, FABRIC_COUNTERS_OWN), 0);
	assert_false(dir_is_listed(dir, id));
	assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(before.st_blocks, after.st_blocks);
	close(fd);
}

static int up_quietly(void **state)
{
	return fabric_init(record_config());
}

#define SLOT_TEST(f) cmocka_unit_test_setup_teardown(f, up_quietly, down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SLOT_TEST(the_32768th_process_joins_and_the_next_is_refused),
		SLOT_TEST(numbers_of_32768_processes_that_have_gone_are_used_again),
		SLOT_TEST(each_of_32768_processes_may_have_two_blocks_of_numbers),
		SLOT_TEST(a_slot_is_not_taken_again_at_once),
		SLOT_TEST(slots_that_were_never_taken_have_no_memory),
		SLOT_TEST(a_slot_that_was_never_taken_is_not_read),
	};

	peer_main(argc);
	PEER_ROLE("echo", role_echo);
	PEER_ROLE("try", role_try);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
