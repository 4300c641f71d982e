/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep [-k KIND,...] [-w] [-a ADAPTER] [-p PART] [-r RUNS] [-s SEED] [-b BAD] [-l] [once N | on N]
 *
 * Runs each part of the scenario with the N-th allocation or system call failing, and with all from the N-th on, each in
 * a process of its own: for every N, or for so many, chosen by the seed. Afterwards the part has to succeed in the
 * same process, and to leave as many allocations, descriptors and shared mappings as without a failure.
 *
 * With -w something happens to the N-th packet instead (VERBENA_PATH=wire), and the part has to succeed.
 * -b: ends after so many failures; -l: prints the stacks of allocations that are left.
 */
#include <dirent.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook.h"
#include "packets.h"
#include "scenario.h"

#define LIMIT_S 120
/* A peer that could not be reached for want of something is tried again after 20 ms. */
#define RECOVER_US 50000
/* A peer or an address that may not be used is tried again after a second. */
#define FORBIDDEN_US 1100000
/* Runs whose counts are taken: they differ a little, as when the end of a peer has not been noticed. */
#define CLEAN_RUNS 3

/* Allocations, descriptors and mappings after a part has run twice. */
struct left {
	long allocations, descriptors, mappings;
};

/* One part on one adapter: results of a run without a failure, from its process. */
struct subject {
	const struct part *part;
	const char *adapter;
	long count[HOOK_KINDS];
	struct left left;
};

enum result { GOOD, WRONG, MISSED, LEAKS, SKIP = 77 };

struct run {
	struct subject *subject;
	enum hook_kind kind;
	long n; /* 0: nothing fails */
	bool all;
	enum packet_fault fault; /* of packets, instead of the kind */
};

static const char *const kind_names[HOOK_KINDS] = { "alloc", "ENOMEM", "EMFILE", "ENOSPC",
						    "EINTR", "EAGAIN", "EPERM" };
static struct subject *subjects; /* shared with the processes of the runs */
static unsigned int subject_count;
static bool show_left, packets;
static long runs, bad, bad_limit = 20, missed;

static long count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Mappings that other processes may share. */
static long count_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512], rights[8];
	long n = 0;

	while (file && fgets(line, sizeof(line), file))
		n += sscanf(line, "%*s %7s", rights) == 1 && rights[3] == 's';
	if (file)
		fclose(file);
	return n;
}

static struct left count_left(void)
{
	long live = alloc_hook_live();

	return (struct left){ live, count_descriptors(), count_mappings() };
}

static bool fits(const struct left *now, const struct left *limit)
{
	/* libc's dlopen() leaks when an allocation or a mapping of its own fails. */
	return (now->allocations <= limit->allocations || hook_was_in("dlopen")) &&
	       now->descriptors <= limit->descriptors && now->mappings <= limit->mappings;
}

static long most(long one, long two)
{
	return one > two ? one : two;
}

static struct left most_of(struct left one, struct left two)
{
	return (struct left){ most(one.allocations, two.allocations),
			      most(one.descriptors, two.descriptors),
			      most(one.mappings, two.mappings) };
}

/* The service thread frees a little later. */
static bool check_left(const struct left *limit)
{
	struct left now = count_left();

	for (int i = 0; i < 5000 && !fits(&now, limit); i++) {
		usleep(1000);
		now = count_left();
	}
	if (fits(&now, limit))
		return true;
	fprintf(stderr,
		"problem: left are %ld allocations, %ld descriptors, %ld mappings, not %ld, %ld, "
		"%ld\n",
		now.allocations, now.descriptors, now.mappings, limit->allocations,
		limit->descriptors, limit->mappings);
	return false;
}

static int run_part(const struct run *run)
{
	struct subject *s = run->subject;
	bool leaks = false;
	int problems;

	if (show_left)
		alloc_hook_record();
	scenario_prepare(s->part, s->adapter);
	if (run->kind != HOOK_ALLOC && !sys_hook_install())
		return SKIP;
	scenario_open(s->part, s->adapter);
	hook_arm(run->kind, run->n, run->all);
	problems = scenario_run(s->part, run->n ? SCENARIO_WEAK : SCENARIO_STRICT);
	hook_disarm();
	if (run->n && hook_count(run->kind) < run->n)
		return MISSED; /* there was no such call this time */
	if (run->n)
		usleep(run->kind == HOOK_EPERM ? FORBIDDEN_US : RECOVER_US);
	problems += scenario_run(s->part, SCENARIO_STRICT);
	scenario_close(s->part);
	if (run->n) {
		struct left limit = s->left;

		/* With other processes the service thread needs one more array, now and then. */
		limit.allocations += s->part->flags & PART_FAR ? 1 : 0;
		leaks = !check_left(&limit);
		if (show_left)
			alloc_hook_print_live();
	} else {
		/* Objects that the service thread has not freed yet are no leak. */
		usleep(100000);
		s->left = most_of(s->left, count_left());
		for (int kind = 0; kind < HOOK_KINDS; kind++)
			s->count[kind] = hook_count(kind);
	}
	if ((problems || leaks) && run->n)
		hook_print();
	return problems ? WRONG : leaks ? LEAKS : GOOD;
}

