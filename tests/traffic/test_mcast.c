/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of datagrams, within a process and between several.
 */
#include "rig.h"

#include <dirent.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRH 40u

/* A group of the kind that the port's link has: an IPv4 group mapped into a GID, or an InfiniBand
 * one. */
static union ibv_gid group(unsigned int n)
{
	union ibv_gid gid = { .raw = { 0xff } };

	if (rig_is_ethernet()) {
		gid.raw[0] = 0xff;
		gid.raw[1] = 0x0e;
	} else {
		gid.raw[1] = 0x12;
		gid.raw[2] = 0x40;
		gid.raw[3] = 0x1b;
		gid.raw[4] = gid.raw[5] = 0xff;
	}
	gid.raw[12] = 0xef;
	gid.raw[15] = n;
	return gid;
}

static const uint16_t group_lid = 0xc005;

static struct ibv_ah *ah_to_group(struct end *e, const union ibv_gid *gid)
{
	struct ibv_ah_attr attr = {
		.port_num = 1,
		.is_global = 1,
		.dlid = group_lid,
		.grh = { .dgid = *gid, .sgid_index = rig_gid_index(), .hop_limit = 1 },
	};

	return must(ibv_create_ah(e->pd, &attr));
}

static struct end *open_end(void)
{
	struct options o = options_of(IBV_QPT_UD);
	struct end *e = end_open(&o);

	end_connect(e, NULL);
	return e;
}

static void send_to_group(struct end *e, struct ibv_ah *ah, unsigned int seed)
{
	fill(e->buf, 100, seed);
	post(e, &(struct work){ .id = seed,
				.op = IBV_WR_SEND,
				.flags = IBV_SEND_SIGNALED,
				.len = 100,
				.ah = ah,
				.qpn = 0xffffff,
				.qkey = e->o.qkey });
	expect_ok(e->scq, seed);
}

static void take(struct end *e, uint64_t id, unsigned int seed)
{
	struct ibv_wc wc = expect_ok(e->rcq, id);

	check_equal(wc.byte_len, 100 + GRH);
	check(wc.wc_flags & IBV_WC_GRH);
	check_filled(e->buf + 4096 + GRH, 100, seed);
}

static void every_member_gets_a_copy_and_no_other_queue_pair_does(void)
{
	union ibv_gid gid = group(1), other = group(2);
	struct end *sender = open_end(), *member[3], *stranger = open_end();
	struct ibv_ah *ah = ah_to_group(sender, &gid);

	for (int i = 0; i < 3; i++) {
		member[i] = open_end();
		check_ok(ibv_attach_mcast(member[i]->qp, &gid, group_lid));
		post_recv(member[i], i, 4096, 512);
	}
	check_ok(ibv_attach_mcast(stranger->qp, &other, group_lid));
	post_recv(stranger, 9, 4096, 512);
	send_to_group(sender, ah, 5);
	for (int i = 0; i < 3; i++)
		take(member[i], i, 5);
	check_empty(stranger->rcq);
	/* a detached queue pair receives nothing more */
	check_ok(ibv_detach_mcast(member[1]->qp, &gid, group_lid));
	for (int i = 0; i < 3; i++)
		post_recv(member[i], 10 + i, 4096, 512);
	send_to_group(sender, ah, 6);
	take(member[0], 10, 6);
	take(member[2], 12, 6);
	check_empty(member[1]->rcq);
	check_ok(ibv_detach_mcast(member[0]->qp, &gid, group_lid));
	check_ok(ibv_detach_mcast(member[2]->qp, &gid, group_lid));
	check_ok(ibv_detach_mcast(stranger->qp, &other, group_lid));
	check_ok(ibv_destroy_ah(ah));
	for (int i = 0; i < 3; i++)
		end_close(member[i]);
	end_close(stranger);
	end_close(sender);
}

static void a_sender_that_is_a_member_receives_its_own_multicasts(void)
{
	union ibv_gid gid = group(3);
	struct end *e = open_end();
	struct ibv_ah *ah = ah_to_group(e, &gid);

	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	post_recv(e, 1, 4096, 512);
	send_to_group(e, ah, 7);
	take(e, 1, 7);
	check_ok(ibv_detach_mcast(e->qp, &gid, group_lid));
	check_ok(ibv_destroy_ah(ah));
	end_close(e);
}

