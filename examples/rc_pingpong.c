/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ball between two processes, over a reliable connection (RC). Each of them has a queue pair; to connect them, they
 * must know each other's number, which they tell over a pair of sockets. On two hosts that would be TCP, with the GIDs.
 *
 *	rc_pingpong [DEVICE [ROUNDS]]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "setup.h"

#define SIZE 64

static struct setup s; /* memory: the message that comes, then the one that goes */

static void receive(void)
{
	struct ibv_sge sge = { (uintptr_t)s.memory, SIZE, s.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	setup_check(ibv_post_recv(s.qp[0], &wr, &bad), "ibv_post_recv");
}

static void send_ball(unsigned round)
{
	struct ibv_sge sge = { (uintptr_t)s.memory + SIZE, SIZE, s.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	snprintf(s.memory + SIZE, SIZE, "ball %u", round);
	setup_check(ibv_post_send(s.qp[0], &wr, &bad), "ibv_post_send");
}

/* A send has ended when the other side has the message; only then may its buffer be used again. */
static void wait_for(unsigned completions)
{
	struct ibv_wc wc;
	int n;

	while (completions) {
		n = ibv_poll_cq(s.cq, 1, &wc);
		setup_check(n < 0, "ibv_poll_cq");
		if (n && wc.status) {
			printf("%s failed: %s\n", wc.opcode & IBV_WC_RECV ? "receive" : "send",
			       ibv_wc_status_str(wc.status));
			exit(1);
		}
		completions -= n;
	}
}

/* A receive is posted before the other side can answer: a message that meets none is refused, and comes again later. */
static void play(int first, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		if (first)
			send_ball(i);
		wait_for(first ? 2 : 1); /* the answer, or the question */
		receive();
		if (!first) {
			send_ball(i);
			wait_for(1);
		}
	}
}

static void connect_over(int fd)
{
	uint32_t mine = s.qp[0]->qp_num, peer;
	char ready = 1;

	setup_check(write(fd, &mine, sizeof(mine)) != sizeof(mine), "write");
	setup_check(read(fd, &peer, sizeof(peer)) != sizeof(peer), "read");
	setup_connect(s.qp[0], peer);
	receive();
	/* The other side has to be ready to receive, too. */
	setup_check(write(fd, &ready, 1) != 1 || read(fd, &ready, 1) != 1, "the other process");
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000;
	struct timespec start, end;
	int pair[2], first, status = 0;
	pid_t child;

	setup_check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	child = fork(); /* before the device is opened: each process has its own */
	setup_check(child < 0, "fork");
	first = !!child;
	if (!first)
		prctl(PR_SET_PDEATHSIG, SIGTERM); /* a ball that is lost for good does not come */

	setup_device(&s, argc > 1 ? argv[1] : "mlx5_0");
	s.qp[0] = setup_qp(&s);
	close(pair[!first]);
	connect_over(pair[first]);
	clock_gettime(CLOCK_MONOTONIC, &start);
	play(first, rounds);
	clock_gettime(CLOCK_MONOTONIC, &end);
	setup_check(shutdown(pair[first], SHUT_WR), "shutdown");
	setup_check(read(pair[first], &status, 1) != 0, "the other process"); /* both have ended */
	setup_close(&s);
	if (!first)
		return 0;
	printf("%u balls came back, the last one is \"%s\"\n", rounds, s.memory);
	printf("%.1f us for a round trip\n",
	       ((end.tv_sec - start.tv_sec) * 1e6 + (end.tv_nsec - start.tv_nsec) / 1e3) / rounds);
	waitpid(child, &status, 0);
	return status;
}