/* The part succeeds, whatever happens to one packet. */
static int run_part_faulty(const struct run *run)
{
	struct subject *s = run->subject;
	int problems;

	scenario_prepare(s->part, s->adapter);
	if (run->n)
		packets_set_fault(run->fault, run->n);
	else
		packets_count_begin();
	scenario_open(s->part, s->adapter);
	problems = scenario_run(s->part, SCENARIO_FAULTY);
	problems += scenario_run(s->part, run->n ? SCENARIO_STRICT : SCENARIO_FAULTY);
	scenario_close(s->part);
	return problems ? WRONG : GOOD;
}

static void on_signal(int sig)
{
	hook_print();
	signal(sig, SIG_DFL);
	raise(sig);
}

static int run_once(const struct run *run)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		signal(SIGALRM, on_signal);
		signal(SIGABRT, on_signal);
		signal(SIGSEGV, on_signal);
		alarm(LIMIT_S);
		if (!packets)
			_exit(run_part(run));
		exit(run_part_faulty(run)); /* the capture is written at the end */
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* On a busy machine runs without a failure differ in what is left afterwards: the largest amount counts. */
static void measure_again(struct subject *s)
{
	const struct subject before = *s;

	run_once(&(struct run){ .subject = s });
	memcpy(s->count, before.count, sizeof(s->count));
}

static int run_apart(const struct run *run)
{
	struct subject *s = run->subject;
	int result = LEAKS;

	/* An array that only some runs need is no leak: a leak is there each time. */
	for (int i = 0; i < 3 && result == LEAKS; i++) {
		result = run_once(run);
		if (result == LEAKS)
			measure_again(s);
	}
	runs++;
	missed += result == MISSED;
	if (result == GOOD || result == MISSED || result == SKIP)
		return result == SKIP ? SKIP : GOOD;
	bad++;
	fprintf(stderr, "%s: -a %s -p %s -k %s %s %ld\n",
		result == LEAKS      ? "leaks"
		: result == -SIGALRM ? "hangs"
		: result < 0         ? strsignal(-result)
				     : "fails",
		s->adapter, s->part->name,
		packets ? packet_fault_names[run->fault] : kind_names[run->kind],
		run->all ? "on" : "once", run->n);
	return WRONG;
}

/* ---- which runs ---- */

static void add_subject(const struct part *part, const char *adapter, const char *only_part,
			const char *only_adapter)
{
	if ((only_part && strcmp(part->name, only_part) != 0) ||
	    (only_adapter && strcmp(adapter, only_adapter) != 0))
		return;
	subjects[subject_count++] = (struct subject){ .part = part, .adapter = adapter };
}

static void list_subjects(const char *only_part, const char *only_adapter)
{
	size_t size = 2 * scenario_part_count * sizeof(*subjects);

	subjects = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (subjects == MAP_FAILED)
		abort();
	for (unsigned int i = 0; i < scenario_part_count; i++) {
		const struct part *part = &scenario_parts[i];

		if (!(part->flags & PART_ONLY4))
			add_subject(part, "mlx5_0", only_part, only_adapter);
		/* The wire is of Ethernet only. */
		if (part->flags & (PART_MLX4 | PART_ONLY4) && !getenv("VERBENA_PATH"))
			add_subject(part, "mlx4_0", only_part, only_adapter);
	}
}

static bool one_by_one(unsigned int kinds)
{
	for (unsigned int i = 0; i < subject_count; i++)
		for (int kind = 0; kind < HOOK_KINDS; kind++) {
			long before = bad;

			if (!(kinds & 1u << kind))
				continue;
			for (long n = 1; n <= subjects[i].count[kind]; n++)
				for (int all = 0; all < 2; all++) {
					run_apart(&(struct run){ .subject = &subjects[i],
								 .kind = kind,
								 .n = n,
								 .all = all });
					if (bad >= bad_limit)
						return false;
				}
			fprintf(stderr, "%s %s %s: %ld, once and from there on: %ld went wrong\n",
				subjects[i].adapter, subjects[i].part->name, kind_names[kind],
				subjects[i].count[kind], bad - before);
		}
	return !bad;
}

