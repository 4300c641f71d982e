/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two tests. Before spinning: no more threads run than there are processors, and this thread may use
 * more than one of them. Afterwards: the thread had the processor all the time. If not, another
 * thread shares the core, and spinning is banned for a while, each time for longer.
 */
#include "hca/queue/spin_policy.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "hca/hca.h"

#define CROWDED_CHECKS 3u             /* in excess of others, before spin_is_room() is false */
#define CHECK_NS       20000000ull    /* between two counts of threads that run */
#define BAN_MAX_NS     10000000000ull /* SPIN_BAN_NS is the first */
#define FORGIVE_NS     100000000ull   /* of undisturbed spinning, and the next ban is short again */
#define LOST_MIN_NS    20000u         /* more than interrupts take */

/* Threads of the whole machine that are runnable; 0 when the kernel does not tell. */
static unsigned int running(void)
{
	char text[64];
	unsigned int count = 0;
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return sscanf(text, "%*s %*s %*s %u/", &count) == 1 ? count : 0;
}

static bool has_idle_processor(void)
{
	cpu_set_t mine;

	if (sched_getaffinity(0, sizeof(mine), &mine) || CPU_COUNT(&mine) < 2)
		return false;
	return running() <= (unsigned long)sysconf(_SC_NPROCESSORS_ONLN);
}

bool spin_any(uint64_t now_ns)
{
	struct spin_policy_state *p = &hca.queue.spin_policy;

	if (now_ns < p->banned_until_ns)
		return false;
	if (now_ns >= p->check_at_ns) {
		p->idle_processor = has_idle_processor();
		p->check_at_ns = now_ns + CHECK_NS;
	}
	return p->idle_processor;
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void spin_begin(struct spin_phase *phase, uint64_t now_ns)
{
	phase->began_ns = now_ns;
	phase->cpu_ns = thread_ns();
}

bool spin_end(const struct spin_phase *phase, uint64_t now_ns)
{
	struct spin_policy_state *p = &hca.queue.spin_policy;
	uint64_t passed = now_ns - phase->began_ns, had = thread_ns() - phase->cpu_ns;

	if (passed < had + LOST_MIN_NS) {
		p->undisturbed_ns += passed;
		if (p->undisturbed_ns > FORGIVE_NS)
			p->ban_ns = SPIN_BAN_NS;
		return true;
	}
	p->undisturbed_ns = 0;
	p->banned_until_ns = now_ns + p->ban_ns;
	if (p->ban_ns < BAN_MAX_NS)
		p->ban_ns *= 2;
	return false;
}

/*
 * While the answer is true, threads wait by spinning, and one that cannot get a processor is seen. While it is false they wait
 * in the kernel, and the service thread runs instead: a count then says little. So it is tried again after a while,
 * each time a longer one. Two threads that check at once make two checks of one: no harm.
 */
bool spin_is_room(uint64_t now_ns)
{
	struct spin_policy_state *p = &hca.queue.spin_policy;
	uint32_t crowded = atomic_load_explicit(&p->crowded, memory_order_relaxed);
	bool is_room = atomic_load_explicit(&p->is_room, memory_order_relaxed);
	uint64_t pause_ns = CHECK_NS;

	if (now_ns < atomic_load_explicit(&p->room_check_ns, memory_order_relaxed))
		return is_room;
	if (!is_room) {
		is_room = true;
		crowded = 0;
	} else if (running() > (unsigned long)sysconf(_SC_NPROCESSORS_ONLN)) {
		is_room = ++crowded < CROWDED_CHECKS;
	} else if (crowded) {
		crowded--;
	} else {
		atomic_store_explicit(&p->no_room_ns, SPIN_BAN_NS, memory_order_relaxed);
	}
	if (!is_room) {
		pause_ns = atomic_load_explicit(&p->no_room_ns, memory_order_relaxed);
		atomic_store_explicit(&p->no_room_ns,
				      2 * pause_ns < BAN_MAX_NS ? 2 * pause_ns : BAN_MAX_NS,
				      memory_order_relaxed);
	}
	atomic_store_explicit(&p->room_check_ns, now_ns + pause_ns, memory_order_relaxed);
	atomic_store_explicit(&p->crowded, crowded, memory_order_relaxed);
	atomic_store_explicit(&p->is_room, is_room, memory_order_relaxed);
	return is_room;
}

void spin_assume_room(void)
{
	atomic_store(&hca.queue.spin_policy.is_room, true);
	atomic_store(&hca.queue.spin_policy.room_check_ns, UINT64_MAX);
}

/* The wish for room stays. */
void spin_policy_forked(void)
{
	bool is_assumed = atomic_load(&hca.queue.spin_policy.room_check_ns) == UINT64_MAX;

	hca.queue.spin_policy = (struct spin_policy_state)SPIN_POLICY_STATE_INIT;
	if (is_assumed)
		spin_assume_room();
}
