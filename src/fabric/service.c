/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service thread; see service.h. fabric.service.lock guards the posted work, the table of watched
 * descriptors and starting the thread; it is not held during callbacks. timer_lock guards the armed
 * deadline and the timerfd.
 */
#include "fabric/service.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/share.h"
#include "fabric/state.h"
#include "util/explain.h"

#define EVENTS      32
#define STACK_BYTES (512u << 10)
#define SLICE_NS    100000u /* the shortest that the scheduler has */
#define NO_CALLBACK SIZE_MAX
#define ROUNDS      4 /* iterations in a row, while each one posts work */

struct service_work {
	STAILQ_ENTRY(service_work) entry;
	void (*fn)(void *arg);
	void *arg;
};

struct service_watch {
	int fd; /* -1 while the entry is free */
	uint32_t generation;
	bool absent; /* not in the epoll set: no events are wanted */
	void (*cb)(void *arg, uint32_t events);
	void *arg;
};

int fabric_service_wake_fd(void)
{
	return fabric.service.wake;
}

void fabric_service_wake(void)
{
	const uint64_t one = 1;

	/* [T1] pairs with take_wake(): the iteration sees what was posted before */
	if (atomic_exchange_explicit(&fabric.service.wake_pending, true, memory_order_seq_cst))
		return;
	/* Nothing will take a wake-up that was not written: the next caller writes again. [T1] */
	if (write(fabric.service.wake, &one, sizeof(one)) < 0)
		atomic_store_explicit(&fabric.service.wake_pending, false, memory_order_seq_cst);
}

bool fabric_service_wake_if_running(void)
{
	if (!atomic_load(&fabric.service.running))
		return false;
	fabric_service_wake();
	return true;
}

/* ---- descriptors ---- */

static void take_wake(void *arg, uint32_t events)
{
	uint64_t count;

	if (read(fabric.service.wake, &count, sizeof(count)) < 0)
		return;
	/* [T1] */
	atomic_exchange_explicit(&fabric.service.wake_pending, false, memory_order_seq_cst);
}

/* Service lock held. */
static struct service_watch *find_watch(int fd)
{
	for (size_t i = 0; i < fabric.service.watches.count; i++)
		if (fabric.service.watches.data[i].fd == fd)
			return &fabric.service.watches.data[i];
	return NULL;
}

static struct service_watch *new_watch(void)
{
	struct service_watch *unused = find_watch(-1);

	if (unused)
		return unused;
	if (array_push(&fabric.service.watches, ((struct service_watch){ .fd = -1 })))
		return NULL;
	return &fabric.service.watches.data[fabric.service.watches.count - 1];
}

/* The data of an epoll event: a watch that was replaced has another generation. */
static uint64_t event_id(const struct service_watch *watch, uint32_t generation)
{
	return (uint64_t)generation << 32 | (uint32_t)(watch - fabric.service.watches.data);
}

static int add_fd(int fd, uint32_t events, void (*cb)(void *arg, uint32_t events), void *arg)
{
	struct epoll_event event = { .events = events };
	struct service_watch *watch, *stale;
	int err = 0;

	pthread_mutex_lock(&fabric.service.lock);
	stale = find_watch(fd);
	watch = stale ? stale : new_watch();
	if (!watch) {
		err = -ENOMEM;
		goto unlock;
	}
	event.data.u64 = event_id(watch, watch->generation + 1);
	/* The number may be of a file that was closed meanwhile, and that epoll has removed. */
	if (epoll_ctl(fabric.service.epoll, EPOLL_CTL_ADD, fd, &event)) {
		err = -errno;
		goto unlock;
	}
	*watch = (struct service_watch){
		.fd = fd, .generation = watch->generation + 1, .cb = cb, .arg = arg
	};
unlock:
	pthread_mutex_unlock(&fabric.service.lock);
	return err;
}

