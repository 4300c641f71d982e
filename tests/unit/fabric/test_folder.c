/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The folder of the host directory, without VERBENA_DIR: in a mount namespace with a /dev/shm of
 * its own. What another user does there is done by this one, with another owner, or in another way
 * that is as wrong.
 */
#include "fabric/peer.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>

#include "fabric/folder.h"
#include "fabric/litter.h"

#define INSIDE "VERBENA_TEST_MOUNTS"
#define SHM    "/dev/shm"

static char runtime_dir[] = "/tmp/verbena-runtime-XXXXXX";
static char usual[300];

static void mount_small(const char *where, const char *size)
{
	char options[64];

	snprintf(options, sizeof(options), "mode=1777,size=%s", size);
	assert_int_equal(mount("tmpfs", where, "tmpfs", 0, options), 0);
}

/* Entries of a folder whose names begin so. */
static unsigned int entries(const char *folder, const char *prefix)
{
	DIR *dir = opendir(folder);
	unsigned int n = 0;

	for (struct dirent *d; dir && (d = readdir(dir));)
		n += d->d_name[0] != '.' && !strncmp(d->d_name, prefix, strlen(prefix));
	if (dir)
		closedir(dir);
	return n;
}

static bool is_below(const char *path, const char *folder)
{
	return !strncmp(path, folder, strlen(folder)) && path[strlen(folder)] == '/';
}

static int each_setup(void **state)
{
	mount_small(SHM, "64m");
	setenv("XDG_RUNTIME_DIR", runtime_dir, 1);
	return 0;
}

static int each_teardown(void **state)
{
	fabric_fini();
	assert_int_equal(umount(SHM), 0);
	assert_int_equal(entries(runtime_dir, ""), 0);
	return 0;
}

static void joins(void)
{
	assert_int_equal(fabric_init(record_config()), 0);
}

/* This process and a new one are in the same directory. */
static void finds_a_newcomer(void)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_process p;

	assert_int_equal(fabric_process_find(peer.id, &p), 0);
	assert_int_equal(p.pid, peer.pid);
	assert_int_equal(peer_end(&peer), 0);
}

static void the_usual_folder_is_used_and_removed(void **state)
{
	joins();
	assert_string_equal(fabric_folder(), usual);
	finds_a_newcomer();
	fabric_fini();
	assert_int_equal(entries(SHM, ""), 0);
}

/* ---- names that others have taken ---- */

static void passed_over(void)
{
	unsigned int before = entries(SHM, "");

	joins();
	assert_string_not_equal(fabric_folder(), usual);
	assert_true(is_below(fabric_folder(), SHM));
	finds_a_newcomer();
	fabric_fini();
	assert_int_equal(entries(SHM, ""), before);
}

static void a_folder_of_another_user_is_passed_over(void **state)
{
	assert_int_equal(mkdir(usual, 0700), 0);
	if (chown(usual, 12345, 12345)) {
		print_message("this user namespace has no other users\n");
		skip();
	}
	passed_over();
}

static void a_link_a_file_or_an_open_folder_is_passed_over(void **state)
{
	char target[400];
	int fd;

	assert_int_equal(mkdir(usual, 0700), 0);
	assert_int_equal(chmod(usual, 0777), 0);
	passed_over();
	assert_int_equal(chmod(usual, 0750), 0);
	passed_over();
	assert_int_equal(rmdir(usual), 0);

	fd = open(usual, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	passed_over();
	assert_int_equal(unlink(usual), 0);

	snprintf(target, sizeof(target), "%s/elsewhere", SHM);
	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, usual), 0);
	passed_over();
	assert_int_equal(entries(target, ""), 0);
	assert_int_equal(unlink(usual), 0);
	assert_int_equal(symlink("/nowhere", usual), 0);
	passed_over();
}

static void a_file_in_the_folder_that_is_not_safe_is_passed_over(void **state)
{
	char file[400];

	assert_int_equal(mkdir(usual, 0700), 0);
	snprintf(file, sizeof(file), "%s/host-%s", usual, strrchr(usual, '-') + 1);
	assert_int_equal(symlink("/tmp/nowhere", file), 0);
	passed_over();
	assert_int_equal(access("/tmp/nowhere", F_OK), -1);
}

static void a_taken_name_that_becomes_free_does_not_part_processes(void **state)
{
	assert_int_equal(mkdir(usual, 0700), 0);
	assert_int_equal(chmod(usual, 0777), 0);
	joins();
	assert_int_equal(rmdir(usual), 0);
	finds_a_newcomer();
	assert_int_equal(entries(SHM, ""), 1);
}

