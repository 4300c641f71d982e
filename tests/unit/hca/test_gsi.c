/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pair 1: who gets what. Every test runs in processes of its own, since the fabric is joined
 * once; a check that fails ends its process with 1, which fails the test.
 */
#include "cmocka_all.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "hca/device/qpn.h"
#include "hca/hca.h"
#include "hca/memory/key.h"
#include "hca/wire/forward.h"
#include "hca/gsi_rig.h"
#include "hca/engine/host.h"
#include "hca/engine/poll.h"
#include "hca/wire/wire_port.h"
#include "hca/wire/wire_ports.h"
#include "roce/net.h"

#define SERVICE 0x0000000001061d2full

#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static struct inbox inbox = INBOX;
static struct hca_gsi_agent *agent;
static const struct hca_adapter *adapter;
static struct hca_av self;

static void join_quietly(enum hca_link link)
{
	adapter = adapter_with(link);
	check(adapter && !hca_host_join());
	hca_port_watch();
	check(way_to_self(adapter, &self));
}

static void join(enum hca_link link)
{
	join_quietly(link);
	check(!hca_gsi_agent_create(HCA_MAD_CM, &inbox_ops, &inbox, &agent));
}

static void send_cm(uint8_t attr, uint32_t local, uint32_t remote, uint64_t service)
{
	uint8_t mad[256];

	cm_make(mad, attr, local, remote, service);
	check(!hca_gsi_send(adapter, &self, mad));
}

static struct hca_gsi_mad take(uint8_t attr)
{
	struct hca_gsi_mad m;

	check(inbox_take(&inbox, &m));
	check(m.mad[17] == attr);
	return m;
}

static void mark(int fd, char c)
{
	check(write(fd, &c, 1) == 1);
}

static void await(int fd, char c)
{
	char got = 0;

	check(read(fd, &got, 1) == 1 && got == c);
}

/* ---- processes ---- */

struct child {
	pid_t pid;
	int fd;
};

static struct child start(void (*fn)(int fd))
{
	struct child c;
	int fd[2];

	check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd));
	c.pid = fork();
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd[0]);
		fn(fd[1]);
		_exit(0);
	}
	close(fd[1]);
	c.fd = fd[0];
	return c;
}

static int finish(struct child *c)
{
	int status;

	close(c->fd);
	return waitpid(c->pid, &status, 0) == c->pid && WIFEXITED(status) ? WEXITSTATUS(status)
									  : 99;
}

static void run(void (*fn)(int fd))
{
	struct child c = start(fn);
	int result = finish(&c);

	if (result == 77)
		skip();
	assert_int_equal(result, 0);
}

/* ---- one process ---- */

static void to_self(enum hca_link link)
{
	struct hca_gsi_mad m;
	uint64_t tid;
	uint32_t id;

	join(link);
	id = hca_gsi_comm_id();
	check(id && id != hca_gsi_comm_id());
	/* A stranger who has seen one does not know the next: one chance of 2^21. */
	id = hca_gsi_comm_id();
	check(hca_gsi_comm_id() != id + (1u << FABRIC_SLOT_BITS));
	tid = hca_gsi_tid();
	check((uint32_t)hca_gsi_tid() != (uint32_t)tid + (1u << FABRIC_SLOT_BITS));
	check(!hca_gsi_service_add(SERVICE, NULL));
	send_cm(HCA_CM_REQ, id, 0, SERVICE);
	m = take(HCA_CM_REQ);
	check(m.adapter == adapter && m.from.port == 1 && m.from.has_grh);
	check(!memcmp(&m.from.dgid, &self.dgid, sizeof(m.from.dgid)));
	check(!memcmp(&m.dgid, &self.dgid, sizeof(m.dgid)));
	check(m.from.sgid_index == self.sgid_index && m.from.dlid == self.dlid);
	check(m.sqpn == 1 && m.pkey == 0xffff);
	check(get32(m.mad + 24) == id);
	/* The way back is ready to be used. */
	self = m.from;
	send_cm(HCA_CM_REP, 5, id, 0);
	check(get32(take(HCA_CM_REP).mad + 24) == 5);
	check(hca_gsi_count(HCA_GSI_SENT) == 2 && hca_gsi_count(HCA_GSI_RECEIVED) == 2);
	hca_gsi_agent_destroy(agent);
}