static void a_queue_pair_may_refuse_its_own_multicasts(void)
{
	union ibv_gid gid = group(4);
	struct end *e = open_end(), *other = open_end();
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.cap = { 16, 16, 1, 1, 0 },
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = e->pd,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(e->ctx, &attr);
	struct ibv_ah *ah;

	if (!qp)
		rig_skip("no queue pair that blocks its own multicasts");
	end_drop_qp(e);
	e->qp = qp;
	end_connect(e, NULL);
	ah = ah_to_group(e, &gid);
	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	check_ok(ibv_attach_mcast(other->qp, &gid, group_lid));
	post_recv(e, 1, 4096, 512);
	post_recv(other, 2, 4096, 512);
	send_to_group(e, ah, 8);
	take(other, 2, 8);
	check_empty(e->rcq);
	check_ok(ibv_detach_mcast(e->qp, &gid, group_lid));
	check_ok(ibv_detach_mcast(other->qp, &gid, group_lid));
	check_ok(ibv_destroy_ah(ah));
	end_close(e);
	end_close(other);
}

static void attaching_twice_is_attaching_once(void)
{
	union ibv_gid gid = group(5);
	struct end *e = open_end(), *sender = open_end();
	struct ibv_ah *ah = ah_to_group(sender, &gid);

	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	post_recv(e, 1, 4096, 512);
	post_recv(e, 2, 8192, 512);
	send_to_group(sender, ah, 9);
	take(e, 1, 9);
	check_empty(e->rcq);
	check_ok(ibv_detach_mcast(e->qp, &gid, group_lid));
	check_equal(ibv_detach_mcast(e->qp, &gid, group_lid), EINVAL);
	check_ok(ibv_destroy_ah(ah));
	end_close(e); /* and it can be destroyed */
	end_close(sender);
}

static void only_datagrams_and_multicast_addresses_may_join(void)
{
	union ibv_gid gid = group(6), unicast = gid;
	struct end *e = open_end(), *rc = end_open(NULL);

	unicast.raw[0] = 0xfe;
	check_equal(ibv_attach_mcast(e->qp, &unicast, group_lid), EINVAL);
	check_equal(ibv_attach_mcast(rc->qp, &gid, group_lid), EINVAL);
	check_equal(ibv_detach_mcast(e->qp, &gid, group_lid), EINVAL);
	end_close(e);
	end_close(rc);
}

static void a_member_is_busy_until_it_leaves(void)
{
	union ibv_gid gid = group(7);
	struct end *e = open_end();

	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	check_equal(ibv_destroy_qp(e->qp), EBUSY);
	check_equal(end_state(e), IBV_QPS_RTS);
	check_ok(ibv_detach_mcast(e->qp, &gid, group_lid));
	end_close(e);
}

static void a_wrong_q_key_is_not_received_by_the_group(void)
{
	union ibv_gid gid = group(8);
	struct end *e = open_end(), *sender = open_end();
	struct ibv_ah *ah = ah_to_group(sender, &gid);
	uint32_t good = sender->o.qkey;

	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	post_recv(e, 1, 4096, 512);
	sender->o.qkey = good + 1;
	send_to_group(sender, ah, 1);
	sender->o.qkey = good;
	send_to_group(sender, ah, 2);
	take(e, 1, 2);
	check_ok(ibv_detach_mcast(e->qp, &gid, group_lid));
	check_ok(ibv_destroy_ah(ah));
	end_close(e);
	end_close(sender);
}

/* ---- several processes ---- */

static void listener(int fd)
{
	union ibv_gid gid = group(20);
	struct end *e = open_end();

	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	post_recv(e, 1, 4096, 512);
	tell_mark(fd, 'j');
	expect_ok(e->rcq, 1);
	check_filled(e->buf + 4096 + GRH, 100, 3);
	tell_mark(fd, 'g');
	hear_mark(fd, 'l');
	check_ok(ibv_detach_mcast(e->qp, &gid, group_lid));
	/* a killed member leaves the group, too */
	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	tell_mark(fd, 'd');
	_exit(0);
}

