/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams between native addresses: AF_IB, where the host is a GID and the port part of a service id. */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/ib.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

#include "ends.h"

#define BYTES 300000u

/* The first GID of the first adapter, as text. */
static void find_gid(char text[INET6_ADDRSTRLEN])
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	union ibv_gid gid;

	assert_non_null(ctx);
	assert_int_equal(ibv_query_gid(ctx, 1, 0, &gid), 0);
	assert_non_null(inet_ntop(AF_INET6, gid.raw, text, INET6_ADDRSTRLEN));
	ibv_close_device(ctx);
	ibv_free_device_list(list);
}

static struct sockaddr_ib address_of(const char *gid, uint16_t port, int flags)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST | RAI_FAMILY | flags,
		.ai_family = AF_IB,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *info;
	struct sockaddr_ib addr;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	assert_int_equal(rdma_getaddrinfo(gid, service, &hints, &info), 0);
	assert_int_equal(info->ai_family, AF_IB);
	memcpy(&addr, flags & RAI_PASSIVE ? info->ai_src_addr : info->ai_dst_addr, sizeof(addr));
	rdma_freeaddrinfo(info);
	return addr;
}

static uint16_t port_of(const struct sockaddr_ib *addr)
{
	return (uint16_t)be64toh(addr->sib_sid);
}

static uint16_t local_port(int socket)
{
	struct sockaddr_ib addr;
	socklen_t len = sizeof(addr);

	assert_int_equal(rgetsockname(socket, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(len, sizeof(addr));
	assert_int_equal(addr.sib_family, AF_IB);
	return port_of(&addr);
}

static void exchange(int from, int to)
{
	static char sent[BYTES], got[BYTES];
	size_t done = 0, arrived = 0;

	fill(sent, sizeof(sent), 0);
	while (arrived < sizeof(got)) {
		struct pollfd fds[] = { { .fd = from, .events = done < BYTES ? POLLOUT : 0 },
					{ .fd = to, .events = POLLIN } };
		ssize_t n;

		assert_true(rpoll(fds, 2, LIMIT_MS) > 0);
		if (fds[0].revents & POLLOUT) {
			n = rsend(from, sent + done, sizeof(sent) - done, MSG_DONTWAIT);
			done += n > 0 ? (size_t)n : 0;
		}
		if (fds[1].revents) {
			n = rrecv(to, got + arrived, sizeof(got) - arrived, MSG_DONTWAIT);
			assert_true(n > 0);
			arrived += (size_t)n;
		}
	}
	assert_true(is_filled(got, sizeof(got), 0));
}

/* Connects to the listener, and checks the names of both ends and the data between them. */
static void check_listener(int listener, const char *gid)
{
	struct sockaddr_ib at = address_of(gid, local_port(listener), 0), peer, client;
	int fd = rsocket(AF_IB, SOCK_STREAM, 0), other;
	socklen_t len = sizeof(peer);

	assert_true(fd >= 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	other = raccept(listener, (struct sockaddr *)&peer, &len);
	assert_true(other >= 0);
	assert_int_equal(len, sizeof(peer));
	assert_int_equal(peer.sib_family, AF_IB);
	assert_memory_equal(&peer.sib_addr, &at.sib_addr, sizeof(at.sib_addr));
	len = sizeof(client);
	assert_int_equal(rgetsockname(fd, (struct sockaddr *)&client, &len), 0);
	assert_memory_equal(&client.sib_addr, &at.sib_addr, sizeof(at.sib_addr));
	len = sizeof(client);
	assert_int_equal(rgetpeername(fd, (struct sockaddr *)&client, &len), 0);
	assert_int_equal(port_of(&client), port_of(&at));
	exchange(fd, other);
	exchange(other, fd);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(wait_for(other, POLLIN) & POLLIN, POLLIN);
	assert_int_equal(rrecv(other, &peer, 1, 0), 0);
	assert_int_equal(rclose(other), 0);
}

static void a_stream_connects_to_a_gid(void **state)
{
	int listener = rsocket(AF_IB, SOCK_STREAM, 0);
	char gid[INET6_ADDRSTRLEN];
	struct sockaddr_ib at;

	find_gid(gid);
	at = address_of(gid, 0, RAI_PASSIVE);
	assert_true(listener >= 0);
	assert_int_equal(rbind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(rlisten(listener, 1), 0);
	assert_int_not_equal(local_port(listener), 0);
	check_listener(listener, gid);
	assert_int_equal(rclose(listener), 0);
}

static void a_listener_without_an_address_takes_every_gid(void **state)
{
	int listener = rsocket(AF_IB, SOCK_STREAM, 0);
	char gid[INET6_ADDRSTRLEN];

	find_gid(gid);
	assert_true(listener >= 0);
	assert_int_equal(rlisten(listener, 1), 0);
	check_listener(listener, gid);
	assert_int_equal(rclose(listener), 0);
}

static void a_service_that_is_not_offered_is_econnrefused(void **state)
{
	int listener = rsocket(AF_IB, SOCK_STREAM, 0), fd = rsocket(AF_IB, SOCK_STREAM, 0);
	char gid[INET6_ADDRSTRLEN];
	struct sockaddr_ib at;

	find_gid(gid);
	assert_int_equal(rlisten(listener, 1), 0);
	at = address_of(gid, local_port(listener), 0);
	assert_int_equal(rclose(listener), 0);
	assert_refused(rconnect(fd, (struct sockaddr *)&at, sizeof(at)), ECONNREFUSED);
	assert_int_equal(rclose(fd), 0);
}

static void datagrams_have_no_native_addresses(void **state)
{
	assert_refused(rsocket(AF_IB, SOCK_DGRAM, 0), ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_connects_to_a_gid),
		cmocka_unit_test(a_listener_without_an_address_takes_every_gid),
		cmocka_unit_test(a_service_that_is_not_offered_is_econnrefused),
		cmocka_unit_test(datagrams_have_no_native_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
