/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/peer.h"

#include <fcntl.h>
#include <sys/file.h>

#include "fabric/directory.h"
#include "fabric/dirfile.h"
#include "fabric/fabric.h"
#include "fabric/numbers.h"
#include "fabric/poll.h"
#include "fabric/registry.h"
#include "fabric/state.h"

static const uint8_t group_a[16] = { 0xff, 0x0e, 1 }, group_b[16] = { 0xff, 0x0e, 2 };

static int up_quietly(void **state)
{
	return fabric_init(record_config());
}

/* The path of the one file in the folder. */
static const char *file_path(void)
{
	static char path[128];
	struct stat st;

	must(stat("/proc/self/ns/net", &st) == 0, "stat");
	snprintf(path, sizeof(path), "%s/host-%llu", getenv("VERBENA_DIR"),
		 (unsigned long long)st.st_ino);
	return path;
}

/* ---- the file ---- */

static void the_file_is_private_to_the_user(void **state)
{
	struct stat st;

	assert_int_equal(stat(file_path(), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_uid, geteuid());
}

static void a_second_init_is_refused(void **state)
{
	assert_int_equal(fabric_init(record_config()), -EALREADY);
	assert_true(fabric_is_up());
}

static void the_last_one_out_removes_the_file(void **state)
{
	struct peer peer = peer_spawn_known("echo");

	fabric_fini();
	assert_int_equal(access(file_path(), F_OK), 0);
	assert_int_equal(peer_end(&peer), 0);
	assert_true(nothing_left());
}

static int role_exit(void)
{
	must(!fabric_init(record_config()), "init");
	say(fabric_self());
	exit(0);
}

static void a_process_that_just_exits_leaves_nothing(void **state)
{
	struct peer peer = peer_spawn_known("exit");

	assert_int_equal(peer_end(&peer), 0);
	assert_true(nothing_left());
}

static void the_directory_of_a_killed_process_is_used_and_removed(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_process p;

	peer_kill(&peer);
	assert_int_equal(access(file_path(), F_OK), 0);
	assert_int_equal(fabric_init(record_config()), 0);
	assert_int_equal(fabric_process_find(peer.id, &p), -ESRCH);
	assert_int_not_equal(fabric_self(), peer.id);
	fabric_fini();
	assert_true(nothing_left());
}

static void write_file(const void *bytes, size_t len)
{
	int fd = open(file_path(), O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void a_file_of_another_version_or_size_is_replaced(void **state)
{
	struct {
		uint64_t magic;
		uint32_t version, size;
		char rest[4080];
	} head = { .magic = DIR_MAGIC, .version = 99, .size = sizeof(struct dir_file) };
	struct stat before, after;
	int fd;

	write_file(&head, sizeof(head));
	/* Open, or its inode number would be free for the new one. */
	fd = open(file_path(), O_RDONLY);
	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(fabric_init(record_config()), 0);
	assert_int_equal(stat(file_path(), &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(after.st_size, sizeof(struct dir_file));
	fabric_fini();
	close(fd);

	/* The right version, cut short: mapping it would end in SIGBUS. */
	head.version = DIR_VERSION;
	write_file(&head, sizeof(head));
	assert_int_equal(fabric_init(record_config()), 0);
	assert_int_equal(stat(file_path(), &after), 0);
	assert_int_equal(after.st_size, sizeof(struct dir_file));
	fabric_fini();
	assert_true(nothing_left());
}

static void a_file_whose_creator_died_early_is_completed(void **state)
{
	static const char nothing[4096];

	write_file("", 0);
	assert_int_equal(fabric_init(record_config()), 0);
	fabric_fini();
	write_file(nothing, sizeof(nothing));
	assert_int_equal(fabric_init(record_config()), 0);
	fabric_fini();
	assert_true(nothing_left());
}

static void files_and_folders_open_to_others_are_refused(void **state)
{
	write_file("", 0);
	assert_int_equal(chmod(file_path(), 0644), 0);
	assert_int_equal(fabric_init(record_config()), -EPERM);
	assert_int_equal(unlink(file_path()), 0);

	assert_int_equal(symlink("/tmp/verbena-test-nowhere", file_path()), 0);
	assert_int_equal(fabric_init(record_config()), -ELOOP);
	assert_int_equal(access("/tmp/verbena-test-nowhere", F_OK), -1);
	assert_int_equal(unlink(file_path()), 0);

	assert_int_equal(chmod(peer_dir, 0777), 0);
	assert_int_equal(fabric_init(record_config()), -EPERM);
	assert_int_equal(chmod(peer_dir, 0700), 0);
	assert_false(fabric_is_up());
	assert_int_equal(fabric_self(), FABRIC_ID_NONE);
}

static int role_comings(void)
{
	for (int i = 0; i < 300; i++) {
		must(!fabric_init(record_config()), "init");
		must(fabric_process_alive(fabric_self()), "alive");
		must(!access(file_path(), F_OK), "in a file that is gone");
		fabric_fini();
	}
	return 0;
}

static void newcomers_and_the_last_one_out_never_collide(void **state)
{
	struct peer peers[4];

	for (int i = 0; i < 4; i++)
		peers[i] = peer_spawn("comings");
	for (int i = 0; i < 4; i++)
		assert_int_equal(peer_end(&peers[i]), 0);
	assert_true(nothing_left());
}

/* ---- processes ---- */

static void a_process_is_found_by_its_id(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_process p;

	assert_int_not_equal(peer.id, fabric_self());
	assert_int_equal(fabric_process_find(peer.id, &p), 0);
	assert_int_equal(p.id, peer.id);
	assert_int_equal(p.pid, peer.pid);
	assert_true(p.start_time > 0);
	assert_int_equal(fabric_process_in_slot(fabric_id_slot(peer.id), &p), 0);
	assert_int_equal(p.id, peer.id);
	assert_true(fabric_process_alive(peer.id));
	assert_true(fabric_process_alive(fabric_self()));
	assert_int_equal(fabric_process_in_slot(FABRIC_SLOTS, &p), -ESRCH);
	assert_int_equal(fabric_process_find(FABRIC_ID_NONE, &p), -ESRCH);
	assert_int_equal(peer_end(&peer), 0);
	assert_int_equal(fabric_process_find(peer.id, &p), -ESRCH);
	assert_false(fabric_process_alive(peer.id));
}

static void an_id_never_names_two_processes(void **state)
{
	fabric_id_t last = 0;

	for (int i = 0; i < 20; i++) {
		struct peer peer = peer_spawn_known("echo");

		if (last)
			assert_int_equal(fabric_id_slot(peer.id), fabric_id_slot(last));
		assert_int_not_equal(peer.id, last);
		last = peer.id;
		/* The next one gets the same slot. */
		fabric_directory_file()->next_slot = fabric_id_slot(peer.id);
		peer_kill(&peer);
	}
}

static void dead_processes_are_noticed_and_reaped(void **state)
{
	struct peer peer = peer_spawn_known("owner");
	uint32_t qpn = (uint32_t)peer_hear(&peer);
	struct fabric_process p;

	assert_int_equal(fabric_qpn_owner(qpn), peer.id);
	assert_int_equal(fabric_mcast_members(1, group_a, NULL, 0), 1);
	peer_kill(&peer);
	assert_false(fabric_process_alive(peer.id));
	/* Listed until the dead are reaped. */
	assert_int_equal(fabric_process_find(peer.id, &p), 0);
	assert_int_equal(fabric_directory_reap(), 1);
	assert_int_equal(fabric_process_find(peer.id, &p), -ESRCH);
	assert_int_equal(fabric_qpn_owner(qpn), FABRIC_ID_NONE);
	assert_int_equal(fabric_mcast_members(1, group_a, NULL, 0), 0);
	assert_int_equal(fabric_directory_reap(), 0);
}

static void a_dead_process_is_reaped_by_its_id(void **state)
{
	struct peer peer = peer_spawn_known("echo"), other = peer_spawn_known("echo");
	struct fabric_process p;

	assert_false(fabric_process_reap(fabric_self()));
	assert_false(fabric_process_reap(peer.id));
	peer_kill(&peer);
	peer_kill(&other);
	assert_true(fabric_process_reap(peer.id));
	assert_int_equal(fabric_process_find(peer.id, &p), -ESRCH);
	assert_int_equal(fabric_process_find(other.id, &p), 0);
	assert_true(fabric_process_reap(peer.id));
	assert_true(fabric_process_reap(other.id));
}

/* As if a process of each free slot had been killed. Returns how many. */
static unsigned int fill_with_the_dead(void)
{
	struct dir_file *dir = fabric_directory_file();
	unsigned int dead = 0;

	atomic_store(&dir->slots, FABRIC_SLOTS);
	for (uint32_t slot = 0; slot < FABRIC_SLOTS; slot++) {
		if (atomic_load(&dir->slot[slot].id))
			continue;
		atomic_store(&dir->slot[slot].generation, 1);
		atomic_store(&dir->slot[slot].id, 1u << FABRIC_SLOT_BITS | slot);
		dead++;
	}
	return dead;
}

static void a_newcomer_finds_a_slot_when_the_dead_have_all(void **state)
{
	struct fabric_process p;
	struct peer peer;
	unsigned int dead = fill_with_the_dead();

	assert_int_equal(dead, FABRIC_SLOTS - 1);
	peer = peer_spawn_known("echo");
	assert_int_equal(fabric_process_find(peer.id, &p), 0);
	assert_true(fabric_process_alive(peer.id));
	assert_int_equal(peer_end(&peer), 0);
}

static void the_last_one_alive_removes_the_file(void **state)
{
	struct peer peer = peer_spawn_known("echo");

	fill_with_the_dead();
	fabric_fini();
	assert_int_equal(access(file_path(), F_OK), 0);
	assert_int_equal(peer_end(&peer), 0);
	assert_true(nothing_left());
	assert_int_equal(fabric_init(record_config()), 0);
}

static void the_last_process_of_a_slot_is_known_until_the_next(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	uint32_t slot = fabric_id_slot(peer.id);
	fabric_id_t first = peer.id;

	assert_int_equal(fabric_process_last(slot + 1), FABRIC_ID_NONE);
	assert_int_equal(fabric_process_last(FABRIC_SLOTS), FABRIC_ID_NONE);
	assert_int_equal(fabric_process_last(slot), first);
	peer_kill(&peer);
	assert_true(fabric_process_reap(first));
	assert_int_equal(fabric_process_last(slot), first);
	fabric_directory_file()->next_slot = slot;
	peer = peer_spawn_known("echo");
	assert_int_equal(fabric_process_last(slot), peer.id);
	assert_int_not_equal(fabric_process_last(slot), first);
	assert_int_equal(peer_end(&peer), 0);
}

static int role_dies_with_the_lock(void)
{
	must(!fabric_init(record_config()), "init");
	must(!fabric_directory_lock(), "lock");
	say(fabric_self());
	pause();
	return 0;
}

static void a_process_that_dies_with_the_lock_releases_it(void **state)
{
	struct peer peer = peer_spawn_known("dies-with-the-lock");
	uint16_t lid;

	peer_kill(&peer);
	assert_int_equal(fabric_lid_get("after", &lid), 0);
	assert_int_equal(fabric_mcast_join(1, group_a, 5), 0);
	assert_int_equal(fabric_directory_reap(), 1);
}

/* ---- queue-pair numbers ---- */

static int role_owner(void)
{
	uint32_t first, count;
	uint64_t word;

	must(!fabric_init(record_config()), "init");
	must(!fabric_qpn_block_get(&first, &count), "block");
	must(!fabric_mcast_join(1, group_a, first), "join");
	must(!fabric_reg_add(FABRIC_REG_CM_PORT, "port", 4, 7, true), "port");
	say(fabric_self());
	say(first);
	while (hear(&word))
		say(word);
	fabric_fini();
	return 0;
}

static void numbers_begin_at_0x40_and_belong_to_their_owner(void **state)
{
	uint32_t first, count, second, more;

	atomic_store(&fabric_directory_file()->next_block, 0);
	assert_int_equal(fabric_qpn_block_get(&first, &count), 0);
	assert_int_equal(first, 0x40);
	assert_int_equal(count, 192);
	assert_int_equal(fabric_qpn_block_get(&second, &more), 0);
	assert_int_equal(second, 0x100);
	assert_int_equal(more, 256);
	assert_int_equal(fabric_qpn_owner(0x3f), FABRIC_ID_NONE);
	assert_int_equal(fabric_qpn_owner(0x40), fabric_self());
	assert_int_equal(fabric_qpn_owner(0x1ff), fabric_self());
	assert_int_equal(fabric_qpn_owner(0x200), FABRIC_ID_NONE);
	assert_int_equal(fabric_qpn_owner(0xffffff), FABRIC_ID_NONE);
	assert_int_equal(fabric_qpn_owner(0x1000040), FABRIC_ID_NONE);
	assert_int_equal(fabric_qpn_block_put(second), 0);
	assert_int_equal(fabric_qpn_owner(0x100), FABRIC_ID_NONE);
	assert_int_equal(fabric_qpn_block_put(second), -EPERM);
	assert_int_equal(fabric_qpn_block_put(0), -EINVAL);
	assert_int_equal(fabric_qpn_block_put(0x41), -EINVAL);
	assert_int_equal(fabric_qpn_block_put(0x1000000), -EINVAL);
	assert_int_equal(fabric_qpn_block_put(first), 0);
}

static void a_new_directory_has_other_queue_pair_numbers(void **state)
{
	uint32_t before, first, count;
	bool differs = false;

	assert_int_equal(fabric_qpn_block_get(&before, &count), 0);
	/* One of 65,536 would be the same. */
	for (int i = 0; i < 4; i++) {
		fabric_fini();
		assert_int_equal(fabric_init(record_config()), 0);
		assert_int_equal(fabric_qpn_block_get(&first, &count), 0);
		differs |= first != before;
	}
	assert_true(differs);
}

static void a_block_that_was_given_back_comes_last(void **state)
{
	uint32_t first, count, next;

	assert_int_equal(fabric_qpn_block_get(&first, &count), 0);
	assert_int_equal(fabric_qpn_block_put(first), 0);
	assert_int_equal(fabric_qpn_block_get(&next, &count), 0);
	assert_int_not_equal(first, next);
}

static void memory_keys_have_numbers_of_their_own(void **state)
{
	uint32_t first, count, qpn;

	atomic_store(&fabric_directory_file()->next_block, 100);
	atomic_store(&fabric_directory_file()->next_key_block, 0);
	assert_int_equal(fabric_qpn_block_get(&qpn, &count), 0);
	assert_int_equal(fabric_key_owner(5), FABRIC_ID_NONE);
	assert_int_equal(fabric_key_block_get(&first, &count), 0);
	assert_int_equal(first, 5);
	assert_int_equal(count, 251);
	assert_int_equal(fabric_key_owner(4), FABRIC_ID_NONE);
	assert_int_equal(fabric_key_owner(5), fabric_self());
	assert_int_equal(fabric_key_owner(255), fabric_self());
	assert_int_equal(fabric_key_owner(256), FABRIC_ID_NONE);
	assert_int_equal(fabric_key_owner(0x1000005), FABRIC_ID_NONE);
	assert_int_equal(fabric_qpn_owner(1023), FABRIC_ID_NONE);
}

static void processes_have_different_blocks(void **state)
{
	struct peer peer = peer_spawn_known("owner");
	uint32_t theirs = (uint32_t)peer_hear(&peer), ours, count;

	assert_int_equal(fabric_qpn_block_get(&ours, &count), 0);
	assert_int_not_equal(ours, theirs);
	assert_int_equal(fabric_qpn_owner(theirs), peer.id);
	assert_int_equal(fabric_qpn_owner(ours), fabric_self());
	assert_int_equal(fabric_qpn_block_put(theirs), -EPERM);
	assert_int_equal(peer_end(&peer), 0);
	assert_int_equal(fabric_qpn_owner(theirs), FABRIC_ID_NONE);
}

static void all_blocks_can_be_taken_and_blocks_of_dead_processes_again(void **state)
{
	struct peer peer = peer_spawn_known("owner");
	uint32_t theirs = (uint32_t)peer_hear(&peer), first, count, total = 0;
	uint64_t numbers = 0;

	while (!fabric_qpn_block_get(&first, &count)) {
		total++;
		numbers += count;
	}
	assert_int_equal(total, DIR_QPN_BLOCKS - 1);
	assert_int_equal(numbers, 0xfffffe - 0x40 + 1 - (theirs == 0x40 ? 192 : 256));
	assert_int_equal(fabric_qpn_owner(0xfffffe), fabric_self());
	assert_int_equal(fabric_qpn_block_get(&first, &count), -ENOSPC);
	peer_kill(&peer);
	/* No process has noticed the death yet; one that needs a block looks for dead owners. */
	assert_int_equal(fabric_qpn_block_get(&first, &count), 0);
	assert_int_equal(first, theirs);
}

/* ---- LIDs ---- */

static int role_lid(void)
{
	uint16_t lid;

	must(!fabric_init(record_config()), "init");
	must(!fabric_lid_get("mlx4_1/1", &lid), "lid");
	say(lid);
	must(!fabric_lid_get("mlx4_0/1", &lid), "lid");
	say(lid);
	exit(0);
}

static void a_port_has_the_same_lid_everywhere(void **state)
{
	struct peer peer;
	uint16_t one, two, again;

	assert_int_equal(fabric_lid_get("mlx4_0/1", &one), 0);
	assert_int_equal(one, 1);
	assert_int_equal(fabric_lid_get("mlx4_0/2", &two), 0);
	assert_int_equal(two, 2);
	assert_int_equal(fabric_lid_get("mlx4_0/1", &again), 0);
	assert_int_equal(again, one);
	peer = peer_spawn("lid");
	assert_int_equal(peer_hear(&peer), 3);
	assert_int_equal(peer_hear(&peer), one);
	assert_int_equal(peer_end(&peer), 0);
	assert_int_equal(fabric_lid_get("mlx4_1/1", &again), 0);
	assert_int_equal(again, 3);
}

static void lids_are_limited_and_names_are_checked(void **state)
{
	char name[80];
	uint16_t lid;

	memset(name, 'x', sizeof(name));
	name[FABRIC_LID_KEY_MAX] = 0;
	assert_int_equal(fabric_lid_get(name, &lid), 0);
	name[FABRIC_LID_KEY_MAX] = 'x';
	name[FABRIC_LID_KEY_MAX + 1] = 0;
	assert_int_equal(fabric_lid_get(name, &lid), -EINVAL);
	assert_int_equal(fabric_lid_get("", &lid), -EINVAL);
	for (unsigned int i = 1; i < DIR_LIDS; i++) {
		snprintf(name, sizeof(name), "port/%u", i);
		assert_int_equal(fabric_lid_get(name, &lid), 0);
		assert_int_equal(lid, i + 1);
	}
	assert_int_equal(fabric_lid_get("one too many", &lid), -ENOSPC);
	assert_int_equal(fabric_lid_get("port/5", &lid), 0);
	assert_int_equal(lid, 6);
}

/* ---- the registry ---- */

static void groups_have_the_members_that_joined(void **state)
{
	struct peer peer = peer_spawn_known("owner");
	uint32_t theirs = (uint32_t)peer_hear(&peer);
	struct fabric_reg_entry found[4];
	uint64_t version = fabric_reg_version(FABRIC_REG_MCAST);

	assert_int_equal(fabric_mcast_join(1, group_a, 77), 0);
	assert_int_not_equal(fabric_reg_version(FABRIC_REG_MCAST), version);
	assert_int_equal(fabric_mcast_join(1, group_a, 77), 0);
	assert_int_equal(fabric_mcast_join(1, group_a, 78), 0);
	assert_int_equal(fabric_mcast_join(1, group_b, 79), 0);
	assert_int_equal(fabric_mcast_join(2, group_a, 80), 0);
	assert_int_equal(fabric_mcast_members(1, group_a, found, 4), 3);
	assert_int_equal(found[0].owner, peer.id);
	assert_int_equal(found[0].value, theirs);
	assert_int_equal(found[1].owner, fabric_self());
	assert_int_equal(found[1].value, 77);
	assert_int_equal(found[2].value, 78);
	assert_int_equal(fabric_mcast_members(1, group_a, found, 1), 3);
	assert_int_equal(fabric_mcast_members(2, group_a, found, 4), 1);
	assert_int_equal(found[0].value, 80);
	assert_int_equal(fabric_mcast_leave(1, group_a, 77), 0);
	assert_int_equal(fabric_mcast_leave(1, group_a, 77), -ENOENT);
	/* Not ours to take out. */
	assert_int_equal(fabric_mcast_leave(1, group_a, theirs), -ENOENT);
	version = fabric_reg_version(FABRIC_REG_MCAST);
	assert_int_equal(peer_end(&peer), 0);
	assert_int_not_equal(fabric_reg_version(FABRIC_REG_MCAST), version);
	assert_int_equal(fabric_mcast_members(1, group_a, found, 4), 1);
	assert_int_equal(found[0].value, 78);
}

static void an_exclusive_key_has_one_owner(void **state)
{
	struct peer peer = peer_spawn_known("owner");
	struct fabric_reg_entry found;

	assert_int_equal(fabric_reg_add(FABRIC_REG_CM_PORT, "port", 4, 8, true), -EADDRINUSE);
	assert_int_equal(fabric_reg_find(FABRIC_REG_CM_PORT, "port", 4, &found, 1), 1);
	assert_int_equal(found.owner, peer.id);
	assert_int_equal(found.value, 7);
	/* Keys that differ in length only are different, and so are kinds. */
	assert_int_equal(fabric_reg_find(FABRIC_REG_CM_PORT, "port", 5, &found, 1), 0);
	assert_int_equal(fabric_reg_find(FABRIC_REG_MCAST, "port", 4, &found, 1), 0);
	peer_kill(&peer);
	/* No process has noticed the death yet; one that needs the key looks for a dead owner. */
	assert_int_equal(fabric_reg_add(FABRIC_REG_CM_PORT, "port", 4, 8, true), 0);
	assert_int_equal(fabric_reg_add(FABRIC_REG_CM_PORT, "port", 4, 8, true), -EADDRINUSE);
}

static void an_entry_gets_another_value(void **state)
{
	uint64_t version = fabric_reg_version(FABRIC_REG_CM_PORT);
	struct fabric_reg_entry found;

	assert_int_equal(fabric_reg_change(FABRIC_REG_CM_PORT, "port", 4, 1, 2), -ENOENT);
	assert_int_equal(fabric_reg_version(FABRIC_REG_CM_PORT), version);
	assert_int_equal(fabric_reg_add(FABRIC_REG_CM_PORT, "port", 4, 1, false), 0);
	version = fabric_reg_version(FABRIC_REG_CM_PORT);
	assert_int_equal(fabric_reg_change(FABRIC_REG_CM_PORT, "port", 4, 1, 2), 0);
	assert_int_not_equal(fabric_reg_version(FABRIC_REG_CM_PORT), version);
	assert_int_equal(fabric_reg_find(FABRIC_REG_CM_PORT, "port", 4, &found, 1), 1);
	assert_int_equal(found.value, 2);
	assert_int_equal(found.owner, fabric_self());
	assert_int_equal(fabric_reg_change(FABRIC_REG_CM_PORT, "port", 4, 1, 3), -ENOENT);
}

static void searches_are_short_again_when_many_entries_are_gone(void **state)
{
	struct dir_file *dir = fabric_directory_file();
	uint32_t before = atomic_load(&dir->records);

	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(fabric_reg_add(FABRIC_REG_CM_PORT, &i, sizeof(i), i, true), 0);
	assert_true(atomic_load(&dir->records) >= before + 500);
	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(fabric_reg_del(FABRIC_REG_CM_PORT, &i, sizeof(i), i), 0);
	assert_int_equal(fabric_mcast_join(1, group_a, 1), 0);
	assert_int_equal(atomic_load(&dir->records), before + 1);
}

static void the_registry_refuses_what_does_not_fit(void **state)
{
	struct dir_file *dir = fabric_directory_file();
	uint8_t big[FABRIC_REG_KEY_MAX + 1] = { 0 };

	assert_int_equal(fabric_reg_add(FABRIC_REG_MCAST, big, sizeof(big), 0, false), -EINVAL);
	assert_int_equal(fabric_reg_add(FABRIC_REG_MCAST, big, 0, 0, false), -EINVAL);
	assert_int_equal(fabric_reg_add(FABRIC_REG_KINDS, big, 4, 0, false), -EINVAL);
	for (uint32_t i = 0; i < 4096; i++)
		if (fabric_reg_add(FABRIC_REG_CM_PORT, &i, sizeof(i), i, true))
			fail_msg("entry %u", i);
	/* The rest is copied: each entry is held against all others before it is added. */
	for (uint32_t i = 4096; i < DIR_RECORDS - 1; i++) {
		dir->record[i] = dir->record[4095];
		atomic_store(&dir->record[i].key[0], i);
	}
	atomic_store(&dir->records, DIR_RECORDS - 1);
	assert_int_equal(fabric_reg_add(FABRIC_REG_CM_PORT, "last", 4, 1, true), 0);
	assert_int_equal(fabric_mcast_join(1, group_a, 1), -ENOSPC);
	assert_int_equal(fabric_reg_del(FABRIC_REG_CM_PORT, &(uint32_t){ 17 }, 4, 17), 0);
	assert_int_equal(fabric_mcast_join(1, group_a, 1), 0);
	assert_int_equal(fabric_mcast_members(1, group_a, NULL, 0), 1);
}

static int role_changes(void)
{
	uint64_t turns = 0, word;

	must(!fabric_init(record_config()), "init");
	say(fabric_self());
	fcntl(0, F_SETFL, O_NONBLOCK);
	for (;; turns++) {
		/* Each entry says twice who wrote it; a mixture would show. */
		must(!fabric_reg_add(FABRIC_REG_CM_PORT, "same", 4,
				     (uint64_t)fabric_self() << 32 | fabric_self(), false),
		     "add");
		must(!fabric_reg_del(FABRIC_REG_CM_PORT, "same", 4,
				     (uint64_t)fabric_self() << 32 | fabric_self()),
		     "del");
		if (!(turns % 64) && read(0, &word, sizeof(word)) == 0)
			break;
	}
	fabric_fini();
	return 0;
}

static void a_reader_without_lock_sees_whole_entries_only(void **state)
{
	struct peer a = peer_spawn_known("changes"), b = peer_spawn_known("changes");
	struct fabric_reg_entry found[8];
	uint32_t seen = 0;

	while (seen < 2000) {
		size_t n = fabric_reg_find(FABRIC_REG_CM_PORT, "same", 4, found, 8);

		assert_true(n <= 2);
		for (size_t i = 0; i < n; i++, seen++) {
			assert_true(found[i].owner == a.id || found[i].owner == b.id);
			assert_int_equal(found[i].value >> 32, found[i].owner);
			assert_int_equal((uint32_t)found[i].value, found[i].owner);
		}
	}
	assert_int_equal(peer_end(&a), 0);
	assert_int_equal(peer_end(&b), 0);
}

static void counters_are_per_process(void **state)
{
	uint32_t slot = fabric_id_slot(fabric_self());

	assert_int_equal(fabric_counter_read(slot, FABRIC_COUNTERS_OWN), 0);
	fabric_count(FABRIC_COUNTERS_OWN, 3);
	fabric_count(FABRIC_COUNTERS_OWN, 4);
	assert_int_equal(fabric_counter_read(slot, FABRIC_COUNTERS_OWN), 7);
	assert_int_equal(fabric_counter_read(slot + 1, FABRIC_COUNTERS_OWN), 0);
	fabric_fini();
	assert_int_equal(fabric_init(record_config()), 0);
	assert_int_equal(fabric_counter_read(slot, FABRIC_COUNTERS_OWN), 0);
}

static void without_a_fabric_everything_says_so(void **state)
{
	struct fabric_process p;
	uint32_t first, count;
	uint16_t lid;

	assert_int_equal(fabric_qpn_block_get(&first, &count), -ENOTCONN);
	assert_int_equal(fabric_qpn_block_put(0x40), -ENOTCONN);
	assert_int_equal(fabric_qpn_owner(0x40), FABRIC_ID_NONE);
	assert_int_equal(fabric_lid_get("x", &lid), -ENOTCONN);
	assert_int_equal(fabric_mcast_join(1, group_a, 1), -ENOTCONN);
	assert_int_equal(fabric_mcast_leave(1, group_a, 1), -ENOTCONN);
	assert_int_equal(fabric_mcast_members(1, group_a, NULL, 0), 0);
	assert_int_equal(fabric_reg_version(FABRIC_REG_MCAST), 0);
	assert_int_equal(fabric_process_in_slot(0, &p), -ESRCH);
	assert_int_equal(fabric_directory_reap(), 0);
	assert_null(fabric_link_get(1));
	fabric_count(FABRIC_COUNTERS_OWN, 1);
	fabric_poll_enter();
	fabric_poll_links();
	fabric_poll_leave();
	fabric_fini();
}

#define DIR_TEST(f) cmocka_unit_test_setup_teardown(f, up_quietly, down)

/* A process that is stopped while it changes the directory, or one that never lets go. */
static void a_lock_that_is_never_released_is_an_error(void **state)
{
	struct flock all = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1ll << 40, .l_len = 1
	};
	uint64_t before = fabric.directory.lock_timeout_ns;
	int fd = open(file_path(), O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
	fabric.directory.lock_timeout_ns = 20000000;
	assert_int_equal(fabric_mcast_join(1, group_a, 7), -ETIMEDOUT);
	close(fd);
	fabric.directory.lock_timeout_ns = before;
	assert_int_equal(fabric_mcast_join(1, group_a, 7), 0);
	assert_int_equal(fabric_mcast_leave(1, group_a, 7), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(the_file_is_private_to_the_user),
		DIR_TEST(a_second_init_is_refused),
		DIR_TEST(the_last_one_out_removes_the_file),
		cmocka_unit_test(a_process_that_just_exits_leaves_nothing),
		cmocka_unit_test(the_directory_of_a_killed_process_is_used_and_removed),
		cmocka_unit_test(a_file_of_another_version_or_size_is_replaced),
		cmocka_unit_test(a_file_whose_creator_died_early_is_completed),
		cmocka_unit_test(files_and_folders_open_to_others_are_refused),
		cmocka_unit_test(newcomers_and_the_last_one_out_never_collide),
		DIR_TEST(a_process_is_found_by_its_id),
		DIR_TEST(an_id_never_names_two_processes),
		DIR_TEST(dead_processes_are_noticed_and_reaped),
		DIR_TEST(a_dead_process_is_reaped_by_its_id),
		DIR_TEST(the_last_process_of_a_slot_is_known_until_the_next),
		DIR_TEST(a_newcomer_finds_a_slot_when_the_dead_have_all),
		DIR_TEST(the_last_one_alive_removes_the_file),
		DIR_TEST(a_process_that_dies_with_the_lock_releases_it),
		DIR_TEST(numbers_begin_at_0x40_and_belong_to_their_owner),
		DIR_TEST(a_new_directory_has_other_queue_pair_numbers),
		DIR_TEST(a_block_that_was_given_back_comes_last),
		DIR_TEST(memory_keys_have_numbers_of_their_own),
		DIR_TEST(processes_have_different_blocks),
		DIR_TEST(all_blocks_can_be_taken_and_blocks_of_dead_processes_again),
		DIR_TEST(a_port_has_the_same_lid_everywhere),
		DIR_TEST(lids_are_limited_and_names_are_checked),
		DIR_TEST(groups_have_the_members_that_joined),
		DIR_TEST(an_exclusive_key_has_one_owner),
		DIR_TEST(an_entry_gets_another_value),
		DIR_TEST(searches_are_short_again_when_many_entries_are_gone),
		DIR_TEST(the_registry_refuses_what_does_not_fit),
		DIR_TEST(a_reader_without_lock_sees_whole_entries_only),
		DIR_TEST(counters_are_per_process),
		DIR_TEST(a_lock_that_is_never_released_is_an_error),
		cmocka_unit_test(without_a_fabric_everything_says_so),
	};

	peer_main(argc);
	PEER_ROLE("echo", role_echo);
	PEER_ROLE("exit", role_exit);
	PEER_ROLE("comings", role_comings);
	PEER_ROLE("owner", role_owner);
	PEER_ROLE("lid", role_lid);
	PEER_ROLE("changes", role_changes);
	PEER_ROLE("dies-with-the-lock", role_dies_with_the_lock);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