static void members_in_several_processes_receive_multicasts(void)
{
	enum { LISTENERS = 3 };
	struct peer peer[LISTENERS];
	union ibv_gid gid;
	struct end *e;
	struct ibv_ah *ah;
	bool got[LISTENERS] = { false };
	unsigned int left = LISTENERS;

	for (int i = 0; i < LISTENERS; i++)
		peer[i] = peer_start(listener);
	e = open_end();
	gid = group(20);
	ah = ah_to_group(e, &gid);
	for (int i = 0; i < LISTENERS; i++)
		hear_mark(peer[i].fd, 'j');
	/* datagrams may be lost: repeated until every member has one */
	wait_for(({
		send_to_group(e, ah, 3);
		for (int i = 0; i < LISTENERS; i++)
			if (!got[i] && is_readable(peer[i].fd, 5)) {
				hear_mark(peer[i].fd, 'g');
				got[i] = true;
				left--;
			}
		!left;
	}));
	for (int i = 0; i < LISTENERS; i++) {
		tell_mark(peer[i].fd, 'l');
		hear_mark(peer[i].fd, 'd');
		peer_join(&peer[i]);
	}
	/* killed members do not block the others */
	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	post_recv(e, 1, 4096, 512);
	send_to_group(e, ah, 4);
	take(e, 1, 4);
	check_ok(ibv_detach_mcast(e->qp, &gid, group_lid));
	check_ok(ibv_destroy_ah(ah));
	end_close(e);
}

/* ---- many at once ---- */

enum { MANY = 6000, MANY_BYTES = 1000 };

static void patient_listener(int fd)
{
	struct options o = options_of(IBV_QPT_UD);
	union ibv_gid gid = group(21);
	struct end *e;

	o.recv_wr = MANY;
	o.cqe = MANY;
	e = end_open(&o);
	end_connect(e, NULL);
	for (int i = 0; i < MANY; i++)
		post_recv(e, i, 4096, 2048);
	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	tell_mark(fd, 'j');
	for (int i = 0; i < MANY; i++)
		check_equal(expect_ok(e->rcq, i).byte_len, MANY_BYTES + GRH);
	check_ok(ibv_detach_mcast(e->qp, &gid, group_lid));
	end_close(e);
	tell_mark(fd, 'g');
}

/* More than fits between two processes: the sender waits, as it does with one receiver. */
static void a_member_that_has_receives_gets_every_multicast(void)
{
	struct peer peer = peer_start(patient_listener);
	union ibv_gid gid = group(21);
	struct end *e = open_end();
	struct ibv_ah *ah = ah_to_group(e, &gid);

	if (rig_on_wire())
		rig_skip("the network may lose datagrams");
	hear_mark(peer.fd, 'j');
	for (int i = 0; i < MANY; i++) {
		bool last = i % 8 == 7;

		post(e, &(struct work){ .id = i,
					.op = IBV_WR_SEND,
					.flags = last ? IBV_SEND_SIGNALED : 0,
					.len = MANY_BYTES,
					.ah = ah,
					.qpn = 0xffffff,
					.qkey = e->o.qkey });
		if (last)
			expect_ok(e->scq, i);
	}
	hear_mark(peer.fd, 'g');
	peer_join(&peer);
	check_ok(ibv_destroy_ah(ah));
	end_close(e);
}

/* Polls nothing before it is told to, and then takes all. */
static void late_listener(int fd)
{
	struct options o = options_of(IBV_QPT_UD);
	union ibv_gid gid = group(23);
	struct end *e;

	o.recv_wr = MANY;
	o.cqe = MANY;
	e = end_open(&o);
	end_connect(e, NULL);
	for (int i = 0; i < MANY; i++)
		post_recv(e, i, 4096, 2048);
	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	tell_mark(fd, 'j');
	hear_mark(fd, 'p');
	for (int i = 0; i < MANY; i++)
		expect_ok(e->rcq, i);
	check_ok(ibv_detach_mcast(e->qp, &gid, group_lid));
	end_close(e);
	tell_mark(fd, 'g');
}

/* Calls fn for each thread of the process but the first. */
static void other_threads(pid_t pid, void (*fn)(pid_t tid))
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = must(opendir(path));
	while ((entry = readdir(dir)))
		if (atoi(entry->d_name) && atoi(entry->d_name) != pid)
			fn(atoi(entry->d_name));
	closedir(dir);
}

static void hold_thread(pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		rig_skip("threads of a child cannot be held");
	check_ok(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL));
	check_equal(waitpid(tid, NULL, __WALL), tid);
}

static void free_thread(pid_t tid)
{
	check_ok(ptrace(PTRACE_DETACH, tid, NULL, NULL));
}