int fabric_service_add_fd(int fd, uint32_t events, void (*cb)(void *arg, uint32_t events),
			  void *arg)
{
	int err = fabric_service_start();

	return err ? err : add_fd(fd, events, cb, arg);
}

/*
 * A descriptor for which no events are wanted leaves the epoll set: otherwise each packet that
 * arrives would still go through epoll, which costs its sender a third of a microsecond.
 */
int fabric_service_mod_fd(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };
	struct service_watch *watch;
	int err = 0;

	pthread_mutex_lock(&fabric.service.lock);
	watch = fd >= 0 ? find_watch(fd) : NULL;
	if (watch) {
		int op = !events ? EPOLL_CTL_DEL : watch->absent ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

		event.data.u64 = event_id(watch, watch->generation);
		if (!events && watch->absent)
			err = 0;
		else if (epoll_ctl(fabric.service.epoll, op, fd, &event))
			err = -errno;
		else
			watch->absent = !events;
	} else {
		err = -ENOENT;
	}
	pthread_mutex_unlock(&fabric.service.lock);
	return err;
}

int fabric_service_del_fd(int fd)
{
	struct service_watch *watch;
	size_t index;
	int err = -ENOENT;

	pthread_mutex_lock(&fabric.service.lock);
	watch = fd >= 0 ? find_watch(fd) : NULL;
	if (watch) {
		err = 0;
		index = (size_t)(watch - fabric.service.watches.data);
		epoll_ctl(fabric.service.epoll, EPOLL_CTL_DEL, fd, NULL);
		watch->fd = -1;
		while (fabric.service.in_callback == index && !fabric_service_is_self())
			pthread_cond_wait(&fabric.service.callback_done, &fabric.service.lock);
	}
	pthread_mutex_unlock(&fabric.service.lock);
	return err;
}

static void dispatch(const struct epoll_event *event)
{
	uint32_t index = (uint32_t)event->data.u64;
	struct service_watch watch = { .fd = -1 };

	pthread_mutex_lock(&fabric.service.lock);
	/* An earlier callback of this batch may have removed it. */
	if (index < fabric.service.watches.count && fabric.service.watches.data[index].fd >= 0 &&
	    fabric.service.watches.data[index].generation == event->data.u64 >> 32) {
		watch = fabric.service.watches.data[index];
		fabric.service.in_callback = index;
	}
	pthread_mutex_unlock(&fabric.service.lock);
	if (watch.fd < 0)
		return;
	watch.cb(watch.arg, event->events);
	pthread_mutex_lock(&fabric.service.lock);
	fabric.service.in_callback = NO_CALLBACK;
	pthread_cond_broadcast(&fabric.service.callback_done);
	pthread_mutex_unlock(&fabric.service.lock);
}

/* ---- posted work ---- */

int fabric_service_run(void (*fn)(void *arg), void *arg)
{
	struct service_work *work;
	int err = fabric_service_start();

	if (err)
		return err;
	work = malloc(sizeof(*work));
	if (!work)
		return -ENOMEM;
	*work = (struct service_work){ .fn = fn, .arg = arg };
	pthread_mutex_lock(&fabric.service.lock);
	STAILQ_INSERT_TAIL(&fabric.service.work, work, entry);
	pthread_mutex_unlock(&fabric.service.lock);
	/* The service thread looks for work before it sleeps. */
	if (!fabric_service_is_self())
		fabric_service_wake();
	return 0;
}

static bool has_work(void)
{
	bool has;

	pthread_mutex_lock(&fabric.service.lock);
	has = !STAILQ_EMPTY(&fabric.service.work);
	pthread_mutex_unlock(&fabric.service.lock);
	return has;
}

/* Work that is posted meanwhile waits for the next call. */
static void run_work(void)
{
	STAILQ_HEAD(, service_work) batch = STAILQ_HEAD_INITIALIZER(batch);
	struct service_work *work;

	pthread_mutex_lock(&fabric.service.lock);
	STAILQ_CONCAT(&batch, &fabric.service.work);
	pthread_mutex_unlock(&fabric.service.lock);
	while ((work = STAILQ_FIRST(&batch))) {
		STAILQ_REMOVE_HEAD(&batch, entry);
		work->fn(work->arg);
		free(work);
	}
}

