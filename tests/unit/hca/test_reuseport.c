/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that come to one address and go again: each gets its own packets, and who is alone has no
 * program that packets have to pass. Time is the tests' own.
 */
#include "fabric/peer.h"

#include <endian.h>
#include <sys/socket.h>

#include "hca/wire/reuseport.h"
#include "roce/endpoint.h"
#include "roce/reuseport.h"
#include "roce/net.h"

#define HERE  "127.0.0.6"
#define MANY  64
#define BYTES 64
#define AGES  2000000000ull /* between two turns */

/* One process's end. */
static struct {
	struct roce_endpoint *ep;
	struct reuseport reuseport;
	uint32_t qpn, count;
	uint64_t now_ns;
} self;

static void turn(void)
{
	self.now_ns += AGES;
	roce_reuseport_read_probes(self.ep);
	reuseport_run(&self.reuseport, self.ep, self.now_ns);
}

static void come(void)
{
	struct roce_addr here;

	must(!fabric_init(record_config()), "init");
	must(!fabric_qpn_block_get(&self.qpn, &self.count), "block");
	must(!roce_addr_parse(HERE, &here), "address");
	reuseport_announce(&self.reuseport, &here);
	must(!roce_endpoint_open(&here, NULL, &self.ep), "endpoint");
	self.now_ns = fabric_now_ns();
	reuseport_begin(&self.reuseport, self.ep, self.now_ns);
	while (self.reuseport.probing) {
		usleep(50);
		turn();
	}
}

static void go(void)
{
	reuseport_end(&self.reuseport);
	roce_endpoint_close(self.ep);
	fabric_fini();
}

/* How many datagrams to our queue pairs lie in our socket. */
static uint64_t take(void)
{
	uint8_t data[BYTES];
	uint64_t mine = 0;
	uint32_t word;

	while (recv(roce_endpoint_fd(self.ep), data, sizeof(data), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(data)) {
		memcpy(&word, data + 4, sizeof(word));
		mine += be32toh(word) - self.qpn < self.count;
	}
	return mine;
}

/* Role: comes, says the first of its numbers, and how much is for it when asked. */
static int role_neighbour(void)
{
	uint64_t word;

	come();
	say(self.qpn);
	while (hear(&word))
		say(take());
	go();
	return 0;
}

static struct peer neighbour(uint32_t *qpn)
{
	struct peer peer = peer_spawn("neighbour");

	*qpn = (uint32_t)peer_hear(&peer);
	return peer;
}

/* From many ports, so that they would be everywhere if it was left to the kernel's hash. */
static void send_many(uint32_t qpn)
{
	union roce_sockaddr to;
	socklen_t len = roce_addr_to_sockaddr(roce_endpoint_addr(self.ep), ROCE_UDP_PORT, &to);
	uint8_t data[BYTES] = { 4 };
	uint32_t word = htobe32(qpn);

	memcpy(data + 4, &word, sizeof(word));
	for (int i = 0; i < MANY; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		assert_int_equal(sendto(fd, data, sizeof(data), 0, &to.any, len), sizeof(data));
		close(fd);
	}
}

static uint64_t ask(struct peer *peer)
{
	peer_tell(peer, 0);
	return peer_hear(peer);
}

static void each_process_gets_its_own_packets(struct peer *peer, uint32_t qpn)
{
	uint64_t mine = 0, his = 0;

	send_many(self.qpn);
	send_many(qpn);
	until((mine += take()) == MANY);
	until((his += ask(peer)) == MANY);
}

/* The kernel says so; what was there is gone after. */
static bool had_program(void)
{
	int none = 0;
	int err = setsockopt(roce_endpoint_fd(self.ep), SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &none,
			     sizeof(none));

	assert_true(!err || errno == ENOENT);
	return !err;
}

static int setup(void **state)
{
	come();
	return 0;
}

static int teardown(void **state)
{
	go();
	return 0;
}

static void a_process_alone_has_no_program(void **state)
{
	assert_false(had_program());
	turn();
	assert_false(had_program());
}

static void a_second_one_brings_a_program(void **state)
{
	uint32_t qpn;
	struct peer peer = neighbour(&qpn);

	each_process_gets_its_own_packets(&peer, qpn);
	turn();
	each_process_gets_its_own_packets(&peer, qpn);
	assert_true(had_program());
	assert_int_equal(peer_end(&peer), 0);
}

#define CROWD 6

static void a_crowd_that_comes_at_once_finds_its_indexes(void **state)
{
	struct peer peer[CROWD];
	uint32_t qpn[CROWD];

	for (int i = 0; i < CROWD; i++)
		peer[i] = peer_spawn("neighbour");
	for (int i = 0; i < CROWD; i++)
		qpn[i] = (uint32_t)peer_hear(&peer[i]);
	take();
	for (int i = 0; i < CROWD; i++)
		each_process_gets_its_own_packets(&peer[i], qpn[i]);
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(peer_end(&peer[i]), 0);
}

static void the_last_process_detaches_the_program(void **state)
{
	uint32_t qpn;
	struct peer peer = neighbour(&qpn);

	/* noticed while it was there, or not; it ended, or was killed */
	turn();
	assert_int_equal(peer_end(&peer), 0);
	turn();
	assert_false(had_program());
	peer = neighbour(&qpn);
	peer_kill(&peer);
	turn();
	assert_false(had_program());
}

static void a_process_that_was_second_and_then_alone_is_found(void **state)
{
	uint32_t qpn;
	struct peer peer;

	go();
	peer = peer_spawn("neighbour");
	peer_hear(&peer);
	come();
	assert_int_equal(self.reuseport.index, 1);
	peer_kill(&peer);
	turn();
	until((turn(), !self.reuseport.probing));
	assert_int_equal(self.reuseport.index, 0);
	assert_false(had_program());
	peer = neighbour(&qpn);
	each_process_gets_its_own_packets(&peer, qpn);
	assert_int_equal(peer_end(&peer), 0);
}

static void a_process_that_comes_during_a_detach_has_a_program(void **state)
{
	for (int i = 0; i < 6; i++) {
		struct peer peer = peer_spawn("neighbour");
		uint32_t qpn;

		fcntl(peer.from, F_SETFL, O_NONBLOCK);
		for (;;) {
			uint64_t word;

			if (read(peer.from, &word, sizeof(word)) == sizeof(word)) {
				qpn = (uint32_t)word;
				break;
			}
			/* as if there was news all the time */
			self.reuseport.version--;
			turn();
		}
		fcntl(peer.from, F_SETFL, 0);
		take();
		each_process_gets_its_own_packets(&peer, qpn);
		assert_int_equal(peer_end(&peer), 0);
	}
}

#define STEER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		STEER_TEST(a_process_alone_has_no_program),
		STEER_TEST(a_second_one_brings_a_program),
		STEER_TEST(a_crowd_that_comes_at_once_finds_its_indexes),
		STEER_TEST(the_last_process_detaches_the_program),
		STEER_TEST(a_process_that_was_second_and_then_alone_is_found),
		STEER_TEST(a_process_that_comes_during_a_detach_has_a_program),
	};

	peer_main(argc);
	PEER_ROLE("neighbour", role_neighbour);
	net_enter();
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
