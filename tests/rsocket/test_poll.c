/* SPDX-License-Identifier: BSD-2-Clause */
/* rpoll(), rselect() and repoll: rsockets and ordinary descriptors together. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "ends.h"

static void a_connection_without_data_can_be_written_and_not_read(void **state)
{
	struct ends *e = *state;
	struct pollfd fd = { .fd = e->client, .events = POLLIN | POLLOUT };

	assert_int_equal(rpoll(&fd, 1, LIMIT_MS), 1);
	assert_int_equal(fd.revents, POLLOUT);
	fd.events = POLLIN;
	assert_int_equal(rpoll(&fd, 1, 0), 0);
	assert_int_equal(fd.revents, 0);
	assert_int_equal(rpoll(&fd, 1, 20), 0);
}

static void data_makes_a_socket_readable_until_it_has_been_read(void **state)
{
	struct ends *e = *state;
	struct pollfd fd = { .fd = e->server, .events = POLLIN };
	char c;

	send_all(e->client, "x", 1);
	assert_int_equal(wait_for(e->server, POLLIN), POLLIN);
	assert_int_equal(rpoll(&fd, 1, 0), 1);
	recv_all(e->server, &c, 1);
	assert_int_equal(rpoll(&fd, 1, 0), 0);
}

static void ordinary_descriptors_and_rsockets_are_reported_together(void **state)
{
	struct ends *e = *state;
	struct pollfd fds[3];
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	fds[0] = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = e->server, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = -1, .events = POLLIN };
	assert_int_equal(rpoll(fds, 3, 10), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(rpoll(fds, 3, LIMIT_MS), 1);
	assert_int_equal(fds[0].revents, POLLIN);
	assert_int_equal(fds[1].revents, 0);
	send_all(e->client, "x", 1);
	wait_for(e->server, POLLIN);
	assert_int_equal(rpoll(fds, 3, LIMIT_MS), 2);
	assert_int_equal(fds[0].revents, POLLIN);
	assert_int_equal(fds[1].revents, POLLIN);
	assert_int_equal(fds[2].revents, 0);
	close(ends[0]);
	close(ends[1]);
}

static void a_listener_is_readable_when_a_connection_waits(void **state)
{
	struct sockaddr_in at;
	int listener = listener_open(&at), fd = rsocket(AF_INET, SOCK_STREAM, 0), other;
	struct pollfd poll_fd = { .fd = listener, .events = POLLIN };

	assert_int_equal(rpoll(&poll_fd, 1, 0), 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(wait_for(listener, POLLIN), POLLIN);
	other = raccept(listener, NULL, NULL);
	assert_int_equal(rpoll(&poll_fd, 1, 0), 0);
	rclose(fd);
	rclose(other);
	rclose(listener);
}

static void the_end_of_the_peer_is_a_hangup_after_the_data(void **state)
{
	struct ends e;
	char c;

	ends_open(&e, NULL);
	send_all(e.client, "x", 1);
	rclose(e.client);
	assert_int_equal(wait_for(e.server, POLLIN), POLLIN);
	recv_all(e.server, &c, 1);
	assert_int_equal(wait_for(e.server, POLLIN), POLLIN | POLLHUP);
	rclose(e.server);
}

/* Threads that wait for different things on one socket: no wake-up may be lost. */
#define ROUNDS 3000

struct waiter {
	int fd;
	size_t got;
};

