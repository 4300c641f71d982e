/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/peer.h"

#include <dirent.h>
#include <pthread.h>

#include "fabric/directory.h"
#include "fabric/fabric.h"
#include "fabric/numbers.h"
#include "fabric/poll.h"
#include "fabric/segment.h"

/* A child may start threads although its parent had some. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "child, line %d: %s\n", __LINE__, #condition);             \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static int wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static struct fabric_link *link_to(fabric_id_t id)
{
	struct fabric_link *link = fabric_link_get(id);

	assert_non_null(link);
	until(fabric_link_state(link) == FABRIC_LINK_UP);
	return link;
}

static void ping(struct fabric_link *link)
{
	uint64_t before = seen_pongs;

	until(send_record(link, PING, 1, 100));
	until(seen_pongs == before + 1);
}

static unsigned int open_files(void)
{
	DIR *fds = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (fds && readdir(fds))
		count++;
	closedir(fds);
	return count;
}

static unsigned int threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int count = 0;
	struct dirent *entry;

	while (tasks && (entry = readdir(tasks)))
		count += entry->d_name[0] != '.';
	closedir(tasks);
	return count;
}

static void the_child_has_nothing_of_the_fabric(void **state)
{
	unsigned int files = open_files();
	struct peer peer;
	struct fabric_link *link, *self;
	uint32_t qpn, count;
	char *segment;
	pid_t pid;

	up(state);
	peer = peer_spawn_known("echo");
	link = link_to(peer.id);
	self = link_to(fabric_self());
	ping(link);
	ping(self);
	segment = fabric_segment_self();
	segment[5000] = 1;
	assert_int_equal(fabric_qpn_block_get(&qpn, &count), 0);
	pid = fork();
	if (!pid) {
		CHECK(!fabric_is_up());
		CHECK(fabric_self() == FABRIC_ID_NONE);
		CHECK(!fabric_segment_self());
		CHECK(fabric_qpn_owner(qpn) == FABRIC_ID_NONE);
		CHECK(!fabric_link_get(peer.id));
		CHECK(fabric_link_state(link) == FABRIC_LINK_DEAD);
		CHECK(fabric_link_state(self) == FABRIC_LINK_DEAD);
		CHECK(!send_record(link, DATA, 0, 0));
		CHECK(!fabric_link_has_record(link));
		CHECK(threads() == 1);
		/* The two pipes to the peer are not ours to close. */
		CHECK(open_files() == files + 2);
		fabric_poll_enter();
		fabric_poll_links();
		fabric_poll_leave();
		fabric_link_put(link);
		fabric_link_put(self);
		/* Old pointers read what was there; writes stay here. */
		CHECK(segment[5000] == 1);
		segment[5000] = 2;
		exit(0);
	}
	assert_int_equal(wait_for(pid), 0);
	assert_int_equal(segment[5000], 1);
	assert_int_equal(fabric_qpn_owner(qpn), fabric_self());
	ping(link);
	ping(self);
	assert_int_equal(seen_downs, 0);
	fabric_link_put(link);
	fabric_link_put(self);
	assert_int_equal(peer_end(&peer), 0);
}

static void the_child_can_begin_anew_and_meet_its_parent(void **state)
{
	fabric_id_t parent = fabric_self();
	struct fabric_link *link;
	pid_t pid;

	link = link_to(parent);
	pid = fork();
	if (!pid) {
		struct fabric_link *up_link;

		CHECK(!fabric_init(record_config()));
		CHECK(fabric_self() != parent && fabric_self());
		up_link = fabric_link_get(parent);
		while (fabric_link_state(up_link) == FABRIC_LINK_CONNECTING)
			usleep(50);
		CHECK(fabric_link_state(up_link) == FABRIC_LINK_UP);
		CHECK(fabric_link_peer_pid(up_link) == getppid());
		CHECK(send_record(up_link, PING, 1, 100));
		while (!seen_pongs)
			usleep(50);
		fabric_link_put(up_link);
		fabric_fini();
		_exit(0);
	}
	assert_int_equal(wait_for(pid), 0);
	assert_true(fabric_is_up());
	ping(link);
	fabric_link_put(link);
}

