/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The victim under ptrace. A filter of seccomp stops each thread at the entry of each system call, so there is
 * one stop per call; for an exit the thread goes on with PTRACE_SYSCALL.
 */
#include "kills.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_NS (120 * 1000000000ull) /* of a victim that neither ends nor makes a call */

void traced_filter(void)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE) };
	struct sock_fprog program = { .len = 1, .filter = code };

	check_ok(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	check_ok(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static long trace(enum __ptrace_request request, pid_t tid, uintptr_t data)
{
	return ptrace(request, tid, NULL, (void *)data);
}

static void add_thread(struct traced *t, pid_t tid)
{
	for (unsigned int i = 0; i < t->threads; i++)
		if (t->thread[i] == tid)
			return;
	check(t->threads < array_size(t->thread));
	t->thread[t->threads++] = tid;
}

static void remove_thread(struct traced *t, pid_t tid)
{
	for (unsigned int i = 0; i < t->threads; i++)
		if (t->thread[i] == tid)
			t->thread[i] = t->thread[--t->threads];
}

/* Interrupts waitpid() at `end_ns`, and again and again from then on. */
static void arm(uint64_t end_ns)
{
	uint64_t now = now_ns(), left_us = end_ns > now ? (end_ns - now) / 1000 + 1 : 1;
	struct itimerval timer = { .it_interval = { .tv_usec = 5000 },
				   .it_value = { (time_t)(left_us / 1000000),
						 (suseconds_t)(left_us % 1000000) } };

	check_ok(setitimer(ITIMER_REAL, &timer, NULL));
}

/* The next report of any thread, new ones included; 0 when none has come at the time that was armed. */
static pid_t wait_report(struct traced *t, int *status, uint64_t end_ns)
{
	for (;;) {
		pid_t tid = waitpid(-1, status, __WALL);

		if (tid == t->other)
			rig_fail(__FILE__, __LINE__, "the survivor ended with status 0x%x",
				 *status);
		if (tid > 0)
			return tid;
		if (errno != EINTR)
			rig_fail(__FILE__, __LINE__, "waitpid: %s", strerror(errno));
		if (now_ns() >= end_ns)
			return 0;
	}
}

/* As wait_report(), where the end of the time is a failure. */
static pid_t must_report(struct traced *t, int *status, uint64_t end_ns)
{
	pid_t tid = wait_report(t, status, end_ns);

	if (!tid)
		rig_fail(__FILE__, __LINE__,
			 "the victim neither ends nor goes on, in phase %u after %u calls",
			 atomic_load(&board->phase), t->calls);
	return tid;
}

static void on_alarm(int signal)
{
	(void)signal;
}

void traced_start(struct traced *t, pid_t pid, pid_t other, int go)
{
	const struct sigaction action = { .sa_handler = on_alarm };

	*t = (struct traced){ .pid = pid, .other = other };
	check_ok(sigaction(SIGALRM, &action, NULL));
	if (trace(PTRACE_SEIZE, pid,
		  PTRACE_O_TRACECLONE | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD |
			  PTRACE_O_EXITKILL))
		rig_skip("ptrace is not allowed here");
	add_thread(t, pid);
	tell_mark(go, 'g');
}

/* What became of the thread; true when it is stopped at the entry of a system call. */
static bool judge(struct traced *t, pid_t tid, int status)
{
	int event = status >> 16;

	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		remove_thread(t, tid);
		if (tid == t->pid) {
			t->ended = true;
			t->status = status;
		}
		return false;
	}
	add_thread(t, tid);
	return event == PTRACE_EVENT_SECCOMP;
}

/* Goes on after a stop that means nothing here; a signal is delivered. */
static void resume(pid_t tid, int status, enum __ptrace_request how)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (event || signal == (SIGTRAP | 0x80) || signal == SIGTRAP)
		signal = 0;
	trace(how, tid, (uintptr_t)signal);
}

static bool is_end_of_thread(pid_t tid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0)
		return true;
	return info.seccomp.nr == SYS_exit || info.seccomp.nr == SYS_exit_group;
}

