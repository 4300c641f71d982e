/* SPDX-License-Identifier: BSD-2-Clause */
/* Options, and buffers that are opened to the peer. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/mman.h>

#include "ends.h"

static int get(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(rgetsockopt(fd, level, name, &value, &len), 0);
	assert_int_equal(len, sizeof(value));
	return value;
}

static void set(int fd, int level, int name, int value)
{
	assert_int_equal(rsetsockopt(fd, level, name, &value, sizeof(value)), 0);
}

static int socket_setup(void **state)
{
	static int fd;

	fd = rsocket(AF_INET6, SOCK_STREAM, 0);
	*state = &fd;
	return fd < 0;
}

static int socket_teardown(void **state)
{
	return rclose(*(int *)*state);
}

static void defaults_are_those_of_rdma_core(void **state)
{
	const int fd = *(int *)*state;

	assert_int_equal(get(fd, SOL_SOCKET, SO_RCVBUF), 1 << 17);
	assert_int_equal(get(fd, SOL_SOCKET, SO_SNDBUF), 1 << 17);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_SQSIZE), 384);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_RQSIZE), 384);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_INLINE), 64);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_IOMAPSIZE), 0);
	assert_int_equal(get(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
	assert_int_equal(get(fd, IPPROTO_TCP, TCP_NODELAY), 0);
	assert_int_equal(get(fd, IPPROTO_TCP, TCP_MAXSEG), 2048);
}

static void options_are_read_back_as_set(void **state)
{
	const int fd = *(int *)*state;

	set(fd, SOL_SOCKET, SO_RCVBUF, 50000);
	assert_int_equal(get(fd, SOL_SOCKET, SO_RCVBUF), 100000);
	set(fd, SOL_SOCKET, SO_SNDBUF, 1);
	assert_int_equal(get(fd, SOL_SOCKET, SO_SNDBUF), 4096);
	set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	assert_int_equal(get(fd, SOL_SOCKET, SO_REUSEADDR), 1);
	set(fd, SOL_SOCKET, SO_OOBINLINE, 1);
	assert_int_equal(get(fd, SOL_SOCKET, SO_OOBINLINE), 1);
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	assert_int_equal(get(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	assert_int_equal(get(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
	set(fd, SOL_RDMA, RDMA_SQSIZE, 100000);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_SQSIZE), 0xfffe);
	set(fd, SOL_RDMA, RDMA_RQSIZE, 77);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_RQSIZE), 77);
	set(fd, SOL_RDMA, RDMA_IOMAPSIZE, 300);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_IOMAPSIZE), 256);
}

static void keep_alive_has_a_period(void **state)
{
	const int fd = *(int *)*state, zero = 0;

	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	assert_int_equal(get(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(get(fd, IPPROTO_TCP, TCP_KEEPIDLE), 5);
	assert_refused(rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &zero, sizeof(zero)), EINVAL);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 0);
	assert_int_equal(get(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
}

static void lingering_is_on_by_default(void **state)
{
	const int fd = *(int *)*state;
	struct linger linger = { 0 };
	socklen_t len = sizeof(linger);

	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len), 0);
	assert_int_equal(linger.l_onoff, 1);
	linger.l_onoff = 0;
	assert_int_equal(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len), 0);
	assert_int_equal(linger.l_onoff, 0);
}

static void unknown_options_and_short_values_are_refused(void **state)
{
	const int fd = *(int *)*state;
	int value = 1;
	socklen_t len = sizeof(value);

	assert_refused(rsetsockopt(fd, SOL_SOCKET, SO_BROADCAST, &value, len), ENOTSUP);
	assert_refused(rsetsockopt(fd, IPPROTO_TCP, TCP_CORK, &value, len), ENOTSUP);
	assert_refused(rsetsockopt(fd, SOL_RDMA, 77, &value, len), ENOTSUP);
	assert_refused(rsetsockopt(fd, 12345, 1, &value, len), ENOTSUP);
	assert_refused(rgetsockopt(fd, SOL_SOCKET, SO_BROADCAST, &value, &len), ENOTSUP);
	assert_refused(rgetsockopt(fd, 12345, 1, &value, &len), ENOTSUP);
	assert_refused(rsetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, 3), EINVAL);
	assert_refused(rsetsockopt(fd, SOL_RDMA, RDMA_ROUTE, &value, len), EINVAL);
	assert_refused(rfcntl(fd, F_DUPFD), ENOTSUP);
}

static void sizes_are_fixed_once_a_socket_is_connected(void **state)
{
	struct ends *e = *state;
	int value = 32, before = get(e->client, SOL_SOCKET, SO_RCVBUF);

	assert_refused(rsetsockopt(e->client, SOL_RDMA, RDMA_SQSIZE, &value, sizeof(value)),
		       EINVAL);
	set(e->client, SOL_SOCKET, SO_RCVBUF, 10000);
	assert_int_equal(get(e->client, SOL_SOCKET, SO_RCVBUF), before);
}

static void the_route_of_a_connection_can_be_given_to_another(void **state)
{
	struct sockaddr_in at;
	int listener = listener_open(&at), first = rsocket(AF_INET, SOCK_STREAM, 0), second;
	struct ibv_path_data path;
	socklen_t len = sizeof(path);

	assert_int_equal(rconnect(first, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(rgetsockopt(first, SOL_RDMA, RDMA_ROUTE, &path, &len), 0);
	assert_int_equal(len, sizeof(path));
	second = rsocket(AF_INET, SOCK_STREAM, 0);
	path.flags |= IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
	assert_int_equal(rsetsockopt(second, SOL_RDMA, RDMA_ROUTE, &path, len), 0);
	len = 3;
	assert_refused(rgetsockopt(second, SOL_RDMA, RDMA_ROUTE, &path, &len), EINVAL);
	assert_int_equal(rconnect(second, (struct sockaddr *)&at, sizeof(at)), 0);
	rclose(first);
	rclose(second);
	rclose(listener);
}

static void with_iomap(int fd)
{
	set(fd, SOL_RDMA, RDMA_IOMAPSIZE, 2);
}

static void riowrite_lands_in_the_peers_buffer_before_what_is_sent_later(void **state)
{
	static uint8_t buf[100000], data[100000];
	struct ends e;
	char c;
	off_t offset;

	ends_open(&e, with_iomap);
	fill(data, sizeof(data), 0);
	offset = riomap(e.server, buf, sizeof(buf), PROT_WRITE, 0, 5000);
	assert_int_equal(offset, 5000);
	/* The peer knows of it when later data has come. */
	send_all(e.server, "x", 1);
	recv_all(e.client, &c, 1);
	assert_int_equal(riowrite(e.client, data, 70000, 5000, 0), 70000);
	assert_int_equal(riowrite(e.client, data + 70000, 30000, 75000, 0), 30000);
	send_all(e.client, "x", 1);
	recv_all(e.server, &c, 1);
	assert_true(is_filled(buf, sizeof(buf), 0));
	/* Nothing is open there. */
	assert_int_equal(riowrite(e.client, data, 1, 4999, 0), 0);
	assert_int_equal(riounmap(e.server, buf, sizeof(buf)), 0);
	assert_refused(riounmap(e.server, buf, sizeof(buf)), EINVAL);
	ends_close(&e);
}