static void a_folder_whose_maker_died_is_replaced(void **state)
{
	assert_int_equal(mkdir(usual, 0700), 0);
	joins();
	assert_string_equal(fabric_folder(), usual);
	assert_int_equal(entries(SHM, ""), 1);
}

/* Starts when it is told to, and stays until it is told to end. */
static int role_meet(void)
{
	uint64_t word;

	must(hear(&word), "start");
	must(!fabric_init(record_config()), "init");
	say(fabric_self());
	must(hear(&word), "look");
	for (uint32_t slot = word = 0; slot < FABRIC_SLOTS; slot++) {
		struct fabric_process p;

		word += !fabric_process_in_slot(slot, &p);
	}
	say(word);
	hear(&word);
	fabric_fini();
	return 0;
}

#define MEETING 8

static void meet(void)
{
	struct peer peers[MEETING];

	for (int i = 0; i < MEETING; i++)
		peers[i] = peer_spawn("meet");
	for (int i = 0; i < MEETING; i++)
		peer_tell(&peers[i], 1);
	for (int i = 0; i < MEETING; i++)
		assert_int_not_equal(peer_hear(&peers[i]), FABRIC_ID_NONE);
	for (int i = 0; i < MEETING; i++) {
		peer_tell(&peers[i], 1);
		assert_int_equal(peer_hear(&peers[i]), MEETING);
	}
	for (int i = 0; i < MEETING; i++)
		assert_int_equal(peer_end(&peers[i]), 0);
}

static void processes_that_start_at_once_meet(void **state)
{
	for (int i = 0; i < 10; i++)
		meet();
	assert_int_equal(entries(SHM, ""), 0);
}

static void processes_that_start_at_once_meet_when_the_name_is_taken(void **state)
{
	assert_int_equal(symlink("/nowhere", usual), 0);
	for (int i = 0; i < 10; i++)
		meet();
	assert_int_equal(entries(SHM, ""), 1);
}

/* Makes and removes the name all the time, as an attacker would. */
static int role_squat(void)
{
	fcntl(0, F_SETFL, O_NONBLOCK);
	say(1);
	for (char byte; read(0, &byte, 1) != 0;) {
		(void)!symlink("/nowhere", usual);
		(void)!unlink(usual);
	}
	return 0;
}

static void processes_meet_while_the_name_comes_and_goes(void **state)
{
	struct peer squatter = peer_spawn("squat");

	peer_hear(&squatter);
	for (int i = 0; i < 10; i++)
		meet();
	assert_int_equal(peer_end(&squatter), 0);
	assert_int_equal(entries(SHM, ""), 0);
}

/* ---- no room ---- */

static void remount(const char *where, const char *size)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%s", size);
	assert_int_equal(mount("tmpfs", where, "tmpfs", MS_REMOUNT, options), 0);
}

static void a_full_place_is_left_empty_for_the_next_one(void **state)
{
	remount(SHM, "64k");
	joins();
	assert_true(is_below(fabric_folder(), runtime_dir));
	assert_int_equal(entries(SHM, ""), 0);
	/* All go where the first went, also when there is room again. */
	remount(SHM, "64m");
	finds_a_newcomer();
	fabric_fini();
	assert_int_equal(entries(runtime_dir, ""), 0);
	joins();
	assert_string_equal(fabric_folder(), usual);
}

/* The folder is the last inode that there is; its file goes nowhere. */
static void a_place_without_inodes_is_left_empty_for_the_next_one(void **state)
{
	remount(SHM, "64m,nr_inodes=2");
	joins();
	assert_true(is_below(fabric_folder(), runtime_dir));
	assert_int_equal(entries(SHM, ""), 0);
	fabric_fini();
}

static void processes_that_start_at_once_meet_when_there_is_no_room(void **state)
{
	remount(SHM, "64k");
	for (int i = 0; i < 5; i++)
		meet();
	assert_int_equal(entries(SHM, ""), 0);
}

/* The real /tmp, which may hold what a newcomer needs: this program, say. */
static void tmp_is_the_next_place_without_a_runtime_directory(void **state)
{
	const char *name = strrchr(usual, '/') + 1;

	remount(SHM, "64k");
	setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
	joins();
	assert_true(is_below(fabric_folder(), "/tmp"));
	finds_a_newcomer();
	fabric_fini();
	assert_int_equal(entries("/tmp", name), 0);
}