static void to_self_on_ethernet(int fd)
{
	to_self(HCA_LINK_ETHERNET);
}

static void to_self_on_infiniband(int fd)
{
	to_self(HCA_LINK_INFINIBAND);
}

static void a_mad_arrives_with_the_way_back(void **state)
{
	run(to_self_on_ethernet);
	run(to_self_on_infiniband);
}

static void by_lid(int fd)
{
	struct hca_gsi_mad m;

	join(HCA_LINK_INFINIBAND);
	check(!hca_gsi_service_add(SERVICE, NULL));
	self.has_grh = false;
	send_cm(HCA_CM_REQ, hca_gsi_comm_id(), 0, SERVICE);
	m = take(HCA_CM_REQ);
	check(!m.from.has_grh && m.from.dlid == self.dlid);
}

static void an_infiniband_port_is_reached_by_lid_alone(void **state)
{
	run(by_lid);
}

static void refusals(int fd)
{
	uint8_t mad[256];
	struct hca_av av;

	join(HCA_LINK_ETHERNET);
	cm_make(mad, HCA_CM_REQ, 1, 0, SERVICE);
	av = self;
	av.port = 3;
	check(hca_gsi_send(adapter, &av, mad) == -EINVAL);
	av = self;
	av.has_grh = false;
	check(hca_gsi_send(adapter, &av, mad) == -EINVAL);
	av = self;
	av.sgid_index = (uint8_t)(adapter->limits.gid_table_len - 1);
	check(hca_gsi_send(adapter, &av, mad) == -EINVAL);
	check(hca_gsi_count(HCA_GSI_SENT) == 0);
	check(hca_gsi_agent_create(HCA_MAD_CM, &inbox_ops, &inbox, &agent) == -EEXIST);
	check(!hca_gsi_service_add(SERVICE, NULL));
	check(hca_gsi_service_add(SERVICE, NULL) == -EADDRINUSE);
	check(!hca_gsi_service_add(SERVICE, self.dgid.raw));
	check(!hca_gsi_service_del(SERVICE, NULL));
	check(hca_gsi_service_del(SERVICE, NULL) == -ENOENT);
}

static void invalid_rules_are_refused(void **state)
{
	run(refusals);
}

/* What a stranger might put on the wire. */
static void forge(uint8_t *mad, uint32_t qkey, uint32_t len, uint8_t op)
{
	struct forward f = { .pkt = { .op = op, .dqpn = 1, .sqpn = 1, .len = len } };

	f.pkt.flags = ROCE_PKT_GRH;
	f.pkt.ud.qkey = qkey;
	memcpy(f.src, self.dgid.raw, 16);
	memcpy(f.dst, self.dgid.raw, 16);
	epoch_enter();
	gsi_packet(&f, mad, false);
	epoch_exit();
}