/* The i-th of all runs there are. */
static struct run run_at(unsigned int kinds, unsigned long at)
{
	struct run run = { .all = at % 2 };

	at /= 2;
	for (unsigned int i = 0; i < subject_count; i++)
		for (int kind = 0; kind < HOOK_KINDS; kind++) {
			unsigned long count = kinds & 1u << kind ? subjects[i].count[kind] : 0;

			if (at < count) {
				run.subject = &subjects[i];
				run.kind = kind;
				run.n = (long)at + 1;
				return run;
			}
			at -= count;
		}
	return run;
}

static unsigned long total_runs(unsigned int kinds)
{
	unsigned long total = 0;

	for (unsigned int i = 0; i < subject_count; i++)
		for (int kind = 0; kind < HOOK_KINDS; kind++)
			total += kinds & 1u << kind ? 2 * subjects[i].count[kind] : 0;
	return total;
}

static bool sample(unsigned int kinds, long want, unsigned long seed)
{
	unsigned long total = total_runs(kinds);

	for (long i = 0; total && i < want && bad < bad_limit; i++) {
		struct run run;

		seed = seed * 6364136223846793005ul + 1442695040888963407ul;
		run = run_at(kinds, (seed >> 20) % total);
		run_apart(&run);
	}
	return !bad;
}

/* Every packet, or so many of them. Two runs of the part send as many packets. */
static bool sweep_packets(long want, unsigned long seed)
{
	for (unsigned int i = 0; i < subject_count; i++) {
		struct subject *s = &subjects[i];
		long before = bad, count, some;

		if (run_apart(&(struct run){ .subject = s }))
			return false;
		count = packets_count() / 2;
		some = want && want < count * PACKET_FAULTS ? want : count * PACKET_FAULTS;
		for (long k = 0; k < some && bad < bad_limit; k++) {
			unsigned long at = (unsigned long)k;

			if (want) {
				seed = seed * 6364136223846793005ul + 1442695040888963407ul;
				at = (seed >> 20) % (unsigned long)(count * PACKET_FAULTS);
			}
			run_apart(&(struct run){ .subject = s,
						 .n = (long)(at / PACKET_FAULTS) + 1,
						 .fault = at % PACKET_FAULTS });
		}
		fprintf(stderr, "%s %s: %ld packets, %ld runs: %ld went wrong\n", s->adapter,
			s->part->name, count, some, bad - before);
		if (bad >= bad_limit)
			return false;
	}
	return !bad;
}

static unsigned int parse_kinds(const char *list)
{
	unsigned int kinds = 0;

	for (int kind = 0; kind < HOOK_KINDS; kind++)
		if (strstr(list, kind_names[kind]))
			kinds |= 1u << kind;
	return kinds;
}

int main(int argc, char **argv)
{
	const char *part = NULL, *adapter = NULL;
	unsigned int kinds = 1u << HOOK_ALLOC;
	unsigned long seed = 1;
	long sample_runs = 0;
	bool good;
	int opt;

	while ((opt = getopt(argc, argv, "+k:a:p:r:s:b:lw")) != -1)
		switch (opt) {
		case 'k':
			kinds = parse_kinds(optarg);
			break;
		case 'a':
			adapter = optarg;
			break;
		case 'p':
			part = optarg;
			break;
		case 'r':
			sample_runs = strtol(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoul(optarg, NULL, 0);
			break;
		case 'b':
			bad_limit = strtol(optarg, NULL, 0);
			break;
		case 'l':
			show_left = true;
			break;
		case 'w':
			packets = true;
			break;
		default:
			return 2;
		}
	list_subjects(part, adapter);
	if (packets) {
		good = sweep_packets(sample_runs, seed);
		printf("%ld runs, %ld went wrong\n", runs, bad);
		return good ? 0 : 1;
	}
	for (unsigned int i = 0; i < CLEAN_RUNS * subject_count; i++) {
		enum hook_kind kind = kinds == 1u << HOOK_ALLOC ? HOOK_ALLOC : HOOK_ENOMEM;
		int result = run_apart(
			&(struct run){ .subject = &subjects[i % subject_count], .kind = kind });

		if (result)
			return result;
	}
	runs = 0;
	if (argc > optind + 1)
		return run_apart(&(struct run){ .subject = &subjects[0],
						.kind = __builtin_ctz(kinds),
						.n = strtol(argv[optind + 1], NULL, 0),
						.all = !strcmp(argv[optind], "on") });
	good = sample_runs ? sample(kinds, sample_runs, seed) : one_by_one(kinds);
	printf("%ld runs of %lu, %ld of them without the call that was to fail; %ld went wrong\n",
	       runs, total_runs(kinds), missed, bad);
	return good ? 0 : 1;
}
