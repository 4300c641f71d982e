/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes end by exit and by kill -9 at any moment, and fork with and without exec. To the other
 * processes a dead one looks like a host without power, and they go on.
 */
#include "rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT 15 /* 134 ms: four of them tell a peer that waits for a processor from a dead one */

static struct options hasty(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.timeout = TIMEOUT;
	o.retry_cnt = 3;
	o.bytes = 1 << 20;
	return o;
}

/* The victim: works until it is killed. */
static void victim(int fd)
{
	struct options o = hasty();
	struct end *e = end_open(&o);
	unsigned int sent = 0, done = 0;

	end_meet(e, fd);
	for (unsigned int i = 0; i < 60; i++)
		post_recv(e, i, 4096 + i * 4096, 4096);
	tell_mark(fd, 'g');
	for (;;) {
		struct ibv_wc wc;

		for (; sent - done < 20; sent++)
			post(e,
			     &(struct work){ .id = sent,
					     .op = sent % 3 == 0   ? IBV_WR_SEND
						   : sent % 3 == 1 ? IBV_WR_RDMA_WRITE
								   : IBV_WR_ATOMIC_FETCH_AND_ADD,
					     .flags = IBV_SEND_SIGNALED,
					     .len = sent % 3 == 2 ? 8 : 3000,
					     .raddr = e->to.va + (sent % 3 == 2 ? 512 * 1024 : 0),
					     .rkey = e->to.rkey });
		while (ibv_poll_cq(e->scq, 1, &wc) == 1)
			done++;
		while (ibv_poll_cq(e->rcq, 1, &wc) == 1)
			if (wc.status == IBV_WC_SUCCESS)
				post_recv(e, wc.wr_id, 4096 + wc.wr_id * 4096, 4096);
	}
}

/* Sends to the victim until requests fail. */
static enum ibv_wc_status until_death(struct end *e, struct peer *peer, uint64_t death_ns,
				      uint64_t *took_ns)
{
	unsigned int sent = 0, done = 0;
	uint64_t dead_at = 0;

	for (uint64_t end = now_ns() + WAIT_MS * 1000000ull; now_ns() < end;) {
		struct ibv_wc wc;

		if (!dead_at && now_ns() >= death_ns) {
			peer_kill(peer);
			dead_at = now_ns();
		}
		for (; sent - done < 10; sent++)
			post(e, &(struct work){ .id = sent,
						.op = sent % 3 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND,
						.flags = IBV_SEND_SIGNALED,
						.len = 2000,
						.raddr = e->to.va,
						.rkey = e->to.rkey });
		while (ibv_poll_cq(e->rcq, 1, &wc) == 1)
			if (wc.status == IBV_WC_SUCCESS)
				post_recv(e, wc.wr_id, 4096 + wc.wr_id * 4096, 4096);
		while (ibv_poll_cq(e->scq, 1, &wc) == 1) {
			check_equal(wc.wr_id, done);
			done++;
			if (wc.status == IBV_WC_SUCCESS)
				continue;
			check(dead_at != 0);
			*took_ns = now_ns() - dead_at;
			while (done < sent)
				expect_wc(e->scq, done++, IBV_WC_WR_FLUSH_ERR);
			return wc.status;
		}
	}
	rig_fail(__FILE__, __LINE__, "the death of the peer does not show");
}

