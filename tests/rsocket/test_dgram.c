/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams: over UDP until the peer's queue pair is known, then over queue pairs. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ends.h"

struct pair {
	int a, b;
	struct sockaddr_in at_a, at_b;
};

static int open_bound(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_true(fd >= 0);
	assert_int_equal(rbind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
	assert_int_equal(rgetsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

static int pair_setup(void **state)
{
	static struct pair pair;

	pair.a = open_bound(&pair.at_a);
	pair.b = open_bound(&pair.at_b);
	*state = &pair;
	return 0;
}

static int pair_teardown(void **state)
{
	struct pair *p = *state;

	return rclose(p->a) || rclose(p->b);
}

static void send_to(int fd, const void *buf, size_t len, const struct sockaddr_in *to)
{
	assert_int_equal(rsendto(fd, buf, len, 0, (const struct sockaddr *)to, sizeof(*to)), len);
}

/* Receives a datagram that must come from there. */
static ssize_t recv_from(int fd, void *buf, size_t len, const struct sockaddr_in *expected)
{
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t n;

	assert_true(wait_for(fd, POLLIN) & POLLIN);
	n = rrecvfrom(fd, buf, len, 0, (struct sockaddr *)&from, &from_len);
	assert_int_equal(from_len, sizeof(from));
	assert_int_equal(from.sin_family, AF_INET);
	assert_int_equal(from.sin_port, expected->sin_port);
	assert_int_equal(from.sin_addr.s_addr, expected->sin_addr.s_addr);
	return n;
}

static void a_datagram_arrives_with_its_senders_address(void **state)
{
	struct pair *p = *state;
	char buf[16] = "";

	send_to(p->a, "hello", 6, &p->at_b);
	assert_int_equal(recv_from(p->b, buf, sizeof(buf), &p->at_a), 6);
	assert_string_equal(buf, "hello");
	send_to(p->b, "olleh", 6, &p->at_a);
	assert_int_equal(recv_from(p->a, buf, sizeof(buf), &p->at_b), 6);
	assert_string_equal(buf, "olleh");
}

static void many_datagrams_go_back_and_forth(void **state)
{
	struct pair *p = *state;
	uint8_t buf[1000], got[1000];

	for (int i = 0; i < 500; i++) {
		const size_t len = 1 + i * 2 % 900;

		fill(buf, len, i);
		send_to(p->a, buf, len, &p->at_b);
		assert_int_equal(recv_from(p->b, got, sizeof(got), &p->at_a), len);
		assert_true(is_filled(got, len, i));
		send_to(p->b, got, len, &p->at_a);
		assert_int_equal(recv_from(p->a, got, sizeof(got), &p->at_b), len);
	}
}

static void the_boundaries_of_datagrams_stay_and_long_ones_are_cut(void **state)
{
	struct pair *p = *state;
	char buf[4] = "";
	struct iovec vec = { buf, 3 };
	struct sockaddr_in from;
	struct msghdr msg = {
		.msg_iov = &vec, .msg_iovlen = 1, .msg_name = &from, .msg_namelen = sizeof(from)
	};

	send_to(p->a, "12345", 5, &p->at_b);
	assert_true(wait_for(p->b, POLLIN) & POLLIN);
	assert_int_equal(rrecv(p->b, buf, 2, MSG_PEEK), 2);
	assert_int_equal(rrecvmsg(p->b, &msg, 0), 3);
	assert_string_equal(buf, "123");
	assert_int_equal(msg.msg_flags, MSG_TRUNC);
	assert_int_equal(msg.msg_namelen, sizeof(from));
	assert_int_equal(from.sin_port, p->at_a.sin_port);
	send_to(p->a, "ab", 2, &p->at_b);
	assert_int_equal(recv_from(p->b, buf, 3, &p->at_a), 2);
}

static void a_datagram_longer_than_a_packet_arrives_too(void **state)
{
	struct pair *p = *state;
	uint8_t buf[2020], got[2048];

	fill(buf, sizeof(buf), 0);
	for (int i = 0; i < 5; i++) {
		send_to(p->a, buf, sizeof(buf), &p->at_b);
		assert_int_equal(recv_from(p->b, got, sizeof(got), &p->at_a), sizeof(buf));
		assert_true(is_filled(got, sizeof(buf), 0));
	}
	assert_refused(rsendto(p->a, got, 2021, 0, (struct sockaddr *)&p->at_b, sizeof(p->at_b)),
		       EMSGSIZE);
}

/* The UDP socket has the number of the rsocket, and drops all that comes from now on. */
static void deafen_udp(int fd)
{
	struct sock_filter drop = { .code = BPF_RET | BPF_K };
	struct sock_fprog program = { .len = 1, .filter = &drop };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)),
			 0);
}

