/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/peer.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

/* Long enough for a thread that ticks every millisecond to be seen many times. */
#define QUIET_NS 300000000u

static uint64_t wakeups(fabric_id_t id)
{
	return fabric_counter_read(fabric_id_slot(id), FABRIC_COUNT_WAKEUPS);
}

static void stay_quiet(void)
{
	const struct timespec nap = { .tv_nsec = QUIET_NS };

	nanosleep(&nap, NULL);
}

/* Whatever is still to be done at first, on a busy machine, comes to an end. */
static bool sleeps(fabric_id_t id)
{
	uint64_t before = wakeups(id);

	stay_quiet();
	return wakeups(id) == before;
}

static unsigned int threads_named_verbena(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int count = 0;
	struct dirent *entry;

	assert_non_null(tasks);
	while ((entry = readdir(tasks))) {
		char path[300], name[32] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		if (read(fd, name, sizeof(name) - 1) > 0 && !strcmp(name, "verbena\n"))
			count++;
		close(fd);
	}
	closedir(tasks);
	return count;
}

static void nop(void *arg)
{
	(*(_Atomic int *)arg)++;
}

static void the_thread_starts_when_it_is_needed_and_once(void **state)
{
	_Atomic int ran = 0;
	uint16_t lid;

	assert_int_equal(fabric_lid_get("x", &lid), 0);
	fabric_poll_enter();
	fabric_poll_links();
	assert_int_equal(threads_named_verbena(), 0);
	assert_int_equal(fabric_service_run(nop, &ran), 0);
	assert_int_equal(fabric_service_run(nop, &ran), 0);
	until(ran == 2);
	assert_int_equal(threads_named_verbena(), 1);
	fabric_fini();
	assert_int_equal(threads_named_verbena(), 0);
	assert_int_equal(fabric_service_run(nop, &ran), -ENOTCONN);
}

static struct {
	cpu_set_t set;
	_Atomic bool known;
} thread_cpus;

static void note_cpus(void *arg)
{
	pthread_getaffinity_np(pthread_self(), sizeof(thread_cpus.set), &thread_cpus.set);
	thread_cpus.known = true;
}

/* As DPDK does, whose main thread then spins there. */
static void the_thread_is_not_bound_to_the_cpu_of_the_thread_that_starts_it(void **state)
{
	cpu_set_t all, one;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(fabric_service_run(note_cpus, NULL), 0);
	until(thread_cpus.known);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_true(CPU_EQUAL(&thread_cpus.set, &all));
}

/* ---- posted work ---- */

static struct {
	int order[100];
	_Atomic int count;
	bool on_service, all_blocked;
} posted;

static void note(void *arg)
{
	sigset_t mask;

	posted.order[posted.count] = (int)(intptr_t)arg;
	posted.on_service = fabric_service_is_self();
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	posted.all_blocked = sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGTERM) &&
			     sigismember(&mask, SIGINT) && sigismember(&mask, SIGALRM);
	posted.count++;
}

