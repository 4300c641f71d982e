/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other processes: started before anything is opened, talked to over a socket pair.
 */
#include "rig.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct peer peer_start(void (*fn)(int fd))
{
	struct peer p;
	int fd[2];

	check_ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd));
	fflush(stdout);
	fflush(stderr);
	p.pid = fork();
	check(p.pid >= 0);
	if (!p.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd[0]);
		fn(fd[1]);
		exit(0);
	}
	close(fd[1]);
	p.fd = fd[0];
	return p;
}

void peer_join(struct peer *p)
{
	int status = 0;

	close(p->fd);
	wait_for(waitpid(p->pid, &status, WNOHANG) == p->pid);
	if (WIFSIGNALED(status))
		rig_fail(__FILE__, __LINE__, "a peer died of signal %d", WTERMSIG(status));
	check_equal(WEXITSTATUS(status), 0);
}

void peer_kill(struct peer *p)
{
	int status;

	check_ok(kill(p->pid, SIGKILL));
	check_equal(waitpid(p->pid, &status, 0), p->pid);
	check(WIFSIGNALED(status));
	close(p->fd);
}

void tell(int fd, const void *what, size_t len)
{
	check_equal(send(fd, what, len, MSG_NOSIGNAL), len);
}

void hear(int fd, void *what, size_t len)
{
	for (size_t got = 0; got < len;) {
		ssize_t n;

		/* It may have much to do before: as long as the whole test. */
		if (!is_readable(fd, TEST_MS))
			rig_fail(__FILE__, __LINE__, "the other process says nothing");
		n = read(fd, (char *)what + got, len - got);
		if (n <= 0)
			rig_fail(__FILE__, __LINE__, "the other process is gone");
		got += n;
	}
}

void tell_fd(int fd, int what)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &what, sizeof(int));
	check_equal(sendmsg(fd, &msg, MSG_NOSIGNAL), 1);
}

int hear_fd(int fd)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int got;

	check(is_readable(fd, WAIT_MS));
	check_equal(recvmsg(fd, &msg, MSG_CMSG_CLOEXEC), 1);
	check(CMSG_FIRSTHDR(&msg) && CMSG_FIRSTHDR(&msg)->cmsg_type == SCM_RIGHTS);
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(got));
	return got;
}

void tell_mark(int fd, char mark)
{
	tell(fd, &mark, 1);
}

void hear_mark(int fd, char mark)
{
	char got;

	hear(fd, &got, 1);
	check_equal(got, mark);
}

void end_meet(struct end *e, int fd)
{
	struct address mine = end_address(e), theirs;

	tell(fd, &mine, sizeof(mine));
	hear(fd, &theirs, sizeof(theirs));
	end_connect(e, &theirs);
	/* Both are ready, or the first request may meet a queue pair that is not. */
	tell_mark(fd, 'R');
	hear_mark(fd, 'R');
}

char *peer_report(void (*fn)(int fd))
{
	static char text[65536];
	char path[] = "/tmp/verbena-report-XXXXXX";
	int fd = mkstemp(path);
	struct peer peer;
	ssize_t n;

	check(fd >= 0);
	setenv("VERBENA_STAT", path, 1);
	peer = peer_start(fn);
	peer_join(&peer);
	unsetenv("VERBENA_STAT");
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	unlink(path);
	check(n > 0);
	text[n] = 0;
	return text;
}

void fork_once(void)
{
	pid_t pid = fork();
	int status;

	check(pid >= 0);
	if (!pid)
		_exit(0);
	wait_for(waitpid(pid, &status, WNOHANG) == pid);
	check_equal(status, 0);
}
