/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: how they come about, what is refused, what becomes of them when an end dies. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ends.h"

static void wrong_domains_types_and_protocols_are_refused(void **state)
{
	assert_refused(rsocket(AF_UNIX, SOCK_STREAM, 0), ENOTSUP);
	assert_refused(rsocket(AF_INET, SOCK_RAW, 0), ENOTSUP);
	assert_refused(rsocket(AF_INET, SOCK_STREAM, IPPROTO_UDP), ENOTSUP);
}

static void calls_on_other_descriptors_are_ebadf(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	char c = 0;

	assert_refused(rclose(0), EBADF);
	assert_refused(rclose(-1), EBADF);
	assert_refused(rlisten(1 << 30, 1), EBADF);
	assert_refused(rbind(0, (struct sockaddr *)&at, len), EBADF);
	assert_refused(rconnect(0, (struct sockaddr *)&at, len), EBADF);
	assert_refused(raccept(0, NULL, NULL), EBADF);
	assert_refused(rsend(0, &c, 1, 0), EBADF);
	assert_refused(rrecv(0, &c, 1, 0), EBADF);
	assert_refused(rgetsockname(0, (struct sockaddr *)&at, &len), EBADF);
	assert_refused(rshutdown(0, SHUT_WR), EBADF);
	assert_refused(rfcntl(0, F_GETFL), EBADF);
}

static void a_socket_without_a_connection_neither_sends_nor_receives(void **state)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	char c = 0;

	assert_refused(rsend(fd, &c, 1, 0), ENOTCONN);
	assert_refused(rrecv(fd, &c, 1, 0), ENOTCONN);
	assert_refused(raccept(fd, NULL, NULL), EINVAL);
	assert_refused(rgetpeername(fd, (struct sockaddr *)&at, &len), ENOTCONN);
	assert_int_equal(rclose(fd), 0);
}

static void both_ends_know_both_names(void **state)
{
	struct sockaddr_in at, client, server, accepted;
	socklen_t len = sizeof(at);
	int listener = listener_open(&at), fd = rsocket(AF_INET, SOCK_STREAM, 0), other;

	assert_int_equal(rconnect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	other = raccept(listener, (struct sockaddr *)&accepted, &len);
	assert_true(other >= 0);
	len = sizeof(at);
	assert_int_equal(rgetpeername(fd, (struct sockaddr *)&server, &len), 0);
	assert_int_equal(len, sizeof(server));
	assert_int_equal(server.sin_port, at.sin_port);
	assert_int_equal(rgetsockname(fd, (struct sockaddr *)&client, &len), 0);
	assert_int_equal(client.sin_port, accepted.sin_port);
	assert_int_equal(client.sin_addr.s_addr, accepted.sin_addr.s_addr);
	assert_int_equal(rgetsockname(other, (struct sockaddr *)&server, &len), 0);
	assert_int_equal(server.sin_port, at.sin_port);
	rclose(fd);
	rclose(other);
	rclose(listener);
}

static void a_port_without_listener_is_econnrefused(void **state)
{
	struct sockaddr_in at;
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), error;
	socklen_t len = sizeof(error);

	assert_int_equal(rclose(listener_open(&at)), 0);
	assert_refused(rconnect(fd, (struct sockaddr *)&at, sizeof(at)), ECONNREFUSED);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	assert_int_equal(error, ECONNREFUSED);
	assert_int_equal(rclose(fd), 0);
}