static void posted_work_runs_in_order_on_the_thread(void **state)
{
	memset(&posted, 0, sizeof(posted));
	for (intptr_t i = 0; i < 100; i++)
		assert_int_equal(fabric_service_run(note, (void *)i), 0);
	until(posted.count == 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(posted.order[i], i);
	assert_true(posted.on_service);
	assert_true(posted.all_blocked);
	assert_false(fabric_service_is_self());
}

enum { CHAIN = 3 };

static void post_next(void *arg)
{
	_Atomic int *ran = arg;

	if (*ran + 1 < CHAIN)
		fabric_service_run(post_next, arg);
	(*ran)++;
}

static void work_that_the_thread_posts_needs_no_wake_up(void **state)
{
	_Atomic int ran = 0;
	uint64_t before;

	assert_int_equal(fabric_service_run(nop, &ran), 0);
	until(ran == 1 && sleeps(fabric_self()));
	ran = 0;
	before = wakeups(fabric_self());
	assert_int_equal(fabric_service_run(post_next, &ran), 0);
	until(ran == CHAIN);
	assert_int_equal(wakeups(fabric_self()), before + 1);
}

/* ---- descriptors ---- */

static _Atomic int fd_calls, fd_inside;
static _Atomic bool fd_hold;

static void on_fd(void *arg, uint32_t events)
{
	uint64_t count;

	fd_inside = 1;
	if (events & EPOLLIN)
		fd_calls++;
	while (fd_hold)
		usleep(50);
	if (read(*(int *)arg, &count, sizeof(count)) < 0)
		fd_calls += 1000;
	fd_inside = 0;
}

static void ring(int fd)
{
	assert_int_equal(write(fd, &(uint64_t){ 1 }, 8), 8);
}

/* Also if one wake-up fails, as a sandbox may let it. */
static void a_wake_up_that_failed_does_not_suppress_the_next(void **state)
{
	int wake = fabric_service_wake_fd(), kept, full;
	_Atomic int ran = 0;

	assert_int_equal(fabric_service_run(nop, &ran), 0);
	until(ran == 1);
	until(sleeps(fabric_self()));
	kept = dup(wake);
	full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(kept >= 0 && full >= 0);
	assert_int_equal(dup2(full, wake), wake);
	assert_int_equal(fabric_service_run(nop, &ran), 0);
	assert_int_equal(dup2(kept, wake), wake);
	close(kept);
	close(full);
	assert_int_equal(fabric_service_run(nop, &ran), 0);
	until(ran == 3);
}

static void a_watched_descriptor_calls_back_until_it_is_removed(void **state)
{
	_Atomic int ran = 0;
	int fd = eventfd(0, EFD_NONBLOCK);

	fd_calls = 0;
	fd_hold = false;
	assert_int_equal(fabric_service_add_fd(fd, EPOLLIN, on_fd, &fd), 0);
	assert_int_equal(fabric_service_add_fd(fd, EPOLLIN, on_fd, &fd), -EEXIST);
	for (int i = 1; i <= 50; i++) {
		ring(fd);
		until(fd_calls == i && !fd_inside);
	}
	assert_int_equal(fabric_service_del_fd(fd), 0);
	assert_int_equal(fabric_service_del_fd(fd), -ENOENT);
	ring(fd);
	fabric_service_run(nop, &ran);
	until(ran == 1);
	assert_int_equal(fd_calls, 50);
	/* And again, with what is waiting already. */
	assert_int_equal(fabric_service_add_fd(fd, EPOLLIN, on_fd, &fd), 0);
	until(fd_calls == 51);
	assert_int_equal(fabric_service_del_fd(fd), 0);
	close(fd);
}

static void a_descriptor_without_wanted_events_has_no_callback(void **state)
{
	int fd = eventfd(0, EFD_NONBLOCK);

	fd_calls = 0;
	fd_hold = false;
	assert_int_equal(fabric_service_add_fd(fd, EPOLLIN, on_fd, &fd), 0);
	for (int i = 0; i < 20; i++) {
		_Atomic int ran = 0;

		assert_int_equal(fabric_service_mod_fd(fd, 0), 0);
		assert_int_equal(fabric_service_mod_fd(fd, 0), 0);
		ring(fd);
		fabric_service_run(nop, &ran);
		until(ran == 1);
		assert_int_equal(fd_calls, i);
		assert_int_equal(fabric_service_mod_fd(fd, EPOLLIN), 0);
		assert_int_equal(fabric_service_mod_fd(fd, EPOLLIN), 0);
		until(fd_calls == i + 1 && !fd_inside);
	}
	assert_int_equal(fabric_service_mod_fd(fd, 0), 0);
	assert_int_equal(fabric_service_del_fd(fd), 0);
	assert_int_equal(fabric_service_mod_fd(fd, EPOLLIN), -ENOENT);
	close(fd);
}

static void *let_go_later(void *arg)
{
	usleep(20000);
	fd_hold = false;
	return NULL;
}

static void removal_waits_for_the_callback_that_runs(void **state)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	pthread_t thread;

	fd_hold = true;
	fd_inside = 0;
	assert_int_equal(fabric_service_add_fd(fd, EPOLLIN, on_fd, &fd), 0);
	ring(fd);
	until(fd_inside);
	assert_int_equal(pthread_create(&thread, NULL, let_go_later, NULL), 0);
	assert_int_equal(fabric_service_del_fd(fd), 0);
	assert_int_equal(fd_inside, 0);
	pthread_join(thread, NULL);
	close(fd);
}

