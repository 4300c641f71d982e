/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams: data, flags, partial transfers, both ends of a connection. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ends.h"

static void data_that_one_end_sends_the_other_receives(void **state)
{
	struct ends *e = *state;
	char buf[16] = "";

	send_all(e->client, "hello", 6);
	recv_all(e->server, buf, 6);
	assert_string_equal(buf, "hello");
	send_all(e->server, "olleh", 6);
	recv_all(e->client, buf, 6);
	assert_string_equal(buf, "olleh");
}

/* A stream of many sizes, longer than all buffers and queues, by one thread for each end. */
#define STREAM_LEN (8u << 20)

static size_t odd_size(size_t i)
{
	return i * 2654435761u % 200000 + 1;
}

static void *send_stream(void *socket)
{
	uint8_t *buf = malloc(200000);
	size_t at = 0;

	for (size_t i = 1; at < STREAM_LEN; i++) {
		size_t len = odd_size(i) % (i % 3 ? 300 : 200000) + 1;

		if (len > STREAM_LEN - at)
			len = STREAM_LEN - at;
		fill(buf, len, at);
		send_all(*(int *)socket, buf, len);
		at += len;
	}
	free(buf);
	return NULL;
}

static void recv_stream(int socket)
{
	uint8_t *buf = malloc(200000);
	size_t at = 0;

	for (size_t i = 1; at < STREAM_LEN; i++) {
		size_t len = odd_size(i * 7) % (i % 5 ? 1000 : 200000) + 1;
		ssize_t got = rrecv(socket, buf, len, 0);

		assert_true(got > 0);
		assert_true(is_filled(buf, got, at));
		at += got;
	}
	free(buf);
}

static void a_long_stream_arrives_whole_and_in_order(void **state)
{
	struct ends *e = *state;
	pthread_t sender;

	pthread_create(&sender, NULL, send_stream, &e->client);
	recv_stream(e->server);
	pthread_join(sender, NULL);
}

static void *recv_in_thread(void *socket)
{
	recv_stream(*(int *)socket);
	return NULL;
}

