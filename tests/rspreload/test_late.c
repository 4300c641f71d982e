/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that move to RDMA after fork: RDMAV_FORK_SAFE. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "fake_rsocket.h"
#include "rspreload/lookup.h"
#include "rspreload/state.h"
#include "support.h"

static int begin_late(void **state)
{
	begin(state);
	rsp.late = true;
	return 0;
}

/* Exit status of a child: its number is an rsocket's in the end. */
static int echo_and_tell(int fd, bool poll_first)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };
	char text[6] = "";

	if (poll_first && poll(&in, 1, -1) != 1)
		return 2;
	if (recv(fd, text, 5, MSG_WAITALL) != 5 || write(fd, text, 5) != 5)
		return 3;
	return rsp_lookup(fd) >= 0 ? 0 : 4;
}

static void run_server(struct ends *ends, bool poll_first)
{
	pid_t pid = fork();
	char text[6] = "";
	int status;

	if (!pid) {
		close(ends->client);
		_exit(echo_and_tell(ends->server, poll_first));
	}
	close(ends->server);
	assert_int_equal(write(ends->client, "hello", 5), 5);
	assert_true(rsp_lookup(ends->client) >= 0);
	assert_int_equal(recv(ends->client, text, 5, MSG_WAITALL), 5);
	assert_string_equal(text, "hello");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ends->client);
	close(ends->listener);
}

static void a_connection_moves_in_the_process_that_uses_it(void **state)
{
	struct ends ends = connected();

	assert_int_equal(fake.open, 0);
	run_server(&ends, false);
}

static void waiting_for_data_moves_an_accepted_connection(void **state)
{
	struct ends ends = connected();

	run_server(&ends, true);
}

static void options_and_mode_move_along(void **state)
{
	struct ends ends = connected();
	socklen_t len = sizeof(int);
	int on = 1, got = 0;

	assert_return_code(setsockopt(ends.client, IPPROTO_TCP, TCP_NODELAY, &on, len), 0);
	if (!fork())
		_exit(echo_and_tell(ends.server, false));
	assert_int_equal(write(ends.client, "hello", 5), 5);
	assert_true(rsp_lookup(ends.client) >= 0);
	assert_return_code(getsockopt(ends.client, IPPROTO_TCP, TCP_NODELAY, &got, &len), 0);
	assert_true(got);
	wait(NULL);
	close_ends(&ends);
}

static void several_connections_of_a_port_move_one_after_the_other(void **state)
{
	struct ends ends[4] = { connected() };
	int i, status;

	for (i = 1; i < 4; i++) {
		ends[i].client = socket(AF_INET, SOCK_STREAM, 0);
		assert_return_code(connect(ends[i].client, (struct sockaddr *)&ends[0].addr,
					   sizeof(ends[0].addr)),
				   errno);
		ends[i].server = accept(ends[0].listener, NULL, NULL);
	}
	for (i = 0; i < 4; i++) {
		if (!fork())
			_exit(echo_and_tell(ends[i].server, false));
		close(ends[i].server);
	}
	for (i = 3; i >= 0; i--)
		if (!fork())
			_exit(write(ends[i].client, "hello", 5) == 5 &&
					      recv(ends[i].client, ends, 5, MSG_WAITALL) == 5
				      ? 0
				      : 1);
	for (i = 0; i < 8; i++) {
		wait(&status);
		assert_int_equal(status, 0);
	}
	for (i = 0; i < 4; i++)
		close(ends[i].client);
	close(ends[0].listener);
}

static void a_peer_that_goes_away_first_is_a_reset_not_a_hang(void **state)
{
	struct ends ends = connected();
	char byte;

	close(ends.client);
	assert_true(read(ends.server, &byte, 1) <= 0);
	assert_int_equal(rsp_lookup(ends.server), -1);
	close(ends.server);
	close(ends.listener);
}

static void a_peer_without_the_library_stays_with_tcp(void **state)
{
	int listener, client, server;
	struct sockaddr_in addr = loopback(0);
	socklen_t len = sizeof(addr);
	char text[6] = "";

	rsp.late = false;
	fake.socket_error = ENODEV;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	bind(listener, (struct sockaddr *)&addr, len);
	listen(listener, 1);
	getsockname(listener, (struct sockaddr *)&addr, &len);
	rsp.late = true;
	client = socket(AF_INET, SOCK_STREAM, 0);
	assert_return_code(connect(client, (struct sockaddr *)&addr, len), errno);
	server = accept(listener, NULL, NULL);
	assert_int_equal(write(server, "hello", 5), 5);
	assert_int_equal(read(client, text, 5), 5);
	assert_string_equal(text, "hello");
	close(client);
	close(server);
	close(listener);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_late, all_closed)
	const struct CMUnitTest tests[] = {
		TEST(a_connection_moves_in_the_process_that_uses_it),
		TEST(waiting_for_data_moves_an_accepted_connection),
		TEST(options_and_mode_move_along),
		TEST(several_connections_of_a_port_move_one_after_the_other),
		TEST(a_peer_that_goes_away_first_is_a_reset_not_a_hang),
		TEST(a_peer_without_the_library_stays_with_tcp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
