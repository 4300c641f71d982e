/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/signal.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cm/support.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct cm_signals signals = { .write_lock = PTHREAD_MUTEX_INITIALIZER };

static struct cm_signal open_signal(void)
{
	return (struct cm_signal){ .fd = eventfd(0, EFD_CLOEXEC) };
}

static int refusal; /* of preadv2(); 0: none */

/* In place of the C library's. */
ssize_t preadv2(int fd, const struct iovec *to, int count, off_t offset, int flags)
{
	if (refusal) {
		errno = refusal;
		return -1;
	}
	return syscall(SYS_preadv2, fd, to, count, offset, 0, flags);
}

static void flush(void)
{
	pthread_mutex_lock(&lock);
	cm_signals_flush(&signals, &lock);
	assert_int_equal(pthread_mutex_trylock(&lock), 0);
	pthread_mutex_unlock(&lock);
}

static void a_descriptor_becomes_readable_when_the_lock_is_released(void **state)
{
	struct cm_signal s = open_signal();

	cm_signal_raise(&signals, &s);
	cm_signal_raise(&signals, &s);
	assert_false(readable(s.fd));
	flush();
	assert_true(readable(s.fd));
	cm_signal_clear(&signals, &s);
	assert_false(readable(s.fd));
	flush();
	assert_false(readable(s.fd));
	cm_signal_close(&signals, &s);
}

static void a_signal_that_is_cleared_at_once_is_not_written(void **state)
{
	struct cm_signal s = open_signal();

	cm_signal_raise(&signals, &s);
	cm_signal_clear(&signals, &s);
	flush();
	assert_false(readable(s.fd));
	cm_signal_raise(&signals, &s);
	cm_signal_close(&signals, &s);
	assert_true(LIST_EMPTY(&signals.pending));
}

static void many_signals_are_written(void **state)
{
	struct cm_signal s[50];

	for (size_t i = 0; i < array_size(s); i++) {
		s[i] = open_signal();
		cm_signal_raise(&signals, &s[i]);
	}
	flush();
	for (size_t i = 0; i < array_size(s); i++) {
		assert_true(readable(s[i].fd));
		cm_signal_close(&signals, &s[i]);
	}
}

static void a_program_may_read_the_descriptor(void **state)
{
	struct cm_signal s = open_signal();
	eventfd_t count;

	cm_signal_raise(&signals, &s);
	flush();
	assert_int_equal(eventfd_read(s.fd, &count), 0);
	cm_signal_clear(&signals, &s);
	assert_false(readable(s.fd));
	cm_signal_close(&signals, &s);
}

static void a_kernel_without_preadv2_serves_as_well(void **state)
{
	static const int refusals[] = { EOPNOTSUPP, ENOSYS, EPERM };
	eventfd_t count;

	for (size_t i = 0; i < array_size(refusals); i++) {
		struct cm_signal s = open_signal();

		refusal = refusals[i];
		cm_signal_raise(&signals, &s);
		flush();
		cm_signal_clear(&signals, &s);
		assert_false(readable(s.fd));
		/* The program has read it: nothing blocks. */
		cm_signal_raise(&signals, &s);
		flush();
		assert_int_equal(eventfd_read(s.fd, &count), 0);
		cm_signal_clear(&signals, &s);
		cm_signal_close(&signals, &s);
	}
	refusal = 0;
}

static _Atomic bool is_writing, may_write;

/* As cm_signals_flush() between the release of the lock and the write. */
static void *write_late(void *arg)
{
	pthread_mutex_lock(&signals.write_lock);
	is_writing = true;
	while (!may_write)
		sched_yield();
	eventfd_write(*(int *)arg, 1);
	pthread_mutex_unlock(&signals.write_lock);
	return NULL;
}

static void *allow_write(void *arg)
{
	for (int i = 0; i < 1000; i++)
		sched_yield();
	may_write = true;
	return arg;
}

static void a_write_under_way_is_taken_back(void **state)
{
	struct cm_signal s = open_signal();
	pthread_t writer, other;

	s.unread = 1;
	assert_int_equal(pthread_create(&writer, NULL, write_late, &s.fd), 0);
	while (!is_writing)
		sched_yield();
	assert_int_equal(pthread_create(&other, NULL, allow_write, NULL), 0);
	cm_signal_clear(&signals, &s);
	assert_true(may_write);
	assert_false(readable(s.fd));
	pthread_join(writer, NULL);
	pthread_join(other, NULL);
	assert_false(readable(s.fd));
	cm_signal_close(&signals, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_descriptor_becomes_readable_when_the_lock_is_released),
		cmocka_unit_test(a_signal_that_is_cleared_at_once_is_not_written),
		cmocka_unit_test(many_signals_are_written),
		cmocka_unit_test(a_program_may_read_the_descriptor),
		cmocka_unit_test(a_kernel_without_preadv2_serves_as_well),
		cmocka_unit_test(a_write_under_way_is_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