static _Atomic int self_removals;

static void on_fd_remove_self(void *arg, uint32_t events)
{
	self_removals += fabric_service_del_fd(*(int *)arg) == 0;
}

static void a_callback_may_remove_itself(void **state)
{
	int fd = eventfd(1, EFD_NONBLOCK);

	self_removals = 0;
	assert_int_equal(fabric_service_add_fd(fd, EPOLLIN, on_fd_remove_self, &fd), 0);
	until(self_removals == 1);
	assert_int_equal(fabric_service_del_fd(fd), -ENOENT);
	close(fd);
}

static void many_descriptors_are_watched(void **state)
{
	int fds[200];

	fd_calls = 0;
	fd_hold = false;
	for (int i = 0; i < 200; i++) {
		fds[i] = eventfd(0, EFD_NONBLOCK);
		assert_int_equal(fabric_service_add_fd(fds[i], EPOLLIN, on_fd, &fds[i]), 0);
	}
	for (int i = 0; i < 200; i++)
		ring(fds[i]);
	until(fd_calls == 200);
	for (int i = 0; i < 200; i++) {
		assert_int_equal(fabric_service_del_fd(fds[i]), 0);
		close(fds[i]);
	}
}

/* ---- timers ---- */

static _Atomic int timer_calls, timer_early;
static _Atomic uint64_t timer_due, timer_next;

static uint64_t on_timers(uint64_t now_ns)
{
	uint64_t next = timer_next;

	if (now_ns < timer_due)
		timer_early++;
	timer_due = next;
	timer_next = UINT64_MAX;
	timer_calls++; /* last: who waits for it sets the next deadline at once */
	return next;
}

static int up_with_timers(void **state)
{
	struct fabric_config config = *record_config();

	config.timers = on_timers;
	timer_calls = timer_early = 0;
	timer_next = UINT64_MAX;
	return fabric_init(&config);
}

static void timers_run_at_their_deadline_and_not_before(void **state)
{
	for (int i = 1; i <= 50; i++) {
		timer_due = fabric_now_ns() + 200000;
		fabric_service_set_deadline(timer_due);
		until(timer_calls == i);
	}
	assert_int_equal(timer_early, 0);
	/* 0 and the past are now. */
	timer_due = 0;
	fabric_service_set_deadline(0);
	until(timer_calls == 51);
	fabric_service_set_deadline(5);
	until(timer_calls == 52);
}

static void the_next_deadline_is_what_the_timers_return(void **state)
{
	timer_due = fabric_now_ns() + 100000;
	timer_next = timer_due + 3000000;
	fabric_service_set_deadline(timer_due);
	until(timer_calls == 2);
	assert_int_equal(timer_early, 0);
	stay_quiet();
	assert_int_equal(timer_calls, 2);
}

static void an_earlier_deadline_wins_and_a_later_one_changes_nothing(void **state)
{
	uint64_t now = fabric_now_ns();

	timer_due = 0;
	fabric_service_set_deadline(now + 3600000000000ull);
	fabric_service_set_deadline(now + 7200000000000ull);
	fabric_service_set_deadline(UINT64_MAX);
	fabric_service_set_deadline(now + 1000000);
	until(timer_calls == 1);
	assert_true(fabric_now_ns() - now >= 1000000);
}

/* ---- idle and polled ---- */

static void an_idle_thread_sleeps(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link = fabric_link_get(peer.id), *self = fabric_link_get(fabric_self());

	until(fabric_link_state(link) == FABRIC_LINK_UP);
	until(fabric_link_state(self) == FABRIC_LINK_UP);
	until(send_record(link, PING, 1, 100) && send_record(self, PING, 1, 100));
	until(seen_pongs == 2);
	until(sleeps(fabric_self()));
	until(sleeps(peer.id));
	fabric_link_put(link);
	fabric_link_put(self);
	assert_int_equal(peer_end(&peer), 0);
}