static void no_room_anywhere_is_an_error_and_leaves_nothing(void **state)
{
	remount(SHM, "64k");
	setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
	mount_small("/tmp", "64k");
	assert_int_equal(fabric_init(record_config()), -ENOSPC);
	assert_int_equal(entries(SHM, ""), 0);
	assert_int_equal(entries("/tmp", ""), 0);
	assert_int_equal(umount("/tmp"), 0);
}

static void no_inode_anywhere_is_an_error_and_leaves_nothing(void **state)
{
	remount(SHM, "64m,nr_inodes=2");
	setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
	mount_small("/tmp", "64m,nr_inodes=1");
	assert_int_equal(fabric_init(record_config()), -ENOSPC);
	assert_int_equal(entries(SHM, ""), 0);
	assert_int_equal(umount("/tmp"), 0);
}

/* ---- what killed processes leave ---- */

/* Joins in a network namespace of its own. */
static int role_apart(void)
{
	uint64_t word;

	must(!unshare(CLONE_NEWNET), "unshare");
	must(!fabric_init(record_config()), "init");
	say(fabric_self());
	while (hear(&word))
		say(word);
	fabric_fini();
	return 0;
}

static void folders_of_the_dead_are_removed_by_the_next_process(void **state)
{
	struct peer dead = peer_spawn_known("apart"), alive = peer_spawn_known("apart");

	peer_kill(&dead);
	assert_int_equal(entries(SHM, "verbena-"), 2);
	joins();
	/* Ours, and that of the process that lives. */
	assert_int_equal(entries(SHM, "verbena-"), 2);
	fabric_fini();
	assert_int_equal(entries(SHM, "verbena-"), 1);
	assert_int_equal(peer_end(&alive), 0);
	assert_int_equal(entries(SHM, "verbena-"), 0);
}

static void litter_in_every_place_is_removed(void **state)
{
	struct peer dead;

	remount(SHM, "64k");
	dead = peer_spawn_known("apart");
	peer_kill(&dead);
	assert_int_equal(entries(runtime_dir, "verbena-"), 1);
	remount(SHM, "64m");
	joins();
	assert_int_equal(entries(runtime_dir, "verbena-"), 0);
}

static void empty_folders_go_settings_and_folders_of_others_stay(void **state)
{
	char path[400], settings[500];
	int fd;

	snprintf(path, sizeof(path), SHM "/verbena-%u-1", (unsigned int)geteuid());
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), SHM "/verbena-%u-2", (unsigned int)geteuid());
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), SHM "/verbena-%u-3", (unsigned int)geteuid());
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(settings, sizeof(settings), "%s/settings", path);
	fd = open(settings, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	snprintf(settings, sizeof(settings), "%s/host-3", path);
	fd = open(settings, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	joins();
	fabric_fini();
	assert_int_equal(entries(SHM, "verbena-"), 2);
	assert_int_equal(access(settings, F_OK), 0);
}

/* A file of the folder, last changed so many seconds ago. */
static void place_file(const char *folder, const char *name, time_t age)
{
	const struct timespec then[2] = { { .tv_sec = time(NULL) - age },
					  { .tv_sec = time(NULL) - age } };
	char path[500];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, then), 0);
	close(fd);
}

static void old_questions_and_answers_are_removed_with_their_folder(void **state)
{
	char path[400];

	snprintf(path, sizeof(path), SHM "/verbena-%u-1", (unsigned int)geteuid());
	assert_int_equal(mkdir(path, 0700), 0);
	place_file(path, "ask-00000001-2", 3600);
	place_file(path, "answer-00000001-2", 3600);
	place_file(path, "failures.old", 2 * 3600);
	snprintf(path, sizeof(path), SHM "/verbena-%u-2", (unsigned int)geteuid());
	assert_int_equal(mkdir(path, 0700), 0);
	place_file(path, "answer-00000001-2", 0);
	joins();
	fabric_fini();
	assert_int_equal(entries(SHM, "verbena-"), 1);
	assert_int_equal(entries(path, "answer-"), 1);
}

/* Joins and leaves, in network namespaces of its own, while others clean up. */
static int role_comings(void)
{
	for (int i = 0; i < 20; i++) {
		must(!unshare(CLONE_NEWNET), "unshare");
		for (int j = 0; j < 5; j++) {
			must(!fabric_init(record_config()), "init");
			must(fabric_process_alive(fabric_self()), "alive");
			must(!access(fabric_folder(), F_OK), "in a folder that is gone");
			fabric_fini();
		}
	}
	return 0;
}

