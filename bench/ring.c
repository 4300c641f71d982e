/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fabric adds to the machine: half a round trip of a 32-byte record between two polling
 * processes, through links with all that belongs to them, against handing one cache line over and
 * back between the same two processes on the same two cores. Then records per second one way.
 *
 *	ring [rounds]		median and best of so many rounds, 201 unless told
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/fabric.h"
#include "fabric/numbers.h"
#include "fabric/poll.h"

#define TRIPS   2000u
#define STREAM  20000u
#define RECORD  32u
#define LONGEST 10001

enum { ASK = 1, ANSWER, FLOOD, FLOOD_END };

/* Memory of both processes before they are linked. */
struct shared {
	_Alignas(64) _Atomic uint32_t ping;
	_Alignas(64) _Atomic uint32_t pong;
	_Alignas(64) _Atomic fabric_id_t id[2];
	_Alignas(64) _Atomic bool stop;
};

static struct shared *shared;
static uint64_t answers, floods;

static void fail(const char *what)
{
	fprintf(stderr, "ring: %s\n", what);
	exit(1);
}

static bool put(struct fabric_link *link, uint32_t kind)
{
	uint32_t *record;

	fabric_link_tx_lock(link);
	record = fabric_link_reserve(link, RECORD);
	if (record) {
		memset(record, 0, RECORD);
		*record = kind;
		fabric_link_publish(link);
	}
	fabric_link_tx_unlock(link);
	return record;
}

static unsigned int drain(struct fabric_link *link)
{
	const uint32_t *record;
	unsigned int count = 0;
	uint32_t len;

	while ((record = fabric_link_peek(link, &len))) {
		uint32_t kind = *record;

		if ((kind == ASK || kind == FLOOD_END) && !put(link, ANSWER))
			return count;
		answers += kind == ANSWER;
		floods += kind == FLOOD;
		fabric_link_release(link);
		count++;
	}
	return count;
}

static void poll_once(void)
{
	fabric_poll_enter();
	fabric_poll_links();
}

static void pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void begin(int which)
{
	const struct fabric_config config = { .drain = drain };
	uint32_t first, count;

	if (fabric_init(&config) || fabric_qpn_block_get(&first, &count))
		fail("no fabric");
	pin(which);
	atomic_store(&shared->id[which], fabric_self());
}

static void answer_for_ever(void)
{
	uint32_t turn = 0;

	begin(1);
	/* Both measurements are served in turn, so that neither waits for a mode to change. */
	while (!atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
		uint32_t ping = atomic_load_explicit(&shared->ping, memory_order_acquire);

		if (ping != turn) {
			turn = ping;
			atomic_store_explicit(&shared->pong, ping, memory_order_release);
			continue;
		}
		/* An odd number says that the next questions come over the link. */
		while (turn & 1 &&
		       atomic_load_explicit(&shared->ping, memory_order_relaxed) == turn)
			poll_once();
	}
	fabric_fini();
	exit(0);
}

static void hand_over(uint32_t value)
{
	atomic_store_explicit(&shared->ping, value, memory_order_release);
	while (atomic_load_explicit(&shared->pong, memory_order_acquire) != value)
		;
}

/* ns per half round trip of a bare line. */
static double measure_line(uint32_t *value)
{
	uint64_t start = fabric_now_ns();

	for (uint32_t i = 0; i < TRIPS; i++)
		hand_over(*value += 2);
	return (double)(fabric_now_ns() - start) / TRIPS / 2;
}

static double measure_record(struct fabric_link *link)
{
	uint64_t start = fabric_now_ns();

	for (uint32_t i = 0; i < TRIPS; i++) {
		uint64_t want = answers + 1;

		while (!put(link, ASK))
			poll_once();
		while (answers != want)
			poll_once();
	}
	return (double)(fabric_now_ns() - start) / TRIPS / 2;
}

/* ns per record of a stream. */
static double measure_stream(struct fabric_link *link)
{
	uint64_t start = fabric_now_ns(), want = answers + 1;

	for (uint32_t i = 0; i < STREAM; i++)
		while (!put(link, i == STREAM - 1 ? FLOOD_END : FLOOD))
			poll_once();
	while (answers != want)
		poll_once();
	return (double)(fabric_now_ns() - start) / STREAM;
}

static void sort(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare_doubles);
}

static void report(const char *what, const double *values, const double *base, int count)
{
	printf("%-36s %8.1f %8.1f", what, values[count / 2], values[0]);
	if (base)
		printf(" %10.2f %8.2f", values[count / 2] / base[count / 2], values[0] / base[0]);
	printf("\n");
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 201;
	static double line[LONGEST], record[LONGEST], stream[LONGEST];
	struct fabric_link *link;
	uint32_t value = 0;
	pid_t pid;

	if (rounds < 1 || rounds > LONGEST)
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		fail("no memory");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer_for_ever();
	}
	begin(0);
	while (!atomic_load(&shared->id[1]))
		sched_yield();
	link = fabric_link_get(shared->id[1]);
	while (fabric_link_state(link) == FABRIC_LINK_CONNECTING)
		sched_yield();
	if (fabric_link_state(link) != FABRIC_LINK_UP)
		fail("no link");
	for (int i = 0; i < rounds; i++) {
		line[i] = measure_line(&value);
		hand_over(++value);
		record[i] = measure_record(link);
		stream[i] = measure_stream(link);
		hand_over(++value);
	}
	shared->stop = true;
	fabric_link_put(link);
	fabric_fini();
	waitpid(pid, NULL, 0);
	sort(line, rounds);
	sort(record, rounds);
	sort(stream, rounds);
	printf("%-36s %8s %8s %10s %8s\n", "ns", "median", "best", "of line:", "");
	report("cache line, half round trip", line, NULL, rounds);
	report("32-byte record, half round trip", record, line, rounds);
	report("32-byte records one way, each", stream, line, rounds);
	return 0;
}
