/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor of asynchronous events, without events. Those need a network that changes:
 * test_netns.c.
 */
#include "verbs_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static void a_quiet_context_is_not_readable(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");

	assert_false(test_readable(context->async_fd, 0));
	test_close(context);
}

static void a_descriptor_that_does_not_block_gives_eagain(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct ibv_async_event event = { .event_type = 77 };
	int flags = fcntl(context->async_fd, F_GETFL);

	assert_int_equal(fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
	errno = 0;
	assert_int_equal(ibv_get_async_event(context, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(event.event_type, 77);
	test_close(context);
}

static void one_context_that_does_not_block_leaves_the_other_blocking(void **state)
{
	struct ibv_context *one = test_open("mlx5_0"), *two = test_open("mlx5_0");

	assert_int_equal(fcntl(one->async_fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(two->async_fd, F_GETFL) & O_NONBLOCK, 0);
	test_close(one);
	test_close(two);
}

static void epoll_takes_the_descriptor(void **state)
{
	struct ibv_context *context = test_open("mlx4_0");
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(epoll_ctl(fd, EPOLL_CTL_ADD, context->async_fd, &event), 0);
	assert_int_equal(epoll_wait(fd, &event, 1, 0), 0);
	close(fd);
	test_close(context);
}

static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
	handled = 1;
}

static void *wait_for_event(void *arg)
{
	struct ibv_async_event event;
	int ret;

	errno = 0;
	ret = ibv_get_async_event(arg, &event);
	return (void *)(intptr_t)(ret == -1 ? errno : -1);
}

/* Sent until it lands: the thread may not have reached its wait when the first one comes. */
static void a_signal_without_restart_ends_the_wait_with_eintr(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct sigaction act = { .sa_handler = on_signal };
	struct timespec until;
	pthread_t thread;
	void *result;

	assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_event, context), 0);
	do {
		pthread_kill(thread, SIGUSR1);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
	} while (pthread_timedjoin_np(thread, &result, &until) == ETIMEDOUT);
	assert_int_equal((intptr_t)result, EINTR);
	assert_true(handled);
	test_close(context);
}

/* A signal for the process must reach a thread of the program, never one of the library. */
static void the_library_takes_no_signal_of_the_program(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	sigset_t set, before;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
	assert_int_equal(kill(getpid(), SIGUSR2), 0); /* fatal to a thread that lets it in */
	assert_int_equal(sigwaitinfo(&set, &info), SIGUSR2);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	test_close(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quiet_context_is_not_readable),
		cmocka_unit_test(a_descriptor_that_does_not_block_gives_eagain),
		cmocka_unit_test(one_context_that_does_not_block_leaves_the_other_blocking),
		cmocka_unit_test(epoll_takes_the_descriptor),
		cmocka_unit_test(a_signal_without_restart_ends_the_wait_with_eintr),
		cmocka_unit_test(the_library_takes_no_signal_of_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