static void *poll_and_read(void *arg)
{
	struct waiter *w = arg;
	char c;

	for (;;) {
		ssize_t n;

		assert_true(wait_for(w->fd, POLLIN));
		n = rrecv(w->fd, &c, 1, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			continue; /* another one was faster */
		if (n <= 0)
			return NULL;
		w->got++;
	}
}

static void *only_read(void *arg)
{
	struct waiter *w = arg;
	char c;

	while (rrecv(w->fd, &c, 1, 0) == 1)
		w->got++;
	return NULL;
}

static void threads_that_poll_and_threads_that_read_share_a_socket(void **state)
{
	struct waiter waiters[4];
	pthread_t threads[4];
	struct ends e;
	size_t got = 0;

	ends_open(&e, NULL);
	for (int i = 0; i < 4; i++) {
		waiters[i] = (struct waiter){ .fd = e.server };
		pthread_create(&threads[i], NULL, i % 2 ? poll_and_read : only_read, &waiters[i]);
	}
	for (int i = 0; i < ROUNDS; i++)
		send_all(e.client, "x", 1);
	assert_int_equal(rclose(e.client), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		got += waiters[i].got;
	}
	assert_int_equal(got, ROUNDS);
	rclose(e.server);
}

static void select_knows_all_three_sets(void **state)
{
	struct ends *e = *state;
	struct timeval none = { 0 }, limit = { .tv_sec = LIMIT_MS / 1000 };
	fd_set reads, writes, excepts;

	FD_ZERO(&reads);
	FD_ZERO(&writes);
	FD_ZERO(&excepts);
	FD_SET(e->server, &reads);
	FD_SET(e->server, &writes);
	FD_SET(e->server, &excepts);
	assert_int_equal(rselect(e->server + 1, &reads, &writes, &excepts, &none), 1);
	assert_false(FD_ISSET(e->server, &reads));
	assert_true(FD_ISSET(e->server, &writes));
	assert_false(FD_ISSET(e->server, &excepts));
	send_all(e->client, "x", 1);
	FD_SET(e->server, &reads);
	assert_int_equal(rselect(e->server + 1, &reads, NULL, NULL, &limit), 1);
	assert_true(FD_ISSET(e->server, &reads));
	assert_refused(rselect(-1, NULL, NULL, NULL, &none), EINVAL);
}

static void an_instance_reports_what_was_added_with_its_data(void **state)
{
	struct ends *e = *state;
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 42 }, got[4];
	int set = repoll_create(0);

	assert_true(set >= 0);
	assert_int_equal(repoll_ctl(set, EPOLL_CTL_ADD, e->server, &event), 0);
	assert_int_equal(repoll_wait(set, got, 4, 0), 0);
	assert_int_equal(repoll_wait(set, got, 4, 10), 0);
	send_all(e->client, "x", 1);
	assert_int_equal(repoll_wait(set, got, 4, LIMIT_MS), 1);
	assert_int_equal(got[0].events, EPOLLIN);
	assert_int_equal(got[0].data.u64, 42);
	event.events = EPOLLIN | EPOLLOUT | EPOLLONESHOT;
	assert_int_equal(repoll_ctl(set, EPOLL_CTL_MOD, e->server, &event), 0);
	assert_int_equal(repoll_wait(set, got, 4, LIMIT_MS), 1);
	assert_int_equal(got[0].events, EPOLLIN | EPOLLOUT);
	assert_int_equal(repoll_wait(set, got, 4, 0), 0);
	assert_int_equal(repoll_ctl(set, EPOLL_CTL_DEL, e->server, NULL), 0);
	assert_int_equal(rclose(set), 0);
}

static void changes_of_an_instance_that_make_no_sense_are_refused(void **state)
{
	struct ends *e = *state;
	struct epoll_event event = { .events = EPOLLIN };
	int set = repoll_create(EPOLL_CLOEXEC);

	assert_refused(repoll_create(1), EINVAL);
	assert_refused(repoll_ctl(set, EPOLL_CTL_MOD, e->client, &event), ENOENT);
	assert_refused(repoll_ctl(set, EPOLL_CTL_DEL, e->client, &event), ENOENT);
	assert_refused(repoll_ctl(set, EPOLL_CTL_ADD, set, &event), EINVAL);
	assert_refused(repoll_ctl(set, EPOLL_CTL_ADD, -1, &event), EBADF);
	assert_refused(repoll_ctl(set, EPOLL_CTL_ADD, e->client, NULL), EFAULT);
	assert_int_equal(repoll_ctl(set, EPOLL_CTL_ADD, e->client, &event), 0);
	assert_refused(repoll_ctl(set, EPOLL_CTL_ADD, e->client, &event), EEXIST);
	assert_refused(repoll_ctl(e->client, EPOLL_CTL_ADD, e->server, &event), EINVAL);
	assert_refused(repoll_wait(0, &event, 1, 0), EBADF);
	assert_refused(repoll_wait(set, &event, 0, 0), EINVAL);
	assert_refused(rsend(set, "x", 1, 0), EINVAL);
	assert_int_equal(rclose(set), 0);
	assert_refused(rclose(set), EBADF);
}

struct adder {
	int set, fd;
};

static void *add(void *arg)
{
	struct adder *adder = arg;
	struct epoll_event event = { .events = EPOLLOUT };

	repoll_ctl(adder->set, EPOLL_CTL_ADD, adder->fd, &event);
	return NULL;
}

static void a_descriptor_that_is_added_ends_a_wait_that_is_under_way(void **state)
{
	struct ends *e = *state;
	struct adder adder = { .set = repoll_create(0), .fd = e->client };
	struct epoll_event got;
	pthread_t thread;

	pthread_create(&thread, NULL, add, &adder);
	assert_int_equal(repoll_wait(adder.set, &got, 1, LIMIT_MS), 1);
	assert_int_equal(got.events, EPOLLOUT);
	pthread_join(thread, NULL);
	rclose(adder.set);
}

#define pair_test(f) cmocka_unit_test_setup_teardown(f, ends_setup, ends_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(a_connection_without_data_can_be_written_and_not_read),
		pair_test(data_makes_a_socket_readable_until_it_has_been_read),
		pair_test(ordinary_descriptors_and_rsockets_are_reported_together),
		cmocka_unit_test(a_listener_is_readable_when_a_connection_waits),
		cmocka_unit_test(the_end_of_the_peer_is_a_hangup_after_the_data),
		cmocka_unit_test(threads_that_poll_and_threads_that_read_share_a_socket),
		pair_test(select_knows_all_three_sets),
		pair_test(an_instance_reports_what_was_added_with_its_data),
		pair_test(changes_of_an_instance_that_make_no_sense_are_refused),
		pair_test(a_descriptor_that_is_added_ends_a_wait_that_is_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
