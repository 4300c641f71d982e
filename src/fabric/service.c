/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service thread: one epoll loop for the wake-up eventfd, the timer, the listening socket, the
 * links' sockets and whatever others add. It starts when fabric_service_need() is first called.
 *
 * service.lock guards the posted work, the table of watched descriptors and starting the thread;
 * it is not held during callbacks. timer_lock guards the armed deadline and the timerfd.
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
#include <time.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/epoch_priv.h"
#include "fabric/link_priv.h"
#include "fabric/service_priv.h"
#include "fabric/share.h"
#include "util/explain.h"

#define EVENTS       32
#define STACK_BYTES  (512u << 10)
#define RECLAIM_NS   1000000u
#define WATCH_NOBODY UINT32_MAX
#define SLICE_NS     100000u /* the shortest that there is */

struct work {
	struct work *next;
	void (*fn)(void *arg);
	void *arg;
};

struct watch {
	int fd; /* -1 while the place is free */
	uint32_t generation;
	bool absent; /* not in the epoll set: nothing is waited for */
	void (*cb)(void *arg, uint32_t events);
	void *arg;
};

static struct {
	pthread_mutex_t turn; /* held by the thread whenever it does not sleep, for fork */
	pthread_mutex_t lock;
	pthread_cond_t idle; /* a callback has returned */
	pthread_t thread;
	_Atomic bool running; /* set and cleared under lock */
	_Atomic bool stop;
	int epoll, wake, timer;
	_Atomic bool wake_pending;
	struct work *first, **last;
	struct watch *watches;
	uint32_t watch_count;
	uint32_t in_callback; /* index, or WATCH_NOBODY */
	struct fabric_lock timer_lock;
	_Atomic uint64_t armed_ns;
} service = {
	.turn = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.idle = PTHREAD_COND_INITIALIZER,
	.epoll = -1,
	.wake = -1,
	.timer = -1,
	.last = &service.first,
	.in_callback = WATCH_NOBODY,
	.armed_ns = UINT64_MAX,
};

uint64_t fabric_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

_Thread_local bool fabric_is_service;

int fabric_service_wake_fd(void)
{
	return service.wake;
}

void fabric_service_wake(void)
{
	const uint64_t one = 1;

	/* [T1] pairs with take_wake(): what was posted before is seen by the turn */
	if (!atomic_exchange_explicit(&service.wake_pending, true, memory_order_seq_cst) &&
	    write(service.wake, &one, sizeof(one)) < 0)
		return;
}

/* ---- descriptors ---- */

static void take_wake(void *arg, uint32_t events)
{
	uint64_t count;

	if (read(service.wake, &count, sizeof(count)) < 0)
		return;
	/* [T1] */
	atomic_exchange_explicit(&service.wake_pending, false, memory_order_seq_cst);
}

/* Service lock held. */
static struct watch *find_watch(int fd)
{
	for (uint32_t i = 0; i < service.watch_count; i++)
		if (service.watches[i].fd == fd)
			return &service.watches[i];
	return NULL;
}

static struct watch *new_watch(void)
{
	uint32_t count = service.watch_count, grown = count ? 2 * count : 16;
	struct watch *watches, *free_one = find_watch(-1);

	if (free_one)
		return free_one;
	watches = realloc(service.watches, grown * sizeof(*watches));
	if (!watches)
		return NULL;
	for (uint32_t i = count; i < grown; i++)
		watches[i] = (struct watch){ .fd = -1 };
	service.watches = watches;
	service.watch_count = grown;
	return &watches[count];
}

static int add_fd(int fd, uint32_t events, void (*cb)(void *arg, uint32_t events), void *arg)
{
	struct epoll_event event = { .events = events };
	struct watch *watch, *stale;
	int err = 0;

	pthread_mutex_lock(&service.lock);
	stale = find_watch(fd);
	watch = stale ? stale : new_watch();
	if (!watch) {
		err = -ENOMEM;
		goto unlock;
	}
	event.data.u64 =
		(uint64_t)(watch->generation + 1) << 32 | (uint32_t)(watch - service.watches);
	/* The number may be known from a file that was closed; the kernel has forgotten that. */
	if (epoll_ctl(service.epoll, EPOLL_CTL_ADD, fd, &event)) {
		err = -errno;
		goto unlock;
	}
	*watch = (struct watch){
		.fd = fd, .generation = watch->generation + 1, .cb = cb, .arg = arg
	};
unlock:
	pthread_mutex_unlock(&service.lock);
	return err;
}

int fabric_service_add_fd(int fd, uint32_t events, void (*cb)(void *arg, uint32_t events),
			  void *arg)
{
	int err = fabric_service_need();

	return err ? err : add_fd(fd, events, cb, arg);
}

/*
 * What is not waited for leaves the set: were it to stay with no events asked for, whatever comes
 * would still walk through epoll on its way in, which costs a packet's sender a third of a
 * microsecond.
 */
