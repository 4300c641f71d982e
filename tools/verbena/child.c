/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starting and watching the program.
 */
#include "child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

/* Faults of the command itself keep their default action. */
static const int synchronous[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

static pid_t command_pid;

static void held_set(sigset_t *set)
{
	size_t i;

	sigfillset(set);
	for (i = 0; i < sizeof(synchronous) / sizeof(synchronous[0]); i++)
		sigdelset(set, synchronous[i]);
}

void signals_hold(struct signals *s)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t set;

	held_set(&set);
	sigprocmask(SIG_BLOCK, &set, &s->old_mask);
	/* The parent process may ignore SIGCHLD, and then wait() would not return a status. */
	sigaction(SIGCHLD, &dfl, &s->old_chld);
}

pid_t child_fork(const struct signals *s)
{
	pid_t pid;

	command_pid = getpid();
	pid = fork();
	if (!pid) {
		sigaction(SIGCHLD, &s->old_chld, NULL);
		sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	}
	return pid;
}

void child_follow_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != command_pid)
		_exit(EXIT_RUN_FAILED);
}

/* The terminal sends its signals to the program too; signals of other processes must be passed on. */
static bool to_pass_on(const siginfo_t *info, pid_t pid)
{
	return info->si_code <= 0 && info->si_pid != pid;
}

static void handle(const siginfo_t *info, pid_t pid)
{
	if (to_pass_on(info, pid))
		kill(pid, info->si_signo);
	/* Stop with the program, so that the shell sees its job stopped. */
	if (info->si_signo == SIGTSTP || info->si_signo == SIGTTIN || info->si_signo == SIGTTOU)
		raise(SIGSTOP);
}

int child_wait(pid_t pid, void (*tick)(void *arg), void *arg)
{
	const struct timespec period = { .tv_nsec = 50000000 };
	siginfo_t info;
	sigset_t set;
	int status;

	held_set(&set);
	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		if (sigtimedwait(&set, &info, tick ? &period : NULL) >= 0) {
			if (info.si_signo != SIGCHLD)
				handle(&info, pid);
		} else if (tick) {
			tick(arg);
		}
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int explain_not_found(const char *program)
{
	const char *path = getenv("PATH");

	if (!strchr(program, '/'))
		return say(EXIT_NOT_FOUND,
			   "there is no program '%s' in PATH (%s); install it, or give its path",
			   program, path ? path : "which is not set");
	if (access(program, F_OK))
		return say(EXIT_NOT_FOUND, "there is no file '%s'", program);
	return say(EXIT_NOT_FOUND,
		   "'%s' exists, but the interpreter or loader that it names does not", program);
}

static int explain_not_executable(const char *program, int err)
{
	struct stat st;

	if (strchr(program, '/') && !stat(program, &st)) {
		if (S_ISDIR(st.st_mode))
			return say(EXIT_NOT_EXECUTABLE, "'%s' is a directory, not a program",
				   program);
		if (err == EACCES && !(st.st_mode & 0111))
			return say(EXIT_NOT_EXECUTABLE,
				   "'%s' is not executable; make it so with chmod +x", program);
	}
	return say(EXIT_NOT_EXECUTABLE, "'%s' cannot be run: %s", program, strerror(err));
}

int child_exec(char *const argv[])
{
	execvp(argv[0], argv);
	if (errno == ENOENT || errno == ENOTDIR)
		return explain_not_found(argv[0]);
	return explain_not_executable(argv[0], errno);
}