static void post_to_group(struct end *e, struct ibv_ah *ah, int id)
{
	post(e, &(struct work){ .id = id,
				.op = IBV_WR_SEND,
				.flags = IBV_SEND_SIGNALED,
				.len = MANY_BYTES,
				.ah = ah,
				.qpn = 0xffffff,
				.qkey = e->o.qkey });
}

static bool completes_soon(struct end *e)
{
	time_t until = time(NULL) + 2;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(e->scq, 1, &wc)) && time(NULL) < until)
		;
	if (n)
		check_equal(wc.status, IBV_WC_SUCCESS);
	return n;
}

/* Its service thread does not run; the process is not stopped, and may only wait for a processor. */
static void a_member_that_is_late_is_waited_for(void)
{
	struct peer peer = peer_start(late_listener);
	union ibv_gid gid = group(23);
	struct end *e = open_end();
	struct ibv_ah *ah = ah_to_group(e, &gid);
	int sent = 1;

	if (rig_on_wire())
		rig_skip("the network may lose datagrams");
	hear_mark(peer.fd, 'j');
	post_to_group(e, ah, 0); /* makes the link */
	expect_ok(e->scq, 0);
	other_threads(peer.pid, hold_thread);
	for (; sent < MANY; sent++) {
		post_to_group(e, ah, sent);
		if (!completes_soon(e))
			break;
	}
	check(sent < MANY);
	other_threads(peer.pid, free_thread);
	tell_mark(peer.fd, 'p');
	expect_ok(e->scq, sent);
	while (++sent < MANY) {
		post_to_group(e, ah, sent);
		expect_ok(e->scq, sent);
	}
	hear_mark(peer.fd, 'g');
	peer_join(&peer);
	check_ok(ibv_destroy_ah(ah));
	end_close(e);
}

static void sleeping_listener(int fd)
{
	union ibv_gid gid = group(22);
	struct end *e = open_end();

	check_ok(ibv_attach_mcast(e->qp, &gid, group_lid));
	tell_mark(fd, 'j');
	hear_mark(fd, 's');
	raise(SIGSTOP);
	hear_mark(fd, 'e');
	check_ok(ibv_detach_mcast(e->qp, &gid, group_lid));
	end_close(e);
}

/* Were the sender to wait for both each time, it would take minutes. */
static void stopped_members_do_not_hold_up_every_multicast(void)
{
	enum { STOPPED = 2 };
	struct peer peer[STOPPED];
	union ibv_gid gid;
	struct end *e;
	struct ibv_ah *ah;
	int status;

	for (int i = 0; i < STOPPED; i++)
		peer[i] = peer_start(sleeping_listener);
	gid = group(22);
	e = open_end();
	ah = ah_to_group(e, &gid);
	for (int i = 0; i < STOPPED; i++)
		hear_mark(peer[i].fd, 'j');
	send_to_group(e, ah, 1); /* makes the links */
	for (int i = 0; i < STOPPED; i++) {
		tell_mark(peer[i].fd, 's');
		wait_for(waitpid(peer[i].pid, &status, WUNTRACED | WNOHANG) == peer[i].pid);
		check(WIFSTOPPED(status));
	}
	for (int i = 0; i < MANY; i++) {
		post(e, &(struct work){ .id = i,
					.op = IBV_WR_SEND,
					.flags = IBV_SEND_SIGNALED,
					.len = MANY_BYTES,
					.ah = ah,
					.qpn = 0xffffff,
					.qkey = e->o.qkey });
		expect_ok(e->scq, i);
	}
	for (int i = 0; i < STOPPED; i++) {
		check_ok(kill(peer[i].pid, SIGCONT));
		tell_mark(peer[i].fd, 'e');
		peer_join(&peer[i]);
	}
	check_ok(ibv_destroy_ah(ah));
	end_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_member_gets_a_copy_and_no_other_queue_pair_does),
		TEST(a_sender_that_is_a_member_receives_its_own_multicasts),
		TEST(a_queue_pair_may_refuse_its_own_multicasts),
		TEST(attaching_twice_is_attaching_once),
		TEST(only_datagrams_and_multicast_addresses_may_join),
		TEST(a_member_is_busy_until_it_leaves),
		TEST(a_wrong_q_key_is_not_received_by_the_group),
		TEST(members_in_several_processes_receive_multicasts),
		TEST(a_member_that_has_receives_gets_every_multicast),
		TEST(a_member_that_is_late_is_waited_for),
		TEST(stopped_members_do_not_hold_up_every_multicast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