static int role_leaves_a_child(void)
{
	uint32_t first, count;
	uint64_t word;
	pid_t pid;

	must(!fabric_init(record_config()), "init");
	must(!fabric_qpn_block_get(&first, &count), "block");
	say(fabric_self());
	must(hear(&word), "go on");
	pid = fork();
	if (!pid) {
		/* Outlives its parent, with whatever it inherited. */
		prctl(PR_SET_PDEATHSIG, 0);
		close(1);
		while (hear(&word))
			;
		_exit(0);
	}
	say((uint64_t)pid);
	pause();
	return 0;
}

static void a_dead_parent_is_dead_although_its_child_lives(void **state)
{
	struct peer peer = peer_spawn_known("leaves-a-child");
	struct fabric_link *link = link_to(peer.id);
	int status;

	ping(link);
	peer_tell(&peer, 0);
	peer_hear(&peer);
	kill(peer.pid, SIGKILL);
	assert_int_equal(waitpid(peer.pid, &status, 0), peer.pid);
	until(fabric_link_state(link) == FABRIC_LINK_DEAD);
	assert_false(fabric_process_alive(peer.id));
	close(peer.to);
	close(peer.from);
	fabric_link_put(link);
}

static void the_childs_exit_does_not_concern_the_parent(void **state)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (!pid)
			exit(0);
		assert_int_equal(wait_for(pid), 0);
		assert_true(fabric_process_alive(fabric_self()));
	}
}

static _Atomic bool churn_stop;

static void *churn(void *arg)
{
	struct fabric_link *link = arg;
	uint16_t lid;

	for (uint32_t i = 0; !churn_stop; i++) {
		send_record(link, DATA, i, i % 500);
		fabric_poll_enter();
		fabric_poll_links();
		if (i % 64 == 0)
			fabric_poll_leave();
		if (i % 256 == 0)
			fabric_lid_get("churn", &lid);
	}
	return NULL;
}

static void forks_amid_traffic_find_no_lock_held(void **state)
{
	struct fabric_link *link = link_to(fabric_self());
	pthread_t thread;

	churn_stop = false;
	assert_int_equal(pthread_create(&thread, NULL, churn, link), 0);
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (!pid) {
			uint16_t lid;

			alarm(120);
			CHECK(fabric_link_state(link) == FABRIC_LINK_DEAD);
			fabric_link_tx_lock(link);
			fabric_link_tx_unlock(link);
			fabric_link_put(link);
			CHECK(!fabric_init(record_config()));
			CHECK(!fabric_lid_get("churn", &lid));
			CHECK(lid == 1);
			fabric_fini();
			_exit(0);
		}
		assert_int_equal(wait_for(pid), 0);
	}
	churn_stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(seen_broken, 0);
	fabric_link_put(link);
}

static int forked_calls;

static void count_fork(void)
{
	forked_calls++;
}

static void the_adapter_is_told_in_the_child_only(void **state)
{
	struct fabric_config config = *record_config();
	pid_t pid;

	config.forked = count_fork;
	assert_int_equal(fabric_init(&config), 0);
	pid = fork();
	if (!pid)
		_exit(forked_calls == 1 ? 0 : 1);
	assert_int_equal(wait_for(pid), 0);
	assert_int_equal(forked_calls, 0);
}

#define FORK_TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_child_has_nothing_of_the_fabric, down),
		FORK_TEST(the_child_can_begin_anew_and_meet_its_parent),
		FORK_TEST(a_dead_parent_is_dead_although_its_child_lives),
		FORK_TEST(the_childs_exit_does_not_concern_the_parent),
		FORK_TEST(forks_amid_traffic_find_no_lock_held),
		cmocka_unit_test_teardown(the_adapter_is_told_in_the_child_only, down),
	};

	peer_main(argc);
	PEER_ROLE("echo", role_echo);
	PEER_ROLE("leaves-a-child", role_leaves_a_child);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