static void ping(struct pair *p)
{
	post_recv(p->b, 1, 0, 64);
	post(p->a,
	     &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_ok(p->a->scq, 1);
	expect_ok(p->b->rcq, 1);
}

/* Each takes the retries' time, and every build and adapter has moments of its own. */
#define KILLS 4

static void requests_to_a_killed_process_exceed_the_retries(void)
{
	const uint64_t limit_ns = 4 * 4 * (4096ull << TIMEOUT) + 3000000000ull;
	struct peer peer[KILLS];
	struct pair p;
	unsigned int seed = (unsigned int)now_ns();

	printf("seed %u\n", seed);
	for (int i = 0; i < KILLS; i++)
		peer[i] = peer_start(victim);
	p = pair_open(NULL);
	for (int i = 0; i < KILLS; i++) {
		struct options o = hasty();
		struct end *e = end_open(&o);
		uint64_t took;

		end_meet(e, peer[i].fd);
		for (unsigned int k = 0; k < 60; k++)
			post_recv(e, k, 4096 + k * 4096, 4096);
		hear_mark(peer[i].fd, 'g');
		check_equal(until_death(e, &peer[i], now_ns() + rand_r(&seed) % 3000000, &took),
			    IBV_WC_RETRY_EXC_ERR);
		check(took < limit_ns);
		ping(&p); /* the others go on */
		end_close(e);
	}
	pair_close(&p);
}

/* Has a queue pair and is then stopped: no link to it can be made. */
static void sleeper(int fd)
{
	struct options o = hasty();
	struct end *e = end_open(&o);
	struct address here = end_address(e), there;

	tell(fd, &here, sizeof(here));
	hear(fd, &there, sizeof(there));
	end_connect(e, &there);
	post_recv(e, 1, 0, 64);
	tell_mark(fd, 'r');
	hear_mark(fd, 's');
	raise(SIGSTOP);
	hear_mark(fd, 'E');
	end_close(e);
}

static void stop(const struct peer *peer)
{
	int status;

	tell_mark(peer->fd, 's');
	wait_for(waitpid(peer->pid, &status, WUNTRACED | WNOHANG) == peer->pid);
	check(WIFSTOPPED(status));
}

static void requests_to_a_process_stopped_before_the_first_message_exceed_the_retries(void)
{
	struct peer peer = peer_start(sleeper);
	struct options o = hasty();
	struct address here, there;
	struct end *e = end_open(&o);
	uint64_t began;

	hear(peer.fd, &there, sizeof(there));
	here = end_address(e);
	tell(peer.fd, &here, sizeof(here));
	end_connect(e, &there);
	hear_mark(peer.fd, 'r');
	stop(&peer);
	began = now_ns();
	for (int i = 0; i < 3; i++)
		post(e, &(struct work){
				.id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_wc(e->scq, 0, IBV_WC_RETRY_EXC_ERR);
	expect_wc(e->scq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(e->scq, 2, IBV_WC_WR_FLUSH_ERR);
	/* four times 134 ms; a link's handshake alone would have five seconds before it fails */
	check(now_ns() - began < 5000000000ull);
	check_equal(end_state(e), IBV_QPS_ERR);
	check_ok(kill(peer.pid, SIGCONT));
	tell_mark(peer.fd, 'E');
	peer_join(&peer);
	end_close(e);
}

static void requests_to_a_stopped_process_exceed_the_retries(void)
{
	struct peer peer = peer_start(sleeper);
	struct options o = hasty();
	struct address here, there;
	struct end *e = end_open(&o);

	hear(peer.fd, &there, sizeof(there));
	here = end_address(e);
	tell(peer.fd, &here, sizeof(here));
	end_connect(e, &there);
	hear_mark(peer.fd, 'r');
	post(e, &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_ok(e->scq, 1);
	stop(&peer);
	post(e, &(struct work){ .id = 2, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_wc(e->scq, 2, IBV_WC_RETRY_EXC_ERR);
	check_ok(kill(peer.pid, SIGCONT));
	tell_mark(peer.fd, 'E');
	peer_join(&peer);
	end_close(e);
}

/* ---- files ---- */

/* Failures of queue pairs are kept on purpose (hca/inspect/failure.c). */
static void count_files(const char *path, unsigned int *files)
{
	DIR *dir = opendir(path);

	*files = 0;
	if (!dir)
		return;
	for (struct dirent *d = readdir(dir); d; d = readdir(dir))
		*files += d->d_name[0] != '.' && strncmp(d->d_name, "failures", 8);
	closedir(dir);
}

static void quitter(int fd)
{
	struct end *e = end_open(NULL);

	end_meet(e, fd);
	hear_mark(fd, 'q');
	_exit(0); /* everything open */
}

static void killed_processes_leave_no_files(void)
{
	const char *dir = getenv("VERBENA_DIR");
	unsigned int before, after;
	struct peer peer[3];
	struct end *e[3];

	if (!dir)
		rig_skip("VERBENA_DIR is not set");
	for (int i = 0; i < 3; i++)
		peer[i] = peer_start(quitter);
	for (int i = 0; i < 3; i++) {
		e[i] = end_open(NULL);
		end_meet(e[i], peer[i].fd);
	}
	count_files(dir, &before);
	tell_mark(peer[0].fd, 'q');
	peer_join(&peer[0]);
	peer_kill(&peer[1]);
	tell_mark(peer[2].fd, 'q');
	peer_join(&peer[2]);
	for (int i = 0; i < 3; i++)
		end_close(e[i]);
	count_files(dir, &after);
	check(after <= before);
}

/* Run by the one before it: every process is gone, and so is what they had. */
static void the_directory_stays_small_after_many_processes(void)
{
	const char *dir = getenv("VERBENA_DIR");
	unsigned int first = 0, last = 0;

	if (!dir)
		rig_skip("VERBENA_DIR is not set");
	for (int i = 0; i < 6; i++) {
		pid_t pid = fork();
		int status;

		check(pid >= 0);
		if (!pid) {
			struct pair p = pair_open(NULL);

			ping(&p);
			if (i % 2)
				raise(SIGKILL);
			_exit(0);
		}
		check_equal(waitpid(pid, &status, 0), pid);
		check(WIFSIGNALED(status) == (i % 2 == 1));
		count_files(dir, i ? &last : &first);
	}
	check_equal(last, first);
}

static void many_processes_start_and_end_at_once(void)
{
	enum { ROUNDS = 4, CROWD = 10 };

	for (int round = 0; round < ROUNDS; round++) {
		pid_t pid[CROWD];

		for (int i = 0; i < CROWD; i++) {
			pid[i] = fork();
			check(pid[i] >= 0);
			if (!pid[i]) {
				struct pair p = pair_open(NULL);

				for (int k = 0; k < 20; k++)
					ping(&p);
				if (i % 3 == 0)
					raise(SIGKILL);
				if (i % 3 == 1)
					_exit(0);
				pair_close(&p);
				exit(0);
			}
		}
		for (int i = 0; i < CROWD; i++) {
			int status;

			wait_for(waitpid(pid[i], &status, WNOHANG) == pid[i]);
			if (i % 3 == 0)
				check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
			else
				check(WIFEXITED(status) && !WEXITSTATUS(status));
		}
	}
}

/* ---- acknowledgement of received messages ---- */

/* Without a timer: an acknowledgement that is not sent is never asked for again. */
static struct options patient(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.timeout = 0;
	return o;
}

enum { TURNS = 40 };

/* One after the other, each in reply to the last; `first` begins. */
static void converse(struct end *e, bool first)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		if (!first)
			expect_ok(e->rcq, i);
		post(e, &(struct work){
				.id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
		if (first)
			expect_ok(e->rcq, i);
		expect_ok(e->scq, i);
	}
}

static struct end *listener(int fd)
{
	struct options o = patient();
	struct end *e = end_open(&o);

	end_meet(e, fd);
	for (unsigned int i = 0; i <= TURNS; i++)
		post_recv(e, i, 64 * i, 64);
	tell_mark(fd, 'g');
	return e;
}

static void hears_and_drops(int fd)
{
	struct end *e = listener(fd);

	expect_ok(e->rcq, 0);
	_exit(0);
}

static void talks_and_leaves(int fd)
{
	struct end *e = listener(fd);

	converse(e, false);
	expect_ok(e->rcq, TURNS);
	exit(0);
}

static void talks_and_turns_away(int fd)
{
	struct end *e = listener(fd);

	converse(e, false);
	expect_ok(e->rcq, TURNS);
	hear_mark(fd, 'e'); /* no call of ours until all is over */
	_exit(0);
}

static struct end *speaker(struct peer *peer)
{
	struct options o = patient();
	struct end *e = end_open(&o);

	end_meet(e, peer->fd);
	for (unsigned int i = 0; i < TURNS; i++)
		post_recv(e, i, 64 * i, 64);
	hear_mark(peer->fd, 'g');
	return e;
}

static void say_last(struct end *e)
{
	post(e, &(struct work){
			.id = TURNS, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_ok(e->scq, TURNS);
}

static void a_received_message_is_acknowledged_although_the_process_then_dies(void)
{
	struct peer peer = peer_start(hears_and_drops);
	struct end *e = speaker(&peer);

	say_last(e);
	peer_join(&peer);
	end_close(e);
}

static void the_last_message_is_acknowledged_by_a_process_that_exits_after_a_conversation(void)
{
	struct peer peer = peer_start(talks_and_leaves);
	struct end *e = speaker(&peer);

	converse(e, true);
	say_last(e);
	peer_join(&peer);
	end_close(e);
}

static void
the_last_message_is_acknowledged_by_a_process_that_stops_polling_after_a_conversation(void)
{
	struct peer peer = peer_start(talks_and_turns_away);
	struct end *e = speaker(&peer);

	converse(e, true);
	say_last(e);
	tell_mark(peer.fd, 'e');
	peer_join(&peer);
	end_close(e);
}

/* Posts a message, and is stopped until the process that received it has ended. */
static void posts_and_stops(int fd)
{
	struct options o = patient();
	struct end *e = end_open(&o);

	end_meet(e, fd);
	hear_mark(fd, 'g');
	post(e, &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	raise(SIGSTOP);
	expect_ok(e->scq, 1);
	end_close(e);
}

static void introduce(const struct peer *a, const struct peer *b)
{
	struct address addr;

	hear(a->fd, &addr, sizeof(addr));
	tell(b->fd, &addr, sizeof(addr));
	hear(b->fd, &addr, sizeof(addr));
	tell(a->fd, &addr, sizeof(addr));
	hear_mark(a->fd, 'R');
	hear_mark(b->fd, 'R');
	tell_mark(a->fd, 'R');
	tell_mark(b->fd, 'R');
}

/* On the wire, the port that it came from has no owner any more when it is handled. */
static void an_acknowledgement_counts_although_its_sender_has_ended_before_it_is_handled(void)
{
	struct peer receiver, sender;
	int status;

	if (!getenv("TRAFFIC_ON_WIRE"))
		rig_skip("over shared memory a stopped process makes no link");
	receiver = peer_start(hears_and_drops);
	sender = peer_start(posts_and_stops);
	introduce(&receiver, &sender);
	hear_mark(receiver.fd, 'g');
	tell_mark(sender.fd, 'g');
	peer_join(&receiver);
	wait_for(waitpid(sender.pid, &status, WUNTRACED | WNOHANG) == sender.pid);
	check(WIFSTOPPED(status));
	check_ok(kill(sender.pid, SIGCONT));
	peer_join(&sender);
}

/* ---- closing ---- */

static struct ibv_mr *volatile left_behind; /* reachable: who forgets an object leaks it */

static void a_device_is_closed_with_objects_alive(void)
{
	struct ibv_context *ctx = rig_open();
	struct pair p = pair_open(NULL);
	struct ibv_pd *pd = must(ibv_alloc_pd(ctx));
	struct ibv_cq *cq = must(ibv_create_cq(ctx, 16, NULL, NULL, 0));
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC
	};
	char *buf = pages(4096);

	check(ibv_create_qp(pd, &attr) != NULL);
	left_behind = must(ibv_reg_mr(pd, buf, 4096, IBV_ACCESS_LOCAL_WRITE));
	/* refused, or done with all that belongs to it; never a crash */
	ibv_close_device(ctx);
	for (int i = 0; i < 10; i++)
		ping(&p);
	pair_close(&p);
}

static void requests_to_a_process_that_closed_its_device_exceed_the_retries(void)
{
	struct options o = hasty();
	struct pair p = pair_open(&o);

	end_drop_qp(p.b);
	post(p.a, &(struct work){ .id = 1, .op = IBV_WR_SEND, .len = 8 });
	expect_wc(p.a->scq, 1, IBV_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

/* ---- fork ---- */

static int status_of(pid_t pid)
{
	int status;

	wait_for(waitpid(pid, &status, WNOHANG) == pid);
	return status;
}

static void a_child_does_not_disturb_its_parent(void)
{
	struct pair p = pair_open(NULL);
	pid_t pid;

	ping(&p);
	memset(p.a->buf, 1, 4096);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		/* its memory is a copy */
		memset(p.a->buf, 2, 4096);
		memset(p.b->buf, 3, 4096);
		_exit(is_all(p.a->buf, 4096, 2) ? 0 : 1);
	}
	for (int i = 0; i < 200; i++)
		ping(&p);
	check_equal(status_of(pid), 0);
	check(is_all(p.a->buf, 4096, 1));
	/* direct access still goes to the parent's memory */
	memset(p.b->buf, 0, 64);
	post(p.a, &(struct work){ .id = 2,
				  .op = IBV_WR_RDMA_WRITE,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 64,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey });
	expect_ok(p.a->scq, 2);
	check(is_all(p.b->buf, 64, 1));
	pair_close(&p);
}

static void a_child_sees_the_memory_of_the_moment_of_the_fork(void)
{
	struct end *e = end_open(NULL);
	int fd[2];
	pid_t pid;
	char mark;

	fill(e->buf, 65536, 1);
	check_ok(pipe(fd));
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		close(fd[1]);
		check_equal(read(fd[0], &mark, 1), 1);
		_exit(is_filled(e->buf, 65536, 1) ? 0 : 1);
	}
	fill(e->buf, 65536, 2); /* not the child's any more */
	check_equal(write(fd[1], "x", 1), 1);
	check_equal(status_of(pid), 0);
	check_filled(e->buf, 65536, 2);
	end_close(e);
}

static void a_child_may_open_the_device_itself(void)
{
	struct pair p;
	pid_t pid;

	rig_skip_under_qemu("it aborts when a child of a process with threads starts threads");
	p = pair_open(NULL);
	ping(&p);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		/* nothing of the parent's is used */
		struct pair own;

		rig_forget();
		own = pair_open(NULL);
		for (int i = 0; i < 20; i++)
			ping(&own);
		pair_close(&own);
		check_ok(ibv_close_device(rig_context()));
		exit(0);
	}
	for (int i = 0; i < 50; i++)
		ping(&p);
	check_equal(status_of(pid), 0);
	ping(&p);
	pair_close(&p);
}

/* Forked after the parent opened the device: it opens it again, for itself. */
static void talker(int fd)
{
	struct end *e;

	rig_forget();
	e = end_open(NULL);
	end_meet(e, fd);
	for (int i = 0; i < 20; i++) {
		post_recv(e, i, 0, 64);
		tell_mark(fd, 'p');
		expect_ok(e->rcq, i);
	}
	hear_mark(fd, 'E');
	end_close(e);
}

static void a_child_forked_after_the_parent_connected_can_connect_to_it(void)
{
	struct pair p;
	struct peer peer;
	struct end *e;

	rig_skip_under_qemu("it aborts when a child of a process with threads starts threads");
	p = pair_open(NULL);
	ping(&p);
	peer = peer_start(talker);
	e = end_open(NULL);
	end_meet(e, peer.fd);
	for (int i = 0; i < 20; i++) {
		hear_mark(peer.fd, 'p');
		post(e, &(struct work){
				.id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
		expect_ok(e->scq, i);
	}
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
	ping(&p);
	pair_close(&p);
}

static unsigned int count_inherited(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 4096; fd++) {
		int flags = fcntl(fd, F_GETFD);

		n += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	return n;
}

static void an_executed_program_inherits_no_descriptor(void)
{
	struct options o = options_of(IBV_QPT_RC);
	unsigned int before = count_inherited();
	struct pair p;
	pid_t pid;

	o.events = true;
	p = pair_open(&o);
	ping(&p);
	check_equal(count_inherited(), before);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 50; i++)
		ping(&p);
	check_equal(status_of(pid), 0);
	ping(&p);
	pair_close(&p);
}

/* A vfork and exec, as system() and popen() do it. */
static void running_a_program_leaves_connections_alone(void)
{
	struct pair p = pair_open(NULL);

	for (int i = 0; i < 5; i++) {
		ping(&p);
		check_equal(system("true"), 0);
		ping(&p);
	}
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_to_a_killed_process_exceed_the_retries),
		TEST(requests_to_a_process_stopped_before_the_first_message_exceed_the_retries),
		TEST(requests_to_a_stopped_process_exceed_the_retries),
		TEST(killed_processes_leave_no_files),
		TEST(the_directory_stays_small_after_many_processes),
		TEST(many_processes_start_and_end_at_once),
		TEST(a_received_message_is_acknowledged_although_the_process_then_dies),
		TEST(an_acknowledgement_counts_although_its_sender_has_ended_before_it_is_handled),
		TEST(the_last_message_is_acknowledged_by_a_process_that_exits_after_a_conversation),
		TEST(the_last_message_is_acknowledged_by_a_process_that_stops_polling_after_a_conversation),
		TEST(a_device_is_closed_with_objects_alive),
		TEST(requests_to_a_process_that_closed_its_device_exceed_the_retries),
		TEST(a_child_does_not_disturb_its_parent),
		TEST(a_child_sees_the_memory_of_the_moment_of_the_fork),
		TEST(a_child_may_open_the_device_itself),
		TEST(a_child_forked_after_the_parent_connected_can_connect_to_it),
		TEST(an_executed_program_inherits_no_descriptor),
		TEST(running_a_program_leaves_connections_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
