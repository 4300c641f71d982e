/* SPDX-License-Identifier: BSD-2-Clause */
/* Another process, which is killed. */
#include "scenario.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct hello {
	uint32_t qpn, rkey;
	uint64_t addr;
	union ibv_gid gid;
	uint16_t lid;
};

struct far_end {
	pid_t pid;
	int fd;
};

/* A queue pair that takes what comes, until the process is killed. */
static _Noreturn void far_end_main(const char *adapter, int fd)
{
	struct hello me = { 0 }, you;
	struct ibv_ah_attr to;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	a.strict = true;
	if (!open_adapter(adapter) || !open_queues() || !(qp = make_qp(IBV_QPT_RC, NULL)))
		_exit(1);
	me = (struct hello){ qp->qp_num, a.mr->rkey, (uintptr_t)a.buf, a.gid, a.lid };
	if (write(fd, &me, sizeof(me)) != sizeof(me) || read(fd, &you, sizeof(you)) != sizeof(you))
		_exit(0);
	to = address_of(&you.gid, you.lid);
	if (!connect_to(qp, you.qpn, &to))
		_exit(1);
	for (int i = 0; i < 4; i++)
		post_recv(qp, NULL, BIG);
	if (write(fd, &me, 1) != 1)
		_exit(0);
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		ibv_poll_cq(a.cq, 1, &wc);
		if (poll(&p, 1, 1) > 0)
			_exit(0); /* the other process is gone */
	}
}

static struct far_end ends[2];
static unsigned int next_end;

static void far_end_start(const char *adapter, struct far_end *far)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		abort();
	far->pid = fork();
	if (!far->pid) {
		close(fd[0]);
		far_end_main(adapter, fd[1]);
	}
	close(fd[1]);
	far->fd = fd[0];
}

void far_ends_start(const char *adapter)
{
	for (int i = 0; i < 2; i++)
		far_end_start(adapter, &ends[i]);
}

static void far_end_kill(struct far_end *far)
{
	own_begin();
	kill(far->pid, SIGKILL);
	waitpid(far->pid, NULL, 0);
	close(far->fd);
	own_end();
	far->pid = 0;
}

void far_ends_stop(void)
{
	for (int i = 0; i < 2; i++)
		if (ends[i].pid)
			far_end_kill(&ends[i]);
}

void part_other_process(void)
{
	struct far_end *far = &ends[next_end++];
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, NULL);
	struct hello you, me = { .gid = a.gid, .lid = a.lid };
	struct ibv_ah_attr to;
	char ready;

	if (!qp || OWN(read(far->fd, &you, sizeof(you))) != sizeof(you))
		goto end;
	me.qpn = qp->qp_num;
	to = address_of(&you.gid, you.lid);
	if (!connect_to(qp, you.qpn, &to) || OWN(write(far->fd, &me, sizeof(me))) != sizeof(me) ||
	    OWN(read(far->fd, &ready, 1)) != 1)
		goto end;
	post(qp, &wr, 64);
	post(qp, &wr, BIG);
	post_rdma(qp, IBV_WR_RDMA_WRITE, 4096, you.addr, you.rkey);
	post_rdma(qp, IBV_WR_RDMA_READ, 4096, you.addr, you.rkey);
	reap("another process", receives_come(), true);
	far_end_kill(far);
	post(qp, &wr, 64);
	if (!a.strict)
		reap("a dead process", false, false);
end:
	if (far->pid)
		far_end_kill(far);
	end_qps(qp, NULL);
}