static void forgeries(int fd)
{
	const uint8_t op = ROCE_TR_UD | ROCE_PKT_SEND_ONLY;
	uint8_t mad[256];

	join_quietly(HCA_LINK_ETHERNET);
	cm_make(mad, HCA_CM_REQ, 1, 0, SERVICE);
	forge(mad, HCA_GSI_QKEY, 256, op);
	check(hca_gsi_count(HCA_GSI_DROP_NO_AGENT) == 1);
	check(!hca_gsi_agent_create(HCA_MAD_CM, &inbox_ops, &inbox, &agent));
	forge(mad, HCA_GSI_QKEY + 1, 256, op);
	check(hca_gsi_count(HCA_GSI_DROP_QKEY) == 1);
	forge(mad, HCA_GSI_QKEY, 252, op);
	forge(mad, HCA_GSI_QKEY, 256, ROCE_TR_UD | ROCE_PKT_SEND_ONLY_IMM);
	mad[0] = 2;
	forge(mad, HCA_GSI_QKEY, 256, op);
	check(hca_gsi_count(HCA_GSI_DROP_FORM) == 3);
	mad[0] = 1;
	mad[1] = 0x04; /* performance management */
	forge(mad, HCA_GSI_QKEY, 256, op);
	check(hca_gsi_count(HCA_GSI_DROP_NO_AGENT) == 2);
	self.dgid.raw[15] ^= 0x55;
	mad[1] = HCA_MAD_CM;
	forge(mad, HCA_GSI_QKEY, 256, op);
	check(hca_gsi_count(HCA_GSI_DROP_FORM) == 4);
	check(hca_gsi_count(HCA_GSI_RECEIVED) == 0);
	/* A service that no process offers: a process with an agent answers. */
	self.dgid.raw[15] ^= 0x55;
	forge(mad, HCA_GSI_QKEY, 256, op);
	take(HCA_CM_REQ);
}

static void wrong_mads_are_dropped_and_counted(void **state)
{
	run(forgeries);
}

static void flood(int fd)
{
	const uint8_t op = ROCE_TR_UD | ROCE_PKT_SEND_ONLY;
	const unsigned int most = 4096, beyond = 100;
	uint8_t mad[256];

	join(HCA_LINK_ETHERNET);
	cm_make(mad, HCA_CM_RTU, 1, hca_gsi_comm_id(), 0);
	/* The service thread cannot run the agent. */
	pthread_mutex_lock(&hca.wire.gsi.run_lock);
	for (unsigned int i = 0; i < most + beyond; i++)
		forge(mad, HCA_GSI_QKEY, 256, op);
	check(hca_gsi_count(HCA_GSI_DROP_LOST) == beyond);
	pthread_mutex_unlock(&hca.wire.gsi.run_lock);
	while (atomic_load(&hca.wire.gsi.waiting))
		sched_yield();
	check(hca_gsi_count(HCA_GSI_RECEIVED) == most);
	forge(mad, HCA_GSI_QKEY, 256, op);
	check(hca_gsi_count(HCA_GSI_DROP_LOST) == beyond);
}

static void a_flood_fills_no_more_than_its_share_of_memory(void **state)
{
	run(flood);
}

/* ---- several processes ---- */

static void listen_and_answer(enum hca_link link, int fd)
{
	struct hca_gsi_mad m;
	uint32_t id;

	join(link);
	check(!hca_gsi_service_add(SERVICE, NULL));
	mark(fd, 'l');
	for (int i = 0; i < 3; i++) {
		m = take(HCA_CM_REQ);
		self = m.from;
		id = hca_gsi_comm_id();
		send_cm(HCA_CM_REP, id, get32(m.mad + 24), 0);
		m = take(HCA_CM_RTU);
		check(get32(m.mad + 28) == id);
	}
	mark(fd, 'd');
	await(fd, 'e');
}

static void listen_on_ethernet(int fd)
{
	listen_and_answer(HCA_LINK_ETHERNET, fd);
}

static void listen_on_infiniband(int fd)
{
	listen_and_answer(HCA_LINK_INFINIBAND, fd);
}

static void connect_to(enum hca_link link, void (*listener)(int fd))
{
	struct child c = start(listener);
	struct hca_gsi_mad m;

	join(link);
	await(c.fd, 'l');
	for (int i = 0; i < 3; i++) {
		uint32_t id = hca_gsi_comm_id();

		send_cm(HCA_CM_REQ, id, 0, SERVICE);
		m = take(HCA_CM_REP);
		check(get32(m.mad + 28) == id);
		send_cm(HCA_CM_RTU, id, get32(m.mad + 24), 0);
	}
	await(c.fd, 'd');
	mark(c.fd, 'e');
	check(!finish(&c));
}