/* The thread goes on up to the exit of its call; other threads run meanwhile, and their calls count. */
static bool run_to_exit(struct traced *t, pid_t which)
{
	uint64_t end_ns = now_ns() + LIMIT_NS;
	int status;

	arm(end_ns);
	trace(PTRACE_SYSCALL, which, 0);
	while (!t->ended) {
		pid_t tid = must_report(t, &status, end_ns);
		bool entered = judge(t, tid, status);

		if (t->ended || WIFEXITED(status) || WIFSIGNALED(status))
			continue;
		if (tid == which && WSTOPSIG(status) == (SIGTRAP | 0x80))
			return true;
		if (entered)
			t->calls++;
		resume(tid, status, tid == which ? PTRACE_SYSCALL : PTRACE_CONT);
	}
	return false;
}

/* Single steps of one thread, while the others run. */
static bool step(struct traced *t, pid_t which, uint32_t steps)
{
	int status;

	for (uint32_t i = 0; i < steps && !t->ended; i++) {
		uint64_t end_ns = now_ns() + 50000000; /* the step may be a call that sleeps */
		pid_t tid;

		if (i % 64 == 0)
			arm(end_ns);
		trace(PTRACE_SINGLESTEP, which, 0);
		do {
			tid = wait_report(t, &status, end_ns);
			if (!tid)
				return true;
			judge(t, tid, status);
			if (t->ended)
				return false;
			if (tid != which && !WIFEXITED(status) && !WIFSIGNALED(status))
				resume(tid, status, PTRACE_CONT);
		} while (tid != which);
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return true;
	}
	return !t->ended;
}

/* All threads run for a while; `which` is stopped at first. */
static bool run_for(struct traced *t, pid_t which, uint32_t us)
{
	uint64_t end_ns = now_ns() + us * 1000ull;
	int status;

	arm(end_ns);
	trace(PTRACE_CONT, which, 0);
	while (!t->ended) {
		pid_t tid = wait_report(t, &status, end_ns);

		if (!tid)
			return true;
		if (judge(t, tid, status))
			t->calls++;
		if (!t->ended && WIFSTOPPED(status))
			resume(tid, status, PTRACE_CONT);
	}
	return false;
}

bool traced_run(struct traced *t, const struct plan *plan)
{
	uint64_t end_ns = now_ns() + LIMIT_NS;
	int status;

	arm(end_ns);
	while (!t->ended) {
		pid_t tid = must_report(t, &status, end_ns);

		if (judge(t, tid, status) && ++t->calls == plan->call) {
			if (plan->at_exit && !is_end_of_thread(tid) && !run_to_exit(t, tid))
				return false;
			if (plan->steps && !step(t, tid, plan->steps))
				return false;
			return plan->wait_us ? run_for(t, tid, plan->wait_us) : !t->ended;
		}
		if (!t->ended && WIFSTOPPED(status))
			resume(tid, status, PTRACE_CONT);
	}
	return false;
}

void traced_kill(struct traced *t)
{
	uint64_t end_ns = now_ns() + LIMIT_NS;
	int status;

	arm(end_ns);
	check_ok(kill(t->pid, SIGKILL));
	while (!t->ended) {
		pid_t tid = must_report(t, &status, end_ns);

		judge(t, tid, status);
	}
}

void traced_stop(struct traced *t)
{
	for (unsigned int i = 0; i < t->threads; i++)
		trace(PTRACE_INTERRUPT, t->thread[i], 0);
}

void traced_go_on(struct traced *t)
{
	/* Threads that have stopped and were not waited for report to traced_finish(). */
	for (unsigned int i = 0; i < t->threads; i++)
		trace(PTRACE_CONT, t->thread[i], 0);
}

void traced_finish(struct traced *t)
{
	uint64_t end_ns = now_ns() + LIMIT_NS;
	int status;

	arm(end_ns);
	while (!t->ended) {
		pid_t tid = must_report(t, &status, end_ns);

		if (judge(t, tid, status))
			t->calls++;
		if (!t->ended && WIFSTOPPED(status))
			resume(tid, status, PTRACE_CONT);
	}
}