static void once_the_queue_pair_is_known_udp_is_not_needed(void **state)
{
	struct pair *p = *state;
	struct pollfd fd = { .fd = p->b, .events = POLLIN };
	char buf[4];
	int ready = 0;

	send_to(p->a, "abc", 4, &p->at_b);
	assert_int_equal(recv_from(p->b, buf, sizeof(buf), &p->at_a), 4);
	deafen_udp(p->b);
	/* The route is resolved in the background; what is sent before that is lost. */
	for (int i = 0; i < LIMIT_MS / 10 && !ready; i++) {
		send_to(p->a, "def", 4, &p->at_b);
		ready = rpoll(&fd, 1, 10);
	}
	assert_int_equal(ready, 1);
	assert_int_equal(recv_from(p->b, buf, sizeof(buf), &p->at_a), 4);
	assert_string_equal(buf, "def");
}

static void a_datagram_over_udp_is_answered_with_the_queue_pair(void **state)
{
	static const uint8_t data[] = { 0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0,   0,
					0,    0,    0x77, 127,  0, 0, 1,  'h', 'i' };
	struct pair *p = *state;
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = p->at_b.sin_addr };
	socklen_t len = sizeof(at);
	int udp = socket(AF_INET, SOCK_DGRAM, 0);
	uint8_t answer[64];
	char buf[4];

	assert_int_equal(bind(udp, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(udp, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(
		sendto(udp, data, sizeof(data), 0, (struct sockaddr *)&p->at_b, sizeof(p->at_b)),
		sizeof(data));
	assert_int_equal(recv(udp, answer, sizeof(answer), 0), 16);
	assert_memory_equal(answer, "\x55\x55\x55\x55\x04\x07\x10\x00\x00", 9);
	assert_memory_not_equal(answer + 9, "\0\0\0", 3);
	assert_memory_equal(answer + 12, "\x7f\0\0\1", 4);
	assert_int_equal(recv_from(p->b, buf, sizeof(buf), &at), 2);
	assert_memory_equal(buf, "hi", 2);
	close(udp);
}

static void a_connected_socket_needs_no_address(void **state)
{
	struct pair *p = *state;
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	char buf[4];

	assert_refused(rsend(p->a, "x", 1, 0), EDESTADDRREQ);
	assert_int_equal(rconnect(p->a, (struct sockaddr *)&p->at_b, sizeof(p->at_b)), 0);
	assert_int_equal(rgetpeername(p->a, (struct sockaddr *)&peer, &len), 0);
	assert_int_equal(peer.sin_port, p->at_b.sin_port);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rsend(p->a, "xyz", 3, 0), 3);
		assert_int_equal(recv_from(p->b, buf, sizeof(buf), &p->at_a), 3);
	}
}

static void a_socket_that_was_not_bound_gets_a_port(void **state)
{
	struct pair *p = *state;
	struct sockaddr_in name;
	socklen_t len = sizeof(name);
	int fd = rsocket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	char c;

	for (int i = 0; i < 3; i++) {
		send_to(fd, "x", 1, &p->at_b);
		assert_int_equal(rgetsockname(fd, (struct sockaddr *)&name, &len), 0);
		name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		assert_int_equal(recv_from(p->b, &c, 1, &name), 1);
	}
	assert_int_equal(rclose(fd), 0);
}