static void cleaning_up_never_takes_a_folder_from_a_process(void **state)
{
	struct peer peers[4];

	for (int i = 0; i < 4; i++)
		peers[i] = peer_spawn("comings");
	for (int i = 0; i < 200; i++) {
		joins();
		litter_remove();
		assert_int_equal(access(fabric_folder(), F_OK), 0);
		fabric_fini();
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(peer_end(&peers[i]), 0);
	assert_int_equal(entries(SHM, "verbena-"), 0);
}

static void settings_keep_their_folder(void **state)
{
	struct folder_file file = { 0 };
	char settings[PATH_MAX + 16], found[PATH_MAX];
	int fd;

	assert_int_equal(folder_file_open(&file, &fd), 0);
	close(fd);
	snprintf(settings, sizeof(settings), "%s/settings", file.folder);
	fd = open(settings, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	for (int i = 0; i < 2; i++) {
		joins();
		assert_string_equal(fabric_folder(), usual);
		fabric_fini();
		assert_int_equal(access(settings, F_OK), 0);
		assert_true(folder_find(found));
		assert_string_equal(found, usual);
	}
	assert_int_equal(unlink(settings), 0);
}

/* ---- */

static bool run(const char *command)
{
	char text[200];

	snprintf(text, sizeof(text), "env -u LD_PRELOAD %s >/dev/null 2>&1", command);
	return system(text) == 0; /* NOLINT(cert-env33-c) */
}

/* Starts this program again, where it may mount. */
static void enter_mounts(char **argv)
{
	const char *way = NULL;

	if (getenv(INSIDE))
		return;
	if (run("unshare --mount --net mount -t tmpfs none /dev/shm"))
		way = "--mount";
	else if (run("unshare --map-root-user --mount --net mount -t tmpfs none /dev/shm"))
		way = "--map-root-user";
	if (!way) {
		printf("SKIPPED: no mount namespace is allowed here\n");
		exit(77);
	}
	setenv(INSIDE, "1", 1);
	/* Names of folders in /tmp, which other runs share, have the network namespace in them. */
	execlp("unshare", "unshare", "--mount", "--net", way, argv[0], NULL);
	perror("unshare");
	exit(1);
}

static int setup(void **state)
{
	return mkdtemp(runtime_dir) ? 0 : -1;
}

static int teardown(void **state)
{
	return rmdir(runtime_dir);
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, each_setup, each_teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		EACH(the_usual_folder_is_used_and_removed),
		EACH(a_folder_of_another_user_is_passed_over),
		EACH(a_link_a_file_or_an_open_folder_is_passed_over),
		EACH(a_file_in_the_folder_that_is_not_safe_is_passed_over),
		EACH(a_taken_name_that_becomes_free_does_not_part_processes),
		EACH(a_folder_whose_maker_died_is_replaced),
		EACH(processes_that_start_at_once_meet),
		EACH(processes_that_start_at_once_meet_when_the_name_is_taken),
		EACH(processes_meet_while_the_name_comes_and_goes),
		EACH(a_full_place_is_left_empty_for_the_next_one),
		EACH(a_place_without_inodes_is_left_empty_for_the_next_one),
		EACH(processes_that_start_at_once_meet_when_there_is_no_room),
		EACH(tmp_is_the_next_place_without_a_runtime_directory),
		EACH(no_room_anywhere_is_an_error_and_leaves_nothing),
		EACH(no_inode_anywhere_is_an_error_and_leaves_nothing),
		EACH(folders_of_the_dead_are_removed_by_the_next_process),
		EACH(litter_in_every_place_is_removed),
		EACH(empty_folders_go_settings_and_folders_of_others_stay),
		EACH(old_questions_and_answers_are_removed_with_their_folder),
		EACH(cleaning_up_never_takes_a_folder_from_a_process),
		EACH(settings_keep_their_folder),
	};
	struct stat st;

	enter_mounts(argv);
	peer_main(argc);
	unsetenv("VERBENA_DIR");
	must(!stat("/proc/self/ns/net", &st), "stat");
	snprintf(usual, sizeof(usual), SHM "/verbena-%u-%llu", (unsigned int)geteuid(),
		 (unsigned long long)st.st_ino);
	PEER_ROLE("echo", role_echo);
	PEER_ROLE("meet", role_meet);
	PEER_ROLE("squat", role_squat);
	PEER_ROLE("apart", role_apart);
	PEER_ROLE("comings", role_comings);
	return cmocka_run_group_tests(tests, setup, teardown);
}
