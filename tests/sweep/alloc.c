/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep-alloc [SECONDS | all | once N | on N]: runs the scenario with the N-th allocation failing, and with
 * all from the N-th on, each in a process of its own: for every N, or for as many, evenly spread, as
 * fit into so many seconds (10). Afterwards the scenario has to succeed in the same process, and as many
 * allocations be left as without a failure.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "alloc_hook.h"
#include "scenario.h"

#define LIMIT_S 120

/* Results of a run without a failure, from its process. */
static struct shared {
	long allocations, live;
} * shared;

/* The service thread frees a little later. */
static bool settles_at(long most)
{
	for (int i = 0; i < 5000 && alloc_hook_live() > most; i++)
		usleep(1000);
	return alloc_hook_live() <= most;
}

static int run(long n, bool all)
{
	struct far_end *first = far_end_start(), *second = far_end_start();
	int problems;

	alloc_hook_arm(n, all);
	problems = scenario_run(first, !n);
	shared->allocations = alloc_hook_disarm();
	if (n && shared->allocations < n)
		return 0; /* there was no such allocation this time */
	problems += scenario_run(second, true);
	if (!n) {
		/* Objects that the service thread has not freed yet are no leak. */
		usleep(200000);
		shared->live = alloc_hook_live();
	} else if (!settles_at(shared->live)) {
		fprintf(stderr, "problem: %ld allocations are left, not %ld\n", alloc_hook_live(),
			shared->live);
		problems++;
	}
	if (problems && n)
		alloc_hook_print();
	return problems ? 1 : 0;
}

static void on_signal(int sig)
{
	alloc_hook_print();
	signal(sig, SIG_DFL);
	raise(sig);
}

static bool run_apart(long n, bool all)
{
	const char *how = all ? "on" : "once";
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		signal(SIGALRM, on_signal);
		signal(SIGABRT, on_signal);
		signal(SIGSEGV, on_signal);
		alarm(LIMIT_S);
		_exit(run(n, all));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	if (!status)
		return true;
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s %ld: %s\n", how, n,
			WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "%s %ld: fails\n", how, n);
	return false;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Numbers in an order in which the first ones are spread evenly, whatever the last one is. */
static long spread(long i, long count)
{
	return 1 + (long)((i * 0x9e3779b1ul) % (unsigned long)count);
}

static int sweep(double limit_s)
{
	double end = seconds() + limit_s;
	long count = shared->allocations, runs = 0, bad = 0;

	for (long i = 0; i < count && (limit_s == 0 || seconds() < end); i++, runs++)
		for (int all = 0; all < 2; all++) {
			bad += !run_apart(limit_s == 0 ? i + 1 : spread(i, count), all);
			if (bad > 20)
				return 1;
			if (limit_s == 0 && !(i % 200) && !all)
				fprintf(stderr, "%ld of %ld\n", i, count);
		}
	printf("%ld of %ld allocations failed, once and from there on; %ld runs went wrong\n", runs,
	       count, bad);
	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "10";

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || !run_apart(0, false))
		return 1;
	printf("%ld allocations\n", shared->allocations);
	if (argc > 2)
		return !run_apart(strtol(argv[2], NULL, 0), !strcmp(what, "on"));
	return sweep(strcmp(what, "all") ? strtod(what, NULL) : 0);
}