static void without_a_datagram_a_non_blocking_receive_is_eagain(void **state)
{
	struct pair *p = *state;
	struct pollfd fd = { .fd = p->a, .events = POLLIN | POLLOUT };
	char c;

	assert_refused(rrecv(p->a, &c, 1, MSG_DONTWAIT), EAGAIN);
	assert_int_equal(rfcntl(p->a, F_SETFL, O_NONBLOCK), 0);
	assert_refused(rrecv(p->a, &c, 1, 0), EAGAIN);
	assert_int_equal(rpoll(&fd, 1, 0), 1);
	assert_int_equal(fd.revents, POLLOUT);
	fd.events = POLLIN;
	assert_int_equal(rpoll(&fd, 1, 10), 0);
}

static void messages_of_strangers_on_the_udp_socket_are_ignored(void **state)
{
	struct pair *p = *state;
	int udp = socket(AF_INET, SOCK_DGRAM, 0);
	char c[1] = "";

	for (size_t len = 0; len < 64; len++) {
		uint8_t junk[64];

		memset(junk, 0x55, sizeof(junk));
		assert_int_equal(
			sendto(udp, junk, len, 0, (struct sockaddr *)&p->at_b, sizeof(p->at_b)),
			len);
	}
	send_to(p->a, "x", 1, &p->at_b);
	assert_int_equal(recv_from(p->b, c, 1, &p->at_a), 1);
	assert_int_equal(c[0], 'x');
	assert_refused(rrecv(p->b, c, 1, MSG_DONTWAIT), EAGAIN);
	close(udp);
}

static void calls_of_streams_are_refused(void **state)
{
	struct pair *p = *state;

	assert_refused(rlisten(p->a, 1), EOPNOTSUPP);
	assert_refused(raccept(p->a, NULL, NULL), EOPNOTSUPP);
	assert_refused(riomap(p->a, p, 1, 0, 0, 0), EOPNOTSUPP);
	assert_refused(rsocket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), ENOTSUP);
}

static int echo_datagrams(const struct sockaddr_in *server)
{
	struct sockaddr_in at;
	int fd = open_bound(&at);
	char buf[100];

	if (rsendto(fd, "begin", 5, 0, (const struct sockaddr *)server, sizeof(*server)) != 5)
		return 1;
	for (;;) {
		struct sockaddr_in from;
		socklen_t len = sizeof(from);
		ssize_t n = rrecvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);

		if (n < 0 || rsendto(fd, buf, n, 0, (struct sockaddr *)&from, len) != n)
			return 2;
		if (!n)
			return rclose(fd);
	}
}

static void another_process_answers(void **state)
{
	struct pair *p = *state;
	pid_t child = child_run("echo", &p->at_a);
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	char buf[100];

	assert_int_equal(rrecvfrom(p->a, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len), 5);
	for (int i = 0; i < 100; i++) {
		int got = -1;

		send_to(p->a, &i, sizeof(i), &from);
		assert_int_equal(recv_from(p->a, &got, sizeof(got), &from), sizeof(got));
		assert_int_equal(got, i);
	}
	send_to(p->a, "", 0, &from);
	assert_int_equal(recv_from(p->a, buf, sizeof(buf), &from), 0);
	child_expect(child, 0);
}

#define pair_test(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)

int main(int argc, char **argv)
{
	const struct child_role roles[] = { { "echo", echo_datagrams } };
	const struct CMUnitTest tests[] = {
		pair_test(a_datagram_arrives_with_its_senders_address),
		pair_test(many_datagrams_go_back_and_forth),
		pair_test(the_boundaries_of_datagrams_stay_and_long_ones_are_cut),
		pair_test(a_datagram_longer_than_a_packet_arrives_too),
		pair_test(once_the_queue_pair_is_known_udp_is_not_needed),
		pair_test(a_datagram_over_udp_is_answered_with_the_queue_pair),
		pair_test(a_connected_socket_needs_no_address),
		pair_test(a_socket_that_was_not_bound_gets_a_port),
		pair_test(without_a_datagram_a_non_blocking_receive_is_eagain),
		pair_test(messages_of_strangers_on_the_udp_socket_are_ignored),
		pair_test(calls_of_streams_are_refused),
		pair_test(another_process_answers),
	};

	child_main(argc, argv, roles, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