int fabric_service_mod_fd(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };
	struct watch *watch;
	int err = 0;

	pthread_mutex_lock(&service.lock);
	watch = fd >= 0 ? find_watch(fd) : NULL;
	if (watch) {
		int op = !events ? EPOLL_CTL_DEL : watch->absent ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

		event.data.u64 =
			(uint64_t)watch->generation << 32 | (uint32_t)(watch - service.watches);
		if (!events && watch->absent)
			err = 0;
		else if (epoll_ctl(service.epoll, op, fd, &event))
			err = -errno;
		else
			watch->absent = !events;
	} else {
		err = -ENOENT;
	}
	pthread_mutex_unlock(&service.lock);
	return err;
}

int fabric_service_del_fd(int fd)
{
	struct watch *watch;
	uint32_t index;
	int err = -ENOENT;

	pthread_mutex_lock(&service.lock);
	watch = fd >= 0 ? find_watch(fd) : NULL;
	if (watch) {
		err = 0;
		index = (uint32_t)(watch - service.watches);
		epoll_ctl(service.epoll, EPOLL_CTL_DEL, fd, NULL);
		watch->fd = -1;
		while (service.in_callback == index && !fabric_service_is_self())
			pthread_cond_wait(&service.idle, &service.lock);
	}
	pthread_mutex_unlock(&service.lock);
	return err;
}

static void dispatch(const struct epoll_event *event)
{
	uint32_t index = (uint32_t)event->data.u64;
	struct watch watch = { .fd = -1 };

	pthread_mutex_lock(&service.lock);
	/* An earlier callback of this batch may have removed it. */
	if (index < service.watch_count && service.watches[index].fd >= 0 &&
	    service.watches[index].generation == event->data.u64 >> 32) {
		watch = service.watches[index];
		service.in_callback = index;
	}
	pthread_mutex_unlock(&service.lock);
	if (watch.fd < 0)
		return;
	watch.cb(watch.arg, event->events);
	pthread_mutex_lock(&service.lock);
	service.in_callback = WATCH_NOBODY;
	pthread_cond_broadcast(&service.idle);
	pthread_mutex_unlock(&service.lock);
}

/* ---- posted work ---- */

int fabric_service_run(void (*fn)(void *arg), void *arg)
{
	struct work *work;
	int err = fabric_service_need();

	if (err)
		return err;
	work = malloc(sizeof(*work));
	if (!work)
		return -ENOMEM;
	*work = (struct work){ .fn = fn, .arg = arg };
	pthread_mutex_lock(&service.lock);
	*service.last = work;
	service.last = &work->next;
	pthread_mutex_unlock(&service.lock);
	fabric_service_wake();
	return 0;
}

static void run_work(void)
{
	struct work *work, *next;

	pthread_mutex_lock(&service.lock);
	work = service.first;
	service.first = NULL;
	service.last = &service.first;
	pthread_mutex_unlock(&service.lock);
	for (; work; work = next) {
		next = work->next;
		work->fn(work->arg);
		free(work);
	}
}

/* ---- the timer ---- */

void fabric_service_set_deadline(uint64_t ns)
{
	struct itimerspec at = { 0 };

	if (ns >= atomic_load_explicit(&service.armed_ns, memory_order_relaxed) ||
	    fabric_service_need())
		return;
	if (!ns)
		ns = 1; /* 0 would disarm */
	fabric_lock(&service.timer_lock);
	if (ns < atomic_load_explicit(&service.armed_ns, memory_order_relaxed)) {
		at.it_value.tv_sec = (time_t)(ns / 1000000000u);
		at.it_value.tv_nsec = (long)(ns % 1000000000u);
		atomic_store_explicit(&service.armed_ns, ns, memory_order_relaxed);
		timerfd_settime(service.timer, TFD_TIMER_ABSTIME, &at, NULL);
	}
	fabric_unlock(&service.timer_lock);
}

static void take_timer(void *arg, uint32_t events)
{
	uint64_t count;

	fabric_lock(&service.timer_lock);
	if (read(service.timer, &count, sizeof(count)) < 0) {
		/* Set to a later time since it fired. */
		fabric_unlock(&service.timer_lock);
		return;
	}
	/* Before the timers are looked at: who adds one from here on arms the clock itself. */
	atomic_store_explicit(&service.armed_ns, UINT64_MAX, memory_order_relaxed);
	fabric_unlock(&service.timer_lock);
	fabric_service_set_deadline(fabric_config.timers(fabric_now_ns()));
}

/* ---- the thread ---- */

static uint64_t take_turn(uint64_t now_ns)
{
	uint64_t next, other;

	run_work();
	next = fabric_links_turn(now_ns);
	other = fabric_poll_turn(now_ns);
	if (other < next)
		next = other;
	other = fabric_config.turn ? fabric_config.turn(now_ns) : UINT64_MAX;
	if (other < next)
		next = other;
	if (fabric_epoch_reclaim() && now_ns + RECLAIM_NS < next)
		next = now_ns + RECLAIM_NS;
	return next;
}

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
 * The CPUs that the program was given. Who opens a device may have bound itself to one of them by
 * then, to spin there (DPDK does); an adapter is not bound by that.
 */