static void connecting_without_blocking_is_reported_by_poll(void **state)
{
	struct sockaddr_in at;
	int listener = listener_open(&at), error = -1;
	int fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(error);

	assert_refused(rconnect(fd, (struct sockaddr *)&at, sizeof(at)), EINPROGRESS);
	assert_int_equal(wait_for(fd, POLLOUT), POLLOUT);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	assert_int_equal(error, 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	rclose(fd);
	rclose(listener);
}

static void a_refusal_without_blocking_is_an_error_event(void **state)
{
	struct sockaddr_in at;
	int fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = -1;
	socklen_t len = sizeof(error);

	assert_int_equal(rclose(listener_open(&at)), 0);
	assert_refused(rconnect(fd, (struct sockaddr *)&at, sizeof(at)), EINPROGRESS);
	assert_true(wait_for(fd, POLLOUT) & POLLERR);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	assert_int_equal(error, ECONNREFUSED);
	assert_int_equal(rclose(fd), 0);
}

static void a_listener_without_requests_has_nothing_to_accept(void **state)
{
	struct sockaddr_in at;
	int listener = listener_open(&at);

	assert_int_equal(rfcntl(listener, F_SETFL, O_NONBLOCK), 0);
	assert_refused(raccept(listener, NULL, NULL), EAGAIN);
	rclose(listener);
}

static void connections_that_were_not_accepted_end_with_the_listener(void **state)
{
	struct sockaddr_in at;
	int listener = listener_open(&at), fds[5];
	char c;

	for (int i = 0; i < 5; i++) {
		fds[i] = rsocket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(rconnect(fds[i], (struct sockaddr *)&at, sizeof(at)), 0);
	}
	assert_int_equal(rclose(listener), 0);
	for (int i = 0; i < 5; i++) {
		assert_refused(rrecv(fds[i], &c, 1, 0), ECONNRESET);
		assert_int_equal(rclose(fds[i]), 0);
	}
}

static void requests_beyond_the_backlog_wait_until_there_is_room(void **state)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	int listener = rsocket(AF_INET, SOCK_STREAM, 0), fds[5], accepted[5], connected = 0;
	struct pollfd polls[5];

	at = (struct sockaddr_in){ .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(rbind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(rlisten(listener, 2), 0);
	assert_int_equal(rgetsockname(listener, (struct sockaddr *)&at, &len), 0);
	for (int i = 0; i < 5; i++) {
		fds[i] = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		assert_refused(rconnect(fds[i], (struct sockaddr *)&at, sizeof(at)), EINPROGRESS);
	}
	/* As with TCP: one more than the backlog; which ones, is not said. */
	for (int i = 0; i < 5; i++)
		polls[i] = (struct pollfd){ .fd = fds[i], .events = POLLOUT };
	while (connected < 3) {
		connected = rpoll(polls, 5, LIMIT_MS);
		assert_in_range(connected, 1, 3);
	}
	for (int i = 0; i < 5; i++) {
		accepted[i] = raccept(listener, NULL, NULL);
		assert_true(accepted[i] >= 0);
	}
	for (int i = 0; i < 5; i++)
		assert_int_equal(wait_for(fds[i], POLLOUT), POLLOUT);
	for (int i = 0; i < 5; i++) {
		rclose(fds[i]);
		rclose(accepted[i]);
	}
	rclose(listener);
}

static void a_port_that_is_taken_is_eaddrinuse(void **state)
{
	struct sockaddr_in at;
	int listener = listener_open(&at), fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_refused(rbind(fd, (struct sockaddr *)&at, sizeof(at)), EADDRINUSE);
	rclose(fd);
	rclose(listener);
}

static int connect_and_echo(const struct sockaddr_in *server)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	char buf[100];
	ssize_t n;

	if (fd < 0 || rconnect(fd, (const struct sockaddr *)server, sizeof(*server)))
		return 1;
	while ((n = rrecv(fd, buf, sizeof(buf), 0)) > 0)
		if (rsend(fd, buf, n, 0) != n)
			return 2;
	return n || rclose(fd) ? 3 : 0;
}

static void another_process_connects(void **state)
{
	struct sockaddr_in at;
	int listener = listener_open(&at), fd;
	char buf[6] = "";
	pid_t child = child_run("echo", &at);

	fd = raccept(listener, NULL, NULL);
	assert_true(fd >= 0);
	send_all(fd, "hello", 6);
	recv_all(fd, buf, 6);
	assert_string_equal(buf, "hello");
	assert_int_equal(rshutdown(fd, SHUT_WR), 0);
	child_expect(child, 0);
	assert_int_equal(rclose(fd), 0);
	rclose(listener);
}

/* Sends and hangs. */
static int send_and_hang(const struct sockaddr_in *server)
{
	static uint8_t buf[50000];
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || rconnect(fd, (const struct sockaddr *)server, sizeof(*server)))
		return 1;
	fill(buf, sizeof(buf), 0);
	if (rsend(fd, buf, sizeof(buf), 0) != sizeof(buf))
		return 2;
	for (;;)
		pause();
}

