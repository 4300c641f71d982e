/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process ends while one of its threads holds the lock of librdmacm, as in a signal handler that calls exit(). It does not
 * wait for long, also when the time of day jumps meanwhile.
 */
#include "cmocka_all.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cm/state.h"

#define YEAR       31536000
#define PATIENCE_S 30

static bool jumps;

/* Stands in front of libc's: the time of day is a year ahead of the kernel's, by which the kernel waits. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ts);

	if (!rc && jumps && id == CLOCK_REALTIME)
		ts->tv_sec += YEAR;
	return rc;
}

static void exit_with_the_lock(bool jumping)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		jumps = jumping;
		alarm(PATIENCE_S);
		pthread_mutex_lock(&cm.lock);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
}

static void an_exit_under_the_lock_does_not_hang(void **state)
{
	(void)state;
	exit_with_the_lock(false);
}

static void an_exit_under_the_lock_does_not_follow_the_time_of_day(void **state)
{
	(void)state;
	exit_with_the_lock(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exit_under_the_lock_does_not_hang),
		cmocka_unit_test(an_exit_under_the_lock_does_not_follow_the_time_of_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