static uint32_t polling(void)
{
	return atomic_load(&((struct fabric_page *)fabric_segment_self())->polling);
}

static void poll_a_while(void)
{
	for (uint32_t i = 0; i < 4 * FABRIC_POLL_BEGIN; i++) {
		fabric_poll_enter();
		fabric_poll_links();
	}
}

static void the_service_thread_takes_over_when_polling_stops(void **state)
{
	uint32_t slot = fabric_id_slot(fabric_self());
	uint64_t before;

	for (int round = 0; round < 5; round++) {
		before = fabric_counter_read(slot, FABRIC_COUNT_TAKEOVERS);
		/* A thread that loses its core between two polls counts as not polling, too. */
		until((poll_a_while(), polling() == 1));
		until(polling() == 0);
		until(fabric_counter_read(slot, FABRIC_COUNT_TAKEOVERS) > before);
	}
	/* And then it sleeps. */
	until(sleeps(fabric_self()));
}

static _Atomic unsigned int looks;
static _Atomic uint64_t look_period_ns, look_takes_ns;

static uint64_t thread_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000ull + used.tv_nsec;
}

static void count_look(uint64_t now_ns, uint64_t period_ns)
{
	uint64_t began = thread_cpu_ns();

	look_period_ns = period_ns;
	while (thread_cpu_ns() - began < look_takes_ns)
		;
	looks++;
}

static int up_with_looks(void **state)
{
	struct fabric_config config = *record_config();

	looks = 0;
	look_takes_ns = 0;
	config.polling_check = count_look;
	return fabric_init(&config);
}

static void polling_is_checked_until_it_stops(void **state)
{
	until((poll_a_while(), looks >= 3));
	assert_true(fabric_poll_checked_ns() > 0 && fabric_poll_checked_ns() <= fabric_now_ns());
	until(polling() == 0 && sleeps(fabric_self()));
	looks = 0;
	stay_quiet();
	assert_int_equal(looks, 0);
}

/* A slow processor: looking must not use up what is to be looked after. */
static void dear_looks_are_rare(void **state)
{
	look_takes_ns = 500000;
	until((poll_a_while(), look_period_ns > 4000000));
	assert_true(look_period_ns <= 8000000);
}

static void a_few_polls_do_not_stop_the_kicks(void **state)
{
	for (uint32_t i = 0; i < FABRIC_POLL_BEGIN / 2; i++)
		fabric_poll_enter();
	assert_int_equal(polling(), 0);
	fabric_poll_leave();
	for (uint32_t i = 0; i < FABRIC_POLL_BEGIN / 2; i++)
		fabric_poll_enter();
	fabric_poll_leave();
	for (uint32_t i = 0; i < FABRIC_POLL_BEGIN / 2; i++)
		fabric_poll_enter();
	assert_int_equal(polling(), 0);
}