static void a_peer_that_is_killed_is_an_error_after_its_data(void **state)
{
	struct sockaddr_in at;
	int listener = listener_open(&at), fd;
	pid_t child = child_run("hang", &at);
	uint8_t buf[50000];

	fd = raccept(listener, NULL, NULL);
	assert_true(fd >= 0);
	recv_all(fd, buf, sizeof(buf));
	assert_true(is_filled(buf, sizeof(buf), 0));
	kill(child, SIGKILL);
	assert_refused(rrecv(fd, buf, 1, 0), ECONNRESET);
	assert_true(wait_for(fd, POLLIN) & POLLERR);
	assert_refused(rsend(fd, buf, 1, 0), ECONNRESET);
	assert_int_equal(rclose(fd), 0);
	rclose(listener);
	child_expect(child, SIGKILL);
}

static void a_sender_whose_peer_is_killed_does_not_wait_for_ever(void **state)
{
	static uint8_t buf[100000];
	struct sockaddr_in at;
	int listener = listener_open(&at), fd;
	pid_t child = child_run("hang", &at);
	ssize_t n;

	fd = raccept(listener, NULL, NULL);
	assert_true(fd >= 0);
	/* The peer does not read: until its buffers are full. */
	while (rsend(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	kill(child, SIGKILL);
	do
		n = rsend(fd, buf, sizeof(buf), 0);
	while (n > 0);
	assert_int_equal(n, -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(rclose(fd), 0);
	rclose(listener);
	child_expect(child, SIGKILL);
}

static void the_child_of_a_fork_has_no_rsockets_but_can_make_some(void **state)
{
	struct ends e;
	pid_t child;

	ends_open(&e, NULL);
	child = fork();
	if (!child) {
		char c;
		int fd;

		if (rrecv(e.client, &c, 1, 0) != -1 || errno != EBADF)
			_exit(1);
		fd = rsocket(AF_INET, SOCK_STREAM, 0);
		_exit(fd < 0 || rclose(fd) ? 2 : 0);
	}
	child_expect(child, 0);
	send_all(e.client, "x", 1);
	recv_all(e.server, &(char){ 0 }, 1);
	ends_close(&e);
}

static void *close_listener(void *listener)
{
	rclose(*(int *)listener);
	return NULL;
}

static void closing_a_listener_wakes_the_thread_that_accepts(void **state)
{
	struct sockaddr_in at;
	int listener = listener_open(&at);
	pthread_t closer;

	pthread_create(&closer, NULL, close_listener, &listener);
	errno = 0;
	assert_int_equal(raccept(listener, NULL, NULL), -1);
	assert_true(errno == EINVAL || errno == EBADF);
	pthread_join(closer, NULL);
}

int main(int argc, char **argv)
{
	const struct child_role roles[] = { { "echo", connect_and_echo },
					    { "hang", send_and_hang } };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_domains_types_and_protocols_are_refused),
		cmocka_unit_test(calls_on_other_descriptors_are_ebadf),
		cmocka_unit_test(a_socket_without_a_connection_neither_sends_nor_receives),
		cmocka_unit_test(both_ends_know_both_names),
		cmocka_unit_test(a_port_without_listener_is_econnrefused),
		cmocka_unit_test(connecting_without_blocking_is_reported_by_poll),
		cmocka_unit_test(a_refusal_without_blocking_is_an_error_event),
		cmocka_unit_test(a_listener_without_requests_has_nothing_to_accept),
		cmocka_unit_test(connections_that_were_not_accepted_end_with_the_listener),
		cmocka_unit_test(requests_beyond_the_backlog_wait_until_there_is_room),
		cmocka_unit_test(a_port_that_is_taken_is_eaddrinuse),
		cmocka_unit_test(another_process_connects),
		cmocka_unit_test(a_peer_that_is_killed_is_an_error_after_its_data),
		cmocka_unit_test(a_sender_whose_peer_is_killed_does_not_wait_for_ever),
		cmocka_unit_test(the_child_of_a_fork_has_no_rsockets_but_can_make_some),
		cmocka_unit_test(closing_a_listener_wakes_the_thread_that_accepts),
	};

	child_main(argc, argv, roles, 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
