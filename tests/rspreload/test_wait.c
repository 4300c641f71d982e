/* SPDX-License-Identifier: BSD-2-Clause */
/* poll, select and epoll with rsockets and other descriptors together. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "fake_rsocket.h"
#include "rspreload/lookup.h"
#include "support.h"

#define LONG_MS 30000

struct rig {
	struct ends ends;
	int pipe[2], ep;
};

static struct rig built(void)
{
	struct rig rig = { .ends = connected(), .ep = epoll_create1(EPOLL_CLOEXEC) };

	assert_return_code(pipe(rig.pipe), 0);
	return rig;
}

static void dismantle(struct rig *rig)
{
	close(rig->pipe[0]);
	close(rig->pipe[1]);
	close(rig->ep);
	close_ends(&rig->ends);
}

static void send_byte(int fd)
{
	assert_int_equal(write(fd, "x", 1), 1);
}

static void take_byte(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
}

static void poll_sees_rsockets_and_pipes(void **state)
{
	struct rig rig = built();
	struct pollfd fds[3] = { { .fd = rig.ends.server, .events = POLLIN },
				 { .fd = -1, .events = POLLIN },
				 { .fd = rig.pipe[0], .events = POLLIN } };

	assert_int_equal(poll(fds, 3, 0), 0);
	send_byte(rig.ends.client);
	assert_int_equal(poll(fds, 3, LONG_MS), 1);
	assert_int_equal(fds[0].revents, POLLIN);
	assert_int_equal(fds[0].fd, rig.ends.server);
	send_byte(rig.pipe[1]);
	take_byte(rig.ends.server);
	assert_int_equal(ppoll(fds, 3, NULL, NULL), 1);
	assert_int_equal(fds[2].revents, POLLIN);
	dismantle(&rig);
}

static void poll_takes_many_descriptors(void **state)
{
	struct rig rig = built();
	struct pollfd fds[500];

	for (int i = 0; i < 500; i++)
		fds[i] = (struct pollfd){ .fd = rig.ends.client, .events = POLLOUT };
	assert_int_equal(poll(fds, 500, LONG_MS), 500);
	assert_int_equal(fds[499].revents, POLLOUT);
	dismantle(&rig);
}

static void select_sees_rsockets_and_pipes(void **state)
{
	struct rig rig = built();
	struct timeval second = { .tv_sec = LONG_MS / 1000 };
	fd_set in, out;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(rig.ends.server, &in);
	FD_SET(rig.pipe[0], &in);
	FD_SET(rig.ends.client, &out);
	send_byte(rig.pipe[1]);
	assert_int_equal(select(FD_SETSIZE, &in, &out, NULL, &second), 2);
	assert_false(FD_ISSET(rig.ends.server, &in));
	assert_true(FD_ISSET(rig.pipe[0], &in));
	assert_true(FD_ISSET(rig.ends.client, &out));

	FD_ZERO(&in);
	FD_SET(rig.ends.server, &in);
	send_byte(rig.ends.client);
	assert_int_equal(pselect(FD_SETSIZE, &in, NULL, NULL, NULL, NULL), 1);
	assert_true(FD_ISSET(rig.ends.server, &in));
	dismantle(&rig);
}

static void watch(struct rig *rig, int op, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	assert_return_code(epoll_ctl(rig->ep, op, fd, &event), errno);
}

static void expect_event(struct rig *rig, int fd, uint32_t events)
{
	struct epoll_event event = { 0 };

	assert_int_equal(epoll_wait(rig->ep, &event, 1, LONG_MS), 1);
	assert_int_equal(event.data.fd, fd);
	assert_int_equal(event.events, events);
}

static void expect_nothing(struct rig *rig)
{
	struct epoll_event event;

	assert_int_equal(epoll_wait(rig->ep, &event, 1, 0), 0);
}

static void epoll_sees_rsockets_and_pipes(void **state)
{
	struct rig rig = built();
	struct epoll_event events[4];

	watch(&rig, EPOLL_CTL_ADD, rig.pipe[0], EPOLLIN);
	watch(&rig, EPOLL_CTL_ADD, rig.ends.server, EPOLLIN);
	expect_nothing(&rig);
	send_byte(rig.ends.client);
	expect_event(&rig, rig.ends.server, EPOLLIN);
	expect_event(&rig, rig.ends.server, EPOLLIN);
	send_byte(rig.pipe[1]);
	assert_int_equal(epoll_wait(rig.ep, events, 4, LONG_MS), 2);
	take_byte(rig.ends.server);
	expect_event(&rig, rig.pipe[0], EPOLLIN);
	dismantle(&rig);
}

static void epoll_changes_and_removes_watches(void **state)
{
	struct rig rig = built();
	struct epoll_event event = { .events = EPOLLIN };

	assert_int_equal(epoll_ctl(rig.ep, EPOLL_CTL_MOD, rig.ends.client, &event), -1);
	assert_int_equal(errno, ENOENT);
	watch(&rig, EPOLL_CTL_ADD, rig.ends.client, EPOLLIN);
	assert_int_equal(epoll_ctl(rig.ep, EPOLL_CTL_ADD, rig.ends.client, &event), -1);
	assert_int_equal(errno, EEXIST);
	expect_nothing(&rig);
	watch(&rig, EPOLL_CTL_MOD, rig.ends.client, EPOLLOUT);
	expect_event(&rig, rig.ends.client, EPOLLOUT);
	assert_return_code(epoll_ctl(rig.ep, EPOLL_CTL_DEL, rig.ends.client, NULL), 0);
	expect_nothing(&rig);
	assert_int_equal(epoll_ctl(rig.pipe[0], EPOLL_CTL_ADD, rig.ends.client, &event), -1);
	assert_int_equal(errno, EINVAL);
	dismantle(&rig);
}

static void a_one_shot_watch_reports_once(void **state)
{
	struct rig rig = built();

	watch(&rig, EPOLL_CTL_ADD, rig.ends.client, EPOLLOUT | EPOLLONESHOT);
	expect_event(&rig, rig.ends.client, EPOLLOUT);
	expect_nothing(&rig);
	watch(&rig, EPOLL_CTL_MOD, rig.ends.client, EPOLLOUT | EPOLLONESHOT);
	expect_event(&rig, rig.ends.client, EPOLLOUT);
	expect_nothing(&rig);
	dismantle(&rig);
}

static void an_edge_is_reported_again_after_the_socket_was_used(void **state)
{
	struct rig rig = built();

	watch(&rig, EPOLL_CTL_ADD, rig.ends.server, EPOLLIN | EPOLLOUT | EPOLLET);
	expect_event(&rig, rig.ends.server, EPOLLOUT);
	expect_nothing(&rig);
	send_byte(rig.ends.client);
	expect_event(&rig, rig.ends.server, EPOLLIN);
	expect_nothing(&rig);
	take_byte(rig.ends.server);
	expect_nothing(&rig);
	send_byte(rig.ends.client);
	expect_event(&rig, rig.ends.server, EPOLLIN);
	send_byte(rig.ends.server);
	expect_event(&rig, rig.ends.server, EPOLLOUT);
	dismantle(&rig);
}

static void a_closed_rsocket_is_watched_no_more(void **state)
{
	struct rig rig = built();
	int copy = dup(rig.ends.client);

	watch(&rig, EPOLL_CTL_ADD, copy, EPOLLOUT);
	expect_event(&rig, copy, EPOLLOUT);
	close(copy);
	expect_nothing(&rig);
	dismantle(&rig);
}

static void *wait_for_one(void *arg)
{
	struct rig *rig = arg;

	expect_event(rig, rig->ends.client, EPOLLOUT);
	return NULL;
}

static void a_thread_that_waits_learns_of_new_watches(void **state)
{
	struct rig rig = built();
	pthread_t threads[2];

	watch(&rig, EPOLL_CTL_ADD, rig.ends.server, EPOLLIN);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_one, &rig), 0);
	watch(&rig, EPOLL_CTL_ADD, rig.ends.client, EPOLLOUT);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	dismantle(&rig);
}

static void a_socket_that_leaves_rdma_is_watched_by_the_kernel(void **state)
{
	struct rig rig = built();
	struct sockaddr_in addr = loopback(0);
	socklen_t len = sizeof(addr);
	int client = socket(AF_INET, SOCK_STREAM, 0), listener;

	fake.socket_error = ENODEV;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	bind(listener, (struct sockaddr *)&addr, len);
	listen(listener, 1);
	getsockname(listener, (struct sockaddr *)&addr, &len);
	watch(&rig, EPOLL_CTL_ADD, client, EPOLLOUT);
	fake.connect_error = ENETUNREACH;
	assert_return_code(connect(client, (struct sockaddr *)&addr, len), errno);
	assert_int_equal(rsp_lookup(client), -1);
	expect_event(&rig, client, EPOLLOUT);
	watch(&rig, EPOLL_CTL_MOD, client, EPOLLIN);
	expect_nothing(&rig);
	close(client);
	close(listener);
	dismantle(&rig);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, all_closed)
	const struct CMUnitTest tests[] = {
		TEST(poll_sees_rsockets_and_pipes),
		TEST(poll_takes_many_descriptors),
		TEST(select_sees_rsockets_and_pipes),
		TEST(epoll_sees_rsockets_and_pipes),
		TEST(epoll_changes_and_removes_watches),
		TEST(a_one_shot_watch_reports_once),
		TEST(an_edge_is_reported_again_after_the_socket_was_used),
		TEST(a_closed_rsocket_is_watched_no_more),
		TEST(a_thread_that_waits_learns_of_new_watches),
		TEST(a_socket_that_leaves_rdma_is_watched_by_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