static void connect_on_ethernet(int fd)
{
	connect_to(HCA_LINK_ETHERNET, listen_on_ethernet);
}

static void connect_on_infiniband(int fd)
{
	connect_to(HCA_LINK_INFINIBAND, listen_on_infiniband);
}

static void requests_go_to_who_listens_and_answers_to_who_asked(void **state)
{
	run(connect_on_ethernet);
	run(connect_on_infiniband);
}

static void connect_on_wire(int fd)
{
	net_enter(); /* or skips: exits with 77 */
	setenv("VERBENA_PATH", "wire", 1);
	connect_on_ethernet(fd);
}

static void the_same_over_sockets_that_processes_share(void **state)
{
	run(connect_on_wire);
}

static void poll_alone(int fd)
{
	net_enter();
	setenv("VERBENA_PATH", "wire", 1);
	join(HCA_LINK_ETHERNET);
	check(!hca_gsi_service_add(SERVICE, NULL));
	/* The thread polls on, and leaves the sockets to the service thread. */
	for (uint32_t i = 1; i <= 100; i++) {
		send_cm(HCA_CM_REQ, i, 0, SERVICE);
		do
			hca_poll();
		while (!inbox_has(&inbox));
		check(get32(take(HCA_CM_REQ).mad + 24) == i);
	}
	check(!atomic_load(&hca.wire.is_polled));
	check(!atomic_load(&wire_port_first()->polls));
	/* A QP of the program comes: its polls receive. */
	wire_port_set_polled(wire_port_first());
	hca_poll();
	check(atomic_load(&wire_port_first()->polls));
	send_cm(HCA_CM_REQ, 101, 0, SERVICE);
	do
		hca_poll();
	while (!inbox_has(&inbox));
}

static void polls_do_not_look_at_sockets_of_queue_pair_1_alone(void **state)
{
	run(poll_alone);
}

static const uint8_t ip_one[16] = { [10] = 0xff, 0xff, 10, 1, 1, 1 };
static const uint8_t ip_two[16] = { [10] = 0xff, 0xff, 10, 1, 1, 2 };

static void listen_at(int fd, const uint8_t *ip)
{
	join(HCA_LINK_ETHERNET);
	check(!hca_gsi_service_add(SERVICE, ip));
	mark(fd, 'l');
	take(HCA_CM_REQ);
	take(HCA_CM_SIDR_REQ);
	mark(fd, 'd');
	await(fd, 'e');
}

static void listen_at_one(int fd)
{
	listen_at(fd, ip_one);
}

static void listen_at_two(int fd)
{
	listen_at(fd, ip_two);
}

static void listen_at_all(int fd)
{
	listen_at(fd, NULL);
}

static void send_for(const uint8_t *ip)
{
	uint8_t mad[256];

	cm_make(mad, HCA_CM_REQ, hca_gsi_comm_id(), 0, SERVICE);
	mad[24 + 140 + 1] = 0x40; /* IP version 4 */
	memcpy(mad + 24 + 140 + 20 + 12, ip + 12, 4);
	check(!hca_gsi_send(adapter, &self, mad));
	cm_make(mad, HCA_CM_SIDR_REQ, hca_gsi_comm_id(), 0, SERVICE);
	mad[24 + 16 + 1] = 0x40;
	memcpy(mad + 24 + 16 + 20 + 12, ip + 12, 4);
	check(!hca_gsi_send(adapter, &self, mad));
}