static void both_directions_run_at_once(void **state)
{
	struct ends *e = *state;
	pthread_t threads[3];

	pthread_create(&threads[0], NULL, send_stream, &e->client);
	pthread_create(&threads[1], NULL, send_stream, &e->server);
	pthread_create(&threads[2], NULL, recv_in_thread, &e->client);
	recv_stream(e->server);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void small_options(int socket)
{
	int size = 4096, queue = 16, none = 0;

	assert_int_equal(rsetsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	assert_int_equal(rsetsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	assert_int_equal(rsetsockopt(socket, SOL_RDMA, RDMA_SQSIZE, &queue, sizeof(queue)), 0);
	assert_int_equal(rsetsockopt(socket, SOL_RDMA, RDMA_RQSIZE, &queue, sizeof(queue)), 0);
	assert_int_equal(rsetsockopt(socket, SOL_RDMA, RDMA_INLINE, &none, sizeof(none)), 0);
}

static void small_buffers_and_queues_carry_the_same_stream(void **state)
{
	pthread_t sender;
	struct ends e;

	ends_open(&e, small_options);
	pthread_create(&sender, NULL, send_stream, &e.client);
	recv_stream(e.server);
	pthread_join(sender, NULL);
	ends_close(&e);
}

static void a_vector_is_sent_and_received_as_one_stream(void **state)
{
	struct ends *e = *state;
	char a[] = "one ", b[] = "two ", c[] = "three", to[14] = "";
	struct iovec from[] = { { a, 4 }, { b, 4 }, { c, 5 } };
	struct iovec into[] = { { to, 1 }, { to + 1, 6 }, { to + 7, 6 } };

	assert_int_equal(rwritev(e->client, from, 3), 13);
	wait_for(e->server, POLLIN);
	assert_int_equal(rreadv(e->server, into, 3), 13);
	assert_string_equal(to, "one two three");
}

static void messages_have_no_boundaries_and_no_control_data(void **state)
{
	struct ends *e = *state;
	char control[32], a[] = "ab", to[4] = "";
	struct iovec from = { a, 2 }, into = { to, 3 };
	struct msghdr send = { .msg_iov = &from, .msg_iovlen = 1 };
	struct msghdr recv = { .msg_iov = &into, .msg_iovlen = 1 };

	assert_int_equal(rsendmsg(e->client, &send, 0), 2);
	assert_int_equal(rsendmsg(e->client, &send, 0), 2);
	assert_int_equal(rrecvmsg(e->server, &recv, MSG_WAITALL), 3);
	assert_string_equal(to, "aba");
	send.msg_control = control;
	send.msg_controllen = sizeof(control);
	assert_refused(rsendmsg(e->client, &send, 0), ENOTSUP);
}

static void without_data_a_non_blocking_receive_is_eagain(void **state)
{
	struct ends *e = *state;
	char buf[4];

	assert_refused(rrecv(e->server, buf, 4, MSG_DONTWAIT), EAGAIN);
	assert_int_equal(rfcntl(e->server, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rfcntl(e->server, F_GETFL), O_NONBLOCK);
	assert_refused(rrecv(e->server, buf, 4, 0), EAGAIN);
}

static void peeking_leaves_the_data(void **state)
{
	struct ends *e = *state;
	char buf[8] = "";

	send_all(e->client, "peek", 5);
	wait_for(e->server, POLLIN);
	assert_int_equal(rrecv(e->server, buf, 2, MSG_PEEK), 2);
	assert_string_equal(buf, "pe");
	assert_int_equal(rrecv(e->server, buf, 8, MSG_PEEK), 5);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(rrecv(e->server, buf, 8, 0), 5);
	assert_string_equal(buf, "peek");
}

static void *send_in_two(void *socket)
{
	send_all(*(int *)socket, "abc", 3);
	send_all(*(int *)socket, "def", 4);
	return NULL;
}

static void waitall_returns_with_all_of_it(void **state)
{
	struct ends *e = *state;
	pthread_t sender;
	char buf[8] = "";

	pthread_create(&sender, NULL, send_in_two, &e->client);
	assert_int_equal(rrecv(e->server, buf, 7, MSG_WAITALL), 7);
	assert_string_equal(buf, "abcdef");
	pthread_join(sender, NULL);
}

static void a_full_peer_makes_a_partial_send_and_then_eagain(void **state)
{
	struct ends *e = *state;
	const size_t len = 4 << 20;
	uint8_t *buf = malloc(len), *to = malloc(len);
	size_t sent = 0;
	ssize_t n;

	fill(buf, len, 0);
	while ((n = rsend(e->client, buf + sent, len - sent, MSG_DONTWAIT)) > 0)
		sent += n;
	assert_int_equal(errno, EAGAIN);
	assert_in_range(sent, 1, len - 1);
	recv_all(e->server, to, sent);
	assert_true(is_filled(to, sent, 0));
	/* There is room again. */
	assert_true(wait_for(e->client, POLLOUT) & POLLOUT);
	assert_true(rsend(e->client, buf, 1, MSG_DONTWAIT) == 1);
	free(buf);
	free(to);
}

static void the_end_of_a_stream_comes_after_its_data(void **state)
{
	struct ends e;
	char buf[8] = "";

	ends_open(&e, NULL);
	send_all(e.client, "last", 5);
	assert_int_equal(rclose(e.client), 0);
	recv_all(e.server, buf, 5);
	assert_string_equal(buf, "last");
	assert_int_equal(rrecv(e.server, buf, 8, 0), 0);
	assert_true(wait_for(e.server, POLLIN) & POLLHUP);
	assert_refused(rsend(e.server, "x", 1, 0), ECONNRESET);
	assert_int_equal(rclose(e.server), 0);
}

static void one_direction_can_be_shut_while_the_other_goes_on(void **state)
{
	struct ends *e = *state;
	char buf[8] = "";

	send_all(e->client, "question", 8);
	assert_int_equal(rshutdown(e->client, SHUT_WR), 0);
	assert_refused(rsend(e->client, "x", 1, 0), EPIPE);
	recv_all(e->server, buf, 8);
	assert_int_equal(rrecv(e->server, buf, 8, 0), 0);
	send_all(e->server, "answer", 7);
	recv_all(e->client, buf, 7);
	assert_string_equal(buf, "answer");
	assert_int_equal(rshutdown(e->server, SHUT_WR), 0);
	assert_int_equal(rrecv(e->client, buf, 8, 0), 0);
}

struct one_socket {
	int fd;
	ssize_t result;
};

static void *receive_one(void *arg)
{
	struct one_socket *one = arg;
	char c;

	one->result = rrecv(one->fd, &c, 1, 0);
	return NULL;
}

static void each_of_several_threads_that_receive_gets_a_byte(void **state)
{
	struct ends *e = *state;
	struct one_socket ones[4];
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		ones[i] = (struct one_socket){ .fd = e->server };
		pthread_create(&threads[i], NULL, receive_one, &ones[i]);
	}
	send_all(e->client, "abcd", 4);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(ones[i].result, 1);
	}
}

static void closing_wakes_a_thread_of_the_peer(void **state)
{
	struct one_socket one = { .result = -2 };
	struct ends e;
	pthread_t thread;

	ends_open(&e, NULL);
	one.fd = e.client;
	pthread_create(&thread, NULL, receive_one, &one);
	assert_int_equal(rclose(e.server), 0);
	pthread_join(thread, NULL);
	assert_int_equal(one.result, 0);
	assert_int_equal(rclose(e.client), 0);
}

static void shutting_down_wakes_a_thread_of_the_own_side(void **state)
{
	struct ends *e = *state;
	struct one_socket one = { .fd = e->client, .result = -2 };
	pthread_t thread;

	pthread_create(&thread, NULL, receive_one, &one);
	assert_int_equal(rshutdown(e->client, SHUT_RDWR), 0);
	pthread_join(thread, NULL);
	assert_int_equal(one.result, 0);
}

#define pair_test(f) cmocka_unit_test_setup_teardown(f, ends_setup, ends_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(data_that_one_end_sends_the_other_receives),
		pair_test(a_long_stream_arrives_whole_and_in_order),
		pair_test(both_directions_run_at_once),
		cmocka_unit_test(small_buffers_and_queues_carry_the_same_stream),
		pair_test(a_vector_is_sent_and_received_as_one_stream),
		pair_test(messages_have_no_boundaries_and_no_control_data),
		pair_test(without_data_a_non_blocking_receive_is_eagain),
		pair_test(peeking_leaves_the_data),
		pair_test(waitall_returns_with_all_of_it),
		pair_test(a_full_peer_makes_a_partial_send_and_then_eagain),
		cmocka_unit_test(the_end_of_a_stream_comes_after_its_data),
		pair_test(one_direction_can_be_shut_while_the_other_goes_on),
		cmocka_unit_test(closing_wakes_a_thread_of_the_peer),
		pair_test(each_of_several_threads_that_receive_gets_a_byte),
		pair_test(shutting_down_wakes_a_thread_of_the_own_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