static struct {
	cpu_set_t set;
	bool known;
} cpus;

__attribute__((constructor)) static void note_cpus(void)
{
	cpus.known = !sched_getaffinity(0, sizeof(cpus.set), &cpus.set);
}

/*
 * We have little to do at a time, and a program that spins on its rings waits for it, on this core
 * as likely as not. The kernel lets who is woken go before who runs if its slice is the shorter one
 * (from 6.12 on; earlier kernels do not know the wish), else the spinning program has to use up
 * its own first. Asks for nothing that is not everybody's: the share of the processor stays the same.
 */
static void hurry(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t slice_ns, deadline, period;
	} attr = { .size = sizeof(attr), .policy = SCHED_OTHER, .slice_ns = SLICE_NS };

	/* Whoever runs under another policy was put there on purpose. */
	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	attr.nice = getpriority(PRIO_PROCESS, 0);
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void *service_main(void *arg)
{
	struct epoll_event events[EVENTS];

	fabric_is_service = true;
	pthread_setname_np(pthread_self(), "verbena");
	/* Where some of them are no longer allowed, those of the thread that started us will do. */
	if (cpus.known)
		pthread_setaffinity_np(pthread_self(), sizeof(cpus.set), &cpus.set);
	hurry();
	share_thread_begin();
	pthread_mutex_lock(&service.turn);
	while (!atomic_load(&service.stop)) {
		int timeout = wait_ms(take_turn(fabric_now_ns()));
		int n;

		pthread_mutex_unlock(&service.turn);
		share_thread_rest();
		n = epoll_wait(service.epoll, events, EVENTS, timeout);
		share_thread_work();
		pthread_mutex_lock(&service.turn);
		fabric_count(FABRIC_COUNT_WAKEUPS, 1);
		for (int i = 0; i < n; i++)
			dispatch(&events[i]);
	}
	run_work();
	fabric_links_shutdown();
	pthread_mutex_unlock(&service.turn);
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
	err = pthread_create(&service.thread, &attr, service_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return err ? explain(err, "the adapter's thread cannot be started: %s", strerror(err)) : 0;
}

int fabric_service_need(void)
{
	int err = 0;

	if (likely(atomic_load_explicit(&service.running, memory_order_acquire)))
		return 0;
	pthread_mutex_lock(&service.lock);
	if (service.epoll < 0)
		err = -ENOTCONN;
	else if (!atomic_load(&service.running))
		err = start_thread();
	if (!err)
		atomic_store(&service.running, true);
	pthread_mutex_unlock(&service.lock);
	return err;
}

void fabric_epoch_retired(void)
{
	if (atomic_load(&service.running))
		fabric_service_wake();
	else
		fabric_epoch_reclaim();
}

/* ---- begin and end ---- */

static void close_fds(void)
{
	int *fds[] = { &service.epoll, &service.wake, &service.timer };

	for (size_t i = 0; i < array_size(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

int fabric_service_init(void)
{
	int err;

	service.epoll = epoll_create1(EPOLL_CLOEXEC);
	service.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	service.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (service.epoll < 0 || service.wake < 0 || service.timer < 0) {
		err = explain(errno, "no descriptor left for the adapter's thread: %s",
			      strerror(errno));
		goto close_all;
	}
	atomic_store(&service.stop, false);
	atomic_store(&service.wake_pending, false);
	atomic_store(&service.armed_ns, UINT64_MAX);
	err = add_fd(service.wake, EPOLLIN, take_wake, NULL);
	if (!err)
		err = add_fd(service.timer, EPOLLIN, take_timer, NULL);
	if (!err)
		return 0;
close_all:
	close_fds();
	return err;
}

static void forget(void)
{
	struct work *work;

	close_fds();
	while ((work = service.first)) {
		service.first = work->next;
		free(work);
	}
	service.last = &service.first;
	free(service.watches);
	service.watches = NULL;
	service.watch_count = 0;
	service.in_callback = WATCH_NOBODY;
}

void fabric_service_fini(void)
{
	if (atomic_load(&service.running)) {
		atomic_store(&service.stop, true);
		fabric_service_wake();
		pthread_join(service.thread, NULL);
		atomic_store(&service.running, false);
	}
	fabric_epoch_reclaim();
	forget();
}

void fabric_service_fork_prepare_turn(void)
{
	pthread_mutex_lock(&service.turn);
}

void fabric_service_fork_prepare(void)
{
	pthread_mutex_lock(&service.lock);
	fabric_lock(&service.timer_lock);
}

void fabric_service_fork_parent(void)
{
	fabric_unlock(&service.timer_lock);
	pthread_mutex_unlock(&service.lock);
	pthread_mutex_unlock(&service.turn);
}

void fabric_service_fork_child(void)
{
	fabric_unlock(&service.timer_lock);
	atomic_store(&service.running, false);
	forget();
	pthread_cond_init(&service.idle, NULL);
	pthread_mutex_unlock(&service.lock);
	pthread_mutex_unlock(&service.turn);
}