static void the_peer_decides_how_many_buffers_can_be_opened(void **state)
{
	static uint8_t buf[3][4096];
	struct ends e;

	ends_open(&e, with_iomap);
	assert_ptr_equal(riomap(e.server, buf[0], 4096, PROT_WRITE, 0, -1), buf[0]);
	assert_int_not_equal(riomap(e.server, buf[1], 4096, PROT_WRITE, 0, 1), -1);
	assert_refused(riomap(e.server, buf[2], 4096, PROT_WRITE, 0, 2), ENOMEM);
	assert_int_not_equal(riomap(e.server, buf[2], 4096, PROT_NONE, 0, 2), -1);
	assert_int_equal(riounmap(e.server, buf[1], 4096), 0);
	assert_int_not_equal(riomap(e.server, buf[1], 4096, PROT_WRITE, 0, 1), -1);
	assert_refused(riomap(e.server, buf[2], 4096, PROT_EXEC, 0, 2), EINVAL);
	ends_close(&e);
}

#define socket_test(f) cmocka_unit_test_setup_teardown(f, socket_setup, socket_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		socket_test(defaults_are_those_of_rdma_core),
		socket_test(options_are_read_back_as_set),
		socket_test(keep_alive_has_a_period),
		socket_test(lingering_is_on_by_default),
		socket_test(unknown_options_and_short_values_are_refused),
		cmocka_unit_test_setup_teardown(sizes_are_fixed_once_a_socket_is_connected,
						ends_setup, ends_teardown),
		cmocka_unit_test(the_route_of_a_connection_can_be_given_to_another),
		cmocka_unit_test(riowrite_lands_in_the_peers_buffer_before_what_is_sent_later),
		cmocka_unit_test(the_peer_decides_how_many_buffers_can_be_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