static void a_process_that_leaves_polling_is_kicked_from_then_on(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link = fabric_link_get(peer.id);

	until(fabric_link_state(link) == FABRIC_LINK_UP);
	for (uint64_t i = 1; i <= 200; i++) {
		poll_a_while();
		until(send_record(link, PING, 1, 8));
		fabric_poll_leave();
		assert_int_equal(polling(), 0);
		/* No polls: the service thread has to find it. */
		until(seen_pongs == i);
	}
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

static int role_polls_now_and_then(void)
{
	uint32_t first, count;
	uint64_t word;

	must(!fabric_init(record_config()), "init");
	must(!fabric_qpn_block_get(&first, &count), "block");
	say(fabric_self());
	while (hear(&word)) {
		for (uint64_t i = 0; i < word; i++) {
			fabric_poll_enter();
			fabric_poll_links();
		}
		say(1);
	}
	fabric_fini();
	return 0;
}

static void records_sent_while_polling_ends_are_not_lost(void **state)
{
	struct peer peer = peer_spawn_known("now-and-then");
	struct fabric_link *link = fabric_link_get(peer.id);
	uint32_t sent = 0;

	until(fabric_link_state(link) == FABRIC_LINK_UP);
	for (int round = 0; round < 100; round++) {
		peer_tell(&peer, 500 + (uint64_t)round * 7);
		for (int i = 0; i < 20; i++) {
			until(send_record(link, PING, sent++, 32));
			if (round % 3 == 0)
				sched_yield();
		}
		peer_hear(&peer);
		until(send_record(link, PING, sent++, 32));
		until(seen_pongs == sent);
	}
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

static _Atomic int stall_drains;
static _Atomic bool stall;

static unsigned int drain_or_stall(struct fabric_link *link)
{
	stall_drains++;
	return stall ? 0 : drain_records(link);
}

static void a_drain_that_cannot_go_on_is_not_called_in_a_loop(void **state)
{
	struct fabric_config config = *record_config();
	struct fabric_link *self;
	uint64_t begin;
	int calls;

	config.drain = drain_or_stall;
	stall = true;
	assert_int_equal(fabric_init(&config), 0);
	self = fabric_link_get(fabric_self());
	until(fabric_link_state(self) == FABRIC_LINK_UP);
	until(send_record(self, DATA, 1, 8));
	until(stall_drains);
	begin = fabric_now_ns();
	calls = stall_drains;
	stay_quiet();
	until(stall_drains - calls > 2);
	calls = stall_drains - calls;
	/* About one per millisecond. */
	assert_true((uint64_t)calls <= (fabric_now_ns() - begin) / 1000000 + 10);
	stall = false;
	until(seen_data == 1);
	fabric_link_put(self);
}

#define SERVICE_TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

static int up_quietly(void **state)
{
	return fabric_init(record_config());
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SERVICE_TEST(the_thread_is_not_bound_to_the_cpu_of_the_thread_that_starts_it),
		cmocka_unit_test_setup_teardown(the_thread_starts_when_it_is_needed_and_once,
						up_quietly, down),
		SERVICE_TEST(posted_work_runs_in_order_on_the_thread),
		SERVICE_TEST(work_that_the_thread_posts_needs_no_wake_up),
		SERVICE_TEST(a_wake_up_that_failed_does_not_suppress_the_next),
		SERVICE_TEST(a_watched_descriptor_calls_back_until_it_is_removed),
		SERVICE_TEST(a_descriptor_without_wanted_events_has_no_callback),
		SERVICE_TEST(removal_waits_for_the_callback_that_runs),
		SERVICE_TEST(a_callback_may_remove_itself),
		SERVICE_TEST(many_descriptors_are_watched),
		cmocka_unit_test_setup_teardown(timers_run_at_their_deadline_and_not_before,
						up_with_timers, down),
		cmocka_unit_test_setup_teardown(the_next_deadline_is_what_the_timers_return,
						up_with_timers, down),
		cmocka_unit_test_setup_teardown(
			an_earlier_deadline_wins_and_a_later_one_changes_nothing, up_with_timers,
			down),
		SERVICE_TEST(an_idle_thread_sleeps),
		SERVICE_TEST(the_service_thread_takes_over_when_polling_stops),
		cmocka_unit_test_setup_teardown(polling_is_checked_until_it_stops, up_with_looks,
						down),
		cmocka_unit_test_setup_teardown(dear_looks_are_rare, up_with_looks, down),
		SERVICE_TEST(a_few_polls_do_not_stop_the_kicks),
		SERVICE_TEST(a_process_that_leaves_polling_is_kicked_from_then_on),
		SERVICE_TEST(records_sent_while_polling_ends_are_not_lost),
		cmocka_unit_test_teardown(a_drain_that_cannot_go_on_is_not_called_in_a_loop, down),
	};

	peer_main(argc);
	PEER_ROLE("echo", role_echo);
	PEER_ROLE("now-and-then", role_polls_now_and_then);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