static void three_listeners(int fd)
{
	static const uint8_t ip_three[16] = { [10] = 0xff, 0xff, 10, 1, 1, 3 };
	struct child c[] = { start(listen_at_one), start(listen_at_two), start(listen_at_all) };

	join(HCA_LINK_ETHERNET);
	for (int i = 0; i < 3; i++)
		await(c[i].fd, 'l');
	send_for(ip_two);
	await(c[1].fd, 'd');
	send_for(ip_one);
	await(c[0].fd, 'd');
	send_for(ip_three);
	await(c[2].fd, 'd');
	check(hca_gsi_count(HCA_GSI_PASSED_ON) == 6);
	for (int i = 0; i < 3; i++) {
		mark(c[i].fd, 'e');
		check(!finish(&c[i]));
	}
}

static void of_several_listeners_the_address_decides(void **state)
{
	run(three_listeners);
}

static void offer_and_die(int fd)
{
	join(HCA_LINK_ETHERNET);
	check(!hca_gsi_service_add(SERVICE, NULL));
	mark(fd, 'l');
	pause();
}

static void heir(int fd)
{
	struct child c = start(offer_and_die);
	int status;

	await(c.fd, 'l');
	join(HCA_LINK_ETHERNET);
	check(hca_gsi_service_add(SERVICE, NULL) == -EADDRINUSE);
	kill(c.pid, SIGKILL);
	check(waitpid(c.pid, &status, 0) == c.pid);
	fabric_directory_reap();
	check(!hca_gsi_service_add(SERVICE, NULL));
	send_cm(HCA_CM_REQ, hca_gsi_comm_id(), 0, SERVICE);
	take(HCA_CM_REQ);
}

static void a_service_ends_with_its_process(void **state)
{
	run(heir);
}

/* What a stranger would have to guess of a process; other bits than those that name the process. */
struct secrets {
	uint64_t of_keys;
	uint32_t comm_id, place_in_block;
};

static void tell_secrets(int fd)
{
	struct secrets s = { 0 };
	uint32_t index, key, qpn;

	join(HCA_LINK_ETHERNET);
	check(!hca_key_get(&index, &key) && !hca_qpn_reserve(&qpn));
	s.of_keys = hca.memory.key.secret;
	s.comm_id = hca_gsi_comm_id() >> FABRIC_SLOT_BITS;
	s.place_in_block = qpn & 0x7f;
	check(write(fd, &s, sizeof(s)) == sizeof(s));
}

static void processes_have_secrets_of_their_own(void **state)
{
	struct secrets s[8];
	unsigned int same = 0;

	for (unsigned int i = 0; i < 8; i++) {
		struct child c = start(tell_secrets);

		assert_int_equal(read(c.fd, &s[i], sizeof(s[i])), sizeof(s[i]));
		assert_int_equal(finish(&c), 0);
		assert_true(s[i].of_keys);
		for (unsigned int k = 0; k < i; k++) {
			assert_true(s[i].of_keys != s[k].of_keys);
			same += s[i].comm_id == s[k].comm_id;
		}
	}
	/* One pair by chance: of 28, one in 2^17. */
	assert_true(same < 2);
	same = 0;
	for (unsigned int i = 1; i < 8; i++)
		same += s[i].place_in_block == s[0].place_in_block;
	assert_true(same < 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mad_arrives_with_the_way_back),
		cmocka_unit_test(an_infiniband_port_is_reached_by_lid_alone),
		cmocka_unit_test(invalid_rules_are_refused),
		cmocka_unit_test(wrong_mads_are_dropped_and_counted),
		cmocka_unit_test(a_flood_fills_no_more_than_its_share_of_memory),
		cmocka_unit_test(requests_go_to_who_listens_and_answers_to_who_asked),
		cmocka_unit_test(the_same_over_sockets_that_processes_share),
		cmocka_unit_test(polls_do_not_look_at_sockets_of_queue_pair_1_alone),
		cmocka_unit_test(of_several_listeners_the_address_decides),
		cmocka_unit_test(a_service_ends_with_its_process),
		cmocka_unit_test(processes_have_secrets_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