/* ---- the timer ---- */

void fabric_service_set_deadline(uint64_t ns)
{
	struct itimerspec at = { 0 };

	if (ns >= atomic_load_explicit(&fabric.service.armed_ns, memory_order_relaxed) ||
	    fabric_service_start())
		return;
	if (!ns)
		ns = 1; /* 0 would disarm */
	fabric_lock(&fabric.service.timer_lock);
	if (ns < atomic_load_explicit(&fabric.service.armed_ns, memory_order_relaxed)) {
		at.it_value.tv_sec = (time_t)(ns / 1000000000u);
		at.it_value.tv_nsec = (long)(ns % 1000000000u);
		atomic_store_explicit(&fabric.service.armed_ns, ns, memory_order_relaxed);
		timerfd_settime(fabric.service.timer, TFD_TIMER_ABSTIME, &at, NULL);
	}
	fabric_unlock(&fabric.service.timer_lock);
}

static void take_timer(void *arg, uint32_t events)
{
	uint64_t count;

	fabric_lock(&fabric.service.timer_lock);
	if (read(fabric.service.timer, &count, sizeof(count)) < 0) {
		/* It was set to a later time after it fired. */
		fabric_unlock(&fabric.service.timer_lock);
		return;
	}
	/* Before the timers run: a thread that adds one from here on arms the timerfd itself. */
	atomic_store_explicit(&fabric.service.armed_ns, UINT64_MAX, memory_order_relaxed);
	fabric_unlock(&fabric.service.timer_lock);
	fabric_service_set_deadline(fabric.config.timers(fabric_now_ns()));
}

/* ---- the thread ---- */

static int wait_ms(uint64_t next_ns)
{
	uint64_t now_ns;

	if (next_ns == UINT64_MAX)
		return -1;
	now_ns = fabric_now_ns();
	if (next_ns <= now_ns)
		return 0;
	/* Rounded up, or the loop would spin through the last part of a millisecond. */
	next_ns = (next_ns - now_ns + 999999) / 1000000;
	return next_ns > 60000 ? 60000 : (int)next_ns;
}

/*
 * The CPUs of the process. By the time it opens a device, the calling thread may have bound itself
 * to one of them, to poll there (DPDK does), and the service thread would inherit that.
 */
__attribute__((constructor)) static void note_cpus(void)
{
	fabric.service.cpus_known =
		!sched_getaffinity(0, sizeof(fabric.service.cpus), &fabric.service.cpus);
}

/*
 * The service thread has little to do at a time, and a thread that polls waits for it, often on the
 * same core. Kernels from 6.12 on run a thread that wakes up before a running one if its time slice
 * is shorter (earlier kernels ignore the wish); otherwise the polling thread first uses up its own.
 * The share of CPU time stays the same. glibc 2.36 has no sched_setattr().
 */
static void request_short_slice(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t slice_ns, deadline, period;
	} attr = { .size = sizeof(attr), .policy = SCHED_OTHER, .slice_ns = SLICE_NS };

	/* Another policy was chosen on purpose. */
	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	attr.nice = getpriority(PRIO_PROCESS, 0);
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* Iterations while each one posts work, at most ROUNDS before descriptors are watched. Returns ms to sleep. */
static int run_iteration(void)
{
	uint64_t next_ns = 0;
	bool more = true;

	for (int round = 0; round < ROUNDS && more; round++) {
		run_work();
		next_ns = fabric.service.iterate(fabric_now_ns());
		more = has_work();
	}
	return more ? 0 : wait_ms(next_ns);
}

