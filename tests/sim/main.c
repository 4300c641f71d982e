/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator: runs seeds until one breaks a promise. docs/reliability.md says how it is used. */
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/host.h"
#include "sim/mutation.h"
#include "sim/net.h"
#include "sim/program.h"
#include "sim/shrink.h"
#include "sim/sim.h"
#include "sim/trace.h"

struct sim sim;

static struct {
	uint64_t first, last; /* seeds */
	uint64_t packets;     /* no further seed after so many; 0: all seeds */
	unsigned int hosts;
	const char *keep, *mutation;
	bool shrink, progress, twice, hashes;
	unsigned int ops; /* of the seed that runs */
	char self[4096];
} options = { .first = 1, .last = 100, .shrink = true };

/* ---- failures ---- */

/* `kind` is the exit status: shrinking looks for the same one. */
static void fail(int kind)
{
	struct shrink_options s = { .self = options.self,
				    .seed = sim.seed,
				    .hosts = options.hosts,
				    .mutation = options.mutation,
				    .kind = kind };

	fflush(stdout);
	if (options.shrink && options.ops)
		shrink_run(&s, options.ops);
	fflush(stdout);
	_exit(kind);
}

/* A number for each promise. */
static int kind_of(const char *format)
{
	unsigned int hash = 5381;

	while (*format)
		hash = hash * 33 + (unsigned char)*format++;
	return 10 + (int)(hash % 200);
}

void sim_fail(const char *format, ...)
{
	va_list args;

	printf("seed %llu, trace %016llx, after %llu us: ", (unsigned long long)sim.seed,
	       (unsigned long long)trace.hash, (unsigned long long)(net_elapsed_ns() / 1000));
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\nfaults: %s; hosts %u, queue pairs %u\n", sim.shape.script, sim.shape.hosts,
	       sim.shape.ends);
	fail(kind_of(format));
	abort();
}

static void crashed(int number)
{
	signal(number, SIG_DFL);
	printf("seed %llu: signal %d in operation %u\n", (unsigned long long)sim.seed, number,
	       sim.op);
	fail(3);
}

/* ---- runs ---- */

static uint64_t run_seed(uint64_t seed)
{
	struct program p;

	trace_begin();
	shape_make(seed, options.hosts);
	program_make(&p);
	options.ops = p.count;
	if (options.keep)
		shrink_apply(options.keep, &p);
	program_run(&p);
	program_free(&p);
	shape_free();
	return trace.hash;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void report(uint64_t seeds, double since)
{
	uint64_t requests = 0;

	for (unsigned int i = 0; i < HCA_OP_COUNT; i++)
		requests += sim.done[i];
	printf("%llu seeds, %llu packets (%llu lost, %llu twice, %llu damaged, %llu late, %llu "
	       "refused), %llu requests, %llu messages, %llu errors as expected, %.1f s\n",
	       (unsigned long long)seeds, (unsigned long long)net.packets,
	       (unsigned long long)net.lost, (unsigned long long)net.duplicated,
	       (unsigned long long)net.corrupted, (unsigned long long)net.delayed,
	       (unsigned long long)net.refused, (unsigned long long)requests,
	       (unsigned long long)sim.received, (unsigned long long)sim.errors, seconds() - since);
	fflush(stdout);
}

static void run_all(void)
{
	double since = seconds(), told = since;
	uint64_t seed = options.first, hash;

	for (; seed <= options.last && (!options.packets || net.packets < options.packets);
	     seed++) {
		hash = run_seed(seed);
		if (options.twice && run_seed(seed) != hash) {
			printf("seed %llu: a second run differs\n", (unsigned long long)seed);
			_exit(1);
		}
		if (options.hashes || options.first == options.last)
			printf("seed %llu: trace %016llx\n", (unsigned long long)seed,
			       (unsigned long long)hash);
		if (options.progress && seconds() - told >= 10) {
			told = seconds();
			report(seed - options.first + 1, since);
		}
	}
	report(seed - options.first, since);
}

/* ---- options ---- */

static void usage(void)
{
	fputs("sim [--seed N | --seeds A-B] [--packets N] [--hosts N] [--twice] [--hashes] "
	      "[--progress]\n"
	      "    [--keep LIST] [--trace] [--packet-trace] [--mutate NAME] [--no-shrink]\n"
	      "mutations:\n",
	      stdout);
	mutation_list();
}

enum {
	OPT_SEED = 256,
	OPT_SEEDS,
	OPT_PACKETS,
	OPT_HOSTS,
	OPT_TWICE,
	OPT_HASHES,
	OPT_HELP,
	OPT_PROGRESS,
	OPT_KEEP,
	OPT_TRACE,
	OPT_PACKET_TRACE,
	OPT_MUTATE,
	OPT_NO_SHRINK
};

static bool take_option(int option)
{
	char *end;

	switch (option) {
	case OPT_SEED:
		options.first = options.last = strtoull(optarg, NULL, 0);
		return true;
	case OPT_SEEDS:
		options.first = strtoull(optarg, &end, 0);
		options.last = *end == '-' ? strtoull(end + 1, NULL, 0) : options.first;
		return true;
	case OPT_PACKETS:
		options.packets = (uint64_t)strtod(optarg, NULL);
		return true;
	case OPT_HOSTS:
		options.hosts = (unsigned int)strtoul(optarg, NULL, 0);
		return true;
	case OPT_TWICE:
		return options.twice = true;
	case OPT_HASHES:
		return options.hashes = true;
	case OPT_HELP:
		usage();
		exit(0);
	case OPT_PROGRESS:
		return options.progress = true;
	case OPT_KEEP:
		options.keep = optarg;
		options.shrink = false;
		return true;
	case OPT_PACKET_TRACE:
		trace.packets = true;
		/* fallthrough */
	case OPT_TRACE:
		trace.lines = true;
		return true;
	case OPT_MUTATE:
		options.mutation = optarg;
		return mutation_choose(optarg);
	case OPT_NO_SHRINK:
		options.shrink = false;
		return true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, OPT_SEED },
		{ "seeds", required_argument, NULL, OPT_SEEDS },
		{ "packets", required_argument, NULL, OPT_PACKETS },
		{ "hosts", required_argument, NULL, OPT_HOSTS },
		{ "twice", no_argument, NULL, OPT_TWICE },
		{ "hashes", no_argument, NULL, OPT_HASHES },
		{ "help", no_argument, NULL, OPT_HELP },
		{ "progress", no_argument, NULL, OPT_PROGRESS },
		{ "keep", required_argument, NULL, OPT_KEEP },
		{ "trace", no_argument, NULL, OPT_TRACE },
		{ "packet-trace", no_argument, NULL, OPT_PACKET_TRACE },
		{ "mutate", required_argument, NULL, OPT_MUTATE },
		{ "no-shrink", no_argument, NULL, OPT_NO_SHRINK },
		{ 0 },
	};
	ssize_t len = readlink("/proc/self/exe", options.self, sizeof(options.self) - 1);
	int option;

	options.self[len < 0 ? 0 : len] = 0;
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1)
		if (!take_option(option)) {
			usage();
			return 2;
		}
	/* Memory of one seed is that of the next: no pages come and go. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	for (unsigned int i = 0; i < 4; i++)
		signal((int[]){ SIGSEGV, SIGBUS, SIGABRT, SIGFPE }[i], crashed);
	host_group_begin();
	net_begin();
	run_all();
	return 0;
}