static void *service_main(void *arg)
{
	struct epoll_event events[EVENTS];

	fabric_thread.is_service = true;
	pthread_setname_np(pthread_self(), "verbena");
	/* If that fails (some are no longer allowed), the CPUs of the starting thread stay. */
	if (fabric.service.cpus_known)
		pthread_setaffinity_np(pthread_self(), sizeof(fabric.service.cpus),
				       &fabric.service.cpus);
	request_short_slice();
	share_thread_begin();
	pthread_mutex_lock(&fabric.service.awake);
	while (!atomic_load(&fabric.service.stop)) {
		int timeout, n;

		timeout = run_iteration();
		pthread_mutex_unlock(&fabric.service.awake);
		share_thread_idle();
		n = epoll_wait(fabric.service.epoll, events, EVENTS, timeout);
		share_thread_busy();
		pthread_mutex_lock(&fabric.service.awake);
		fabric_count(FABRIC_COUNT_WAKEUPS, 1);
		for (int i = 0; i < n; i++)
			dispatch(&events[i]);
	}
	run_work();
	fabric.service.finish();
	pthread_mutex_unlock(&fabric.service.awake);
	share_thread_end();
	return NULL;
}

static int start_thread(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int err;

	err = pthread_attr_init(&attr);
	if (err)
		return -err;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&fabric.service.thread, &attr, service_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		return 0;
	return explain(err, "the adapter's thread cannot be started: %s%s", strerror(err),
		       err == EAGAIN
			       ? "; ulimit -u, or the pids.max of the control group, must be higher"
			       : "");
}

int fabric_service_start(void)
{
	int err = 0;

	if (likely(atomic_load_explicit(&fabric.service.running, memory_order_acquire)))
		return 0;
	pthread_mutex_lock(&fabric.service.lock);
	if (fabric.service.epoll < 0)
		err = -ENOTCONN;
	else if (!atomic_load(&fabric.service.running))
		err = start_thread();
	if (!err)
		atomic_store(&fabric.service.running, true);
	pthread_mutex_unlock(&fabric.service.lock);
	return err;
}

/* ---- begin and end ---- */

static void close_fds(void)
{
	int *fds[] = { &fabric.service.epoll, &fabric.service.wake, &fabric.service.timer };

	for (size_t i = 0; i < array_size(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

int fabric_service_init(uint64_t (*iterate)(uint64_t now_ns), void (*finish)(void))
{
	int err;

	fabric.service.iterate = iterate;
	fabric.service.finish = finish;
	fabric.service.epoll = epoll_create1(EPOLL_CLOEXEC);
	fabric.service.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fabric.service.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fabric.service.epoll < 0 || fabric.service.wake < 0 || fabric.service.timer < 0) {
		err = explain(errno, "no descriptor left for the adapter's thread: %s",
			      strerror(errno));
		goto close_all;
	}
	atomic_store(&fabric.service.stop, false);
	atomic_store(&fabric.service.wake_pending, false);
	atomic_store(&fabric.service.armed_ns, UINT64_MAX);
	err = add_fd(fabric.service.wake, EPOLLIN, take_wake, NULL);
	if (!err)
		err = add_fd(fabric.service.timer, EPOLLIN, take_timer, NULL);
	if (!err)
		return 0;
close_all:
	close_fds();
	return err;
}

static void reset(void)
{
	struct service_work *work;

	close_fds();
	while ((work = STAILQ_FIRST(&fabric.service.work))) {
		STAILQ_REMOVE_HEAD(&fabric.service.work, entry);
		free(work);
	}
	array_fini(&fabric.service.watches);
	fabric.service.in_callback = NO_CALLBACK;
}

void fabric_service_fini(void)
{
	if (atomic_load(&fabric.service.running)) {
		atomic_store(&fabric.service.stop, true);
		fabric_service_wake();
		pthread_join(fabric.service.thread, NULL);
		atomic_store(&fabric.service.running, false);
	}
	reset();
}

void fabric_service_forked(void)
{
	atomic_store(&fabric.service.running, false);
	reset();
	pthread_cond_init(&fabric.service.callback_done, NULL);
}
