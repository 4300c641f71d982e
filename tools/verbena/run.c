/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena run`: runs a program with Verbena's libraries.
 *
 *	command ── fork ── writer: asks the libraries, fills the tree, ends
 *	        └─ fork ── program
 *
 * The writer is a process of its own so that the command itself never loads adapters: it stays
 * single-threaded, and the program starts from a clean one.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "checkers.h"
#include "child.h"
#include "command.h"
#include "env.h"
#include "facade.h"
#include "hca/inspect/fault_script.h"
#include "hw_counters.h"
#include "place.h"
#include "say.h"
#include "trace.h"
#include "umad.h"
#include "util/explain.h"

const char command_run_help[] =
	"usage: verbena run [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
	"\n"
	"Runs PROGRAM, unmodified, on Verbena's libraries and adapters.\n"
	"\n"
	"  -a, --adapter NAME[,KEY=VALUE...]  run with this adapter instead of the usual ones; may "
	"be\n"
	"                                     given several times. Keys: verbena.conf(5)\n"
	"  -c, --config FILE                  take the adapters from FILE\n"
	"  -e, --explain[=FILE]               say why calls are refused, on stderr or in FILE\n"
	"  -f, --facade KIND                  how PROGRAM sees /sys/class/infiniband, "
	"/dev/infiniband\n"
	"                                     and the adapters' PCI functions:\n"
	"                                       preload    by a preloaded library (the default)\n"
	"                                       namespace  by mounts in a namespace of its own; "
	"for\n"
	"                                                  programs that do not use libc\n"
	"                                       none       not at all\n"
	"      --path KIND                    auto: within the host by shared memory (the "
	"default);\n"
	"                                     wire: by RoCEv2 packets there, too\n"
	"      --capture FILE                 write every packet to FILE, for Wireshark\n"
	"      --fault RULES|FILE             lose, repeat, delay or spoil packets; "
	"verbena-fault(7)\n"
	"      --seed NUMBER                  another run of the faults' random numbers\n"
	"      --stat[=FILE]                  at its end, each process says what the wire did\n"
	"      --check                        tell what is wrong with PROGRAM; options of\n"
	"                                     verbena check are taken as well\n"
	"      --trace FILE                   write a timeline to FILE; see verbena trace\n"
	"      --dump-on SIGNAL               on this signal (USR1), write the state of its "
	"queues\n"
	"                                     to stderr; not where PROGRAM handles it\n"
	"      --dump-after SECONDS           do so when nothing moves for so long\n"
	"  -h, --help                         show this\n"
	"\n"
	"The exit status is PROGRAM's, or 128+N when signal N ended it, 127 when there is no "
	"PROGRAM,\n"
	"126 when it cannot be run, 125 when verbena itself fails.\n"
	"\n"
	"  verbena run -- ibv_devinfo\n"
	"  verbena run --adapter mlx5_0,interface=eth0 -- ib_write_bw\n";

const char command_check_help[] =
	"usage: verbena check [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
	"\n"
	"Runs PROGRAM, unmodified, and tells what is wrong with its use of RDMA.\n"
	"\n"
	"      --json FILE                    write the findings to FILE as JSON\n"
	"      --junit FILE                   write them to FILE as JUnit XML\n"
	"      --suppressions FILE            do not tell what FILE lists; verbena-check(7)\n"
	"      --fail-on ID[,ID...]|none      exit with 99 for these findings only\n"
	"      --adversary[=SEED]             take freedoms that an adapter has: late "
	"completions,\n"
	"                                     writes in any order, lost and reordered packets\n"
	"  -h, --help                         show this\n"
	"\n"
	"All options of verbena run are taken, too. The exit status is PROGRAM's, or 99 when\n"
	"there are findings, 2 when an option is wrong, 125 to 127 as those of verbena run.\n"
	"\n"
	"  verbena check -- ./server\n"
	"  verbena check --junit findings.xml --fail-on mr-in-use -- ./server\n";

const char command_trace_help[] =
	"usage: verbena trace [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
	"\n"
	"Runs PROGRAM, unmodified, and writes a timeline of its posts, doorbells, packets,\n"
	"completions and polls, which https://ui.perfetto.dev opens.\n"
	"\n"
	"  -o, --output FILE                  write to FILE instead of verbena-trace.json\n"
	"      --limit SIZE                   keep the newest events of each process, of 64 bytes\n"
	"                                     each, up to SIZE; 64M is usual\n"
	"  -h, --help                         show this\n"
	"\n"
	"Options of verbena run are taken, too; exit statuses are those of verbena run.\n"
	"\n"
	"  verbena trace -o server.json -- ./server\n";

enum {
	OPT_PATH = 256,
	OPT_CAPTURE,
	OPT_FAULT,
	OPT_SEED,
	OPT_STAT,
	OPT_CHECK,
	OPT_JSON,
	OPT_JUNIT,
	OPT_SUPPRESSIONS,
	OPT_FAIL_ON,
	OPT_ADVERSARY,
	OPT_TRACE,
	OPT_LIMIT,
	OPT_DUMP_ON,
	OPT_DUMP_AFTER,
};

struct run {
	const char *word; /* "run", "check" or "trace" */
	const char *help;
	int wrong_option; /* exit status */
	struct check_options check;
	struct trace_options trace;
	enum facade_kind kind;
	char **argv;
	struct place place;
	struct signals signals;
	struct tree tree;
};

static int set_facade(struct run *run, const char *kind)
{
	if (!strcmp(kind, "preload"))
		run->kind = FACADE_PRELOAD;
	else if (!strcmp(kind, "namespace"))
		run->kind = FACADE_NAMESPACE;
	else if (!strcmp(kind, "none"))
		run->kind = FACADE_NONE;
	else
		return say(run->wrong_option,
			   "--facade is 'preload', 'namespace' or 'none', not '%s'", kind);
	return 0;
}

/* The program may change its directory before it writes, so the name is made absolute. */
static int set_file(const char *variable, const char *file)
{
	char cwd[PATH_MAX], path[2 * PATH_MAX];

	if (*file == '/') {
		setenv(variable, file, 1);
		return 0;
	}
	if (!getcwd(cwd, sizeof(cwd)))
		return say(EXIT_RUN_FAILED, "the current directory is gone: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s/%s", cwd, file);
	setenv(variable, path, 1);
	return 0;
}

/* To stderr, or to the end of a file. */
static int set_output(const char *option, const char *variable, const char *file)
{
	if (file && !*file)
		return say(EXIT_RUN_FAILED,
			   "%s= needs the name of a file; %s alone writes to stderr", option,
			   option);
	if (file)
		return set_file(variable, file);
	setenv(variable, "1", 1);
	return 0;
}

static int set_path(const char *kind)
{
	if (strcmp(kind, "auto") && strcmp(kind, "wire"))
		return say(EXIT_RUN_FAILED, "--path is 'auto' or 'wire', not '%s'", kind);
	setenv("VERBENA_PATH", kind, 1);
	return 0;
}

/* Not emptied: processes of several runs may write to it. */
static int set_capture(const char *file)
{
	int fd;

	/* `--capture -- program`: the name was forgotten. */
	if (!*file || !strcmp(file, "--"))
		return say(EXIT_RUN_FAILED, "--capture needs the name of a file");
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return say(EXIT_RUN_FAILED, "--capture: '%s' cannot be written: %s", file,
			   strerror(errno));
	close(fd);
	return set_file("VERBENA_CAPTURE", file);
}

/* Rules have blanks or end in a word that is no file; both are checked here, not in the program. */
static int set_fault(const char *spec)
{
	char *real = strpbrk(spec, " ;=") ? NULL : realpath(spec, NULL);
	const char *value = real ? real : spec;
	int status = 0;

	if (hca_faults_check(value))
		status = say(EXIT_RUN_FAILED, "--fault: %s", explain_last());
	else
		setenv("VERBENA_FAULT", value, 1);
	free(real);
	return status;
}

static int set_seed(const char *text)
{
	char *end;

	errno = 0;
	strtoull(text, &end, 0);
	if (errno || !*text || *end)
		return say(EXIT_RUN_FAILED, "--seed is a number, not '%s'", text);
	setenv("VERBENA_FAULT_SEED", text, 1);
	return 0;
}

static int set_dump_on(const char *name)
{
	const char *bare = strncmp(name, "SIG", 3) ? name : name + 3;

	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) && !strcmp(sigabbrev_np(i), bare)) {
			setenv("VERBENA_DUMP_ON", bare, 1);
			return 0;
		}
	return say(EXIT_RUN_FAILED, "--dump-on is the name of a signal, such as USR1, not '%s'",
		   name);
}

static int set_dump_after(const char *seconds)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(seconds, &end, 10);
	if (errno || end == seconds || *end || !value || value > 1000000)
		return say(EXIT_RUN_FAILED,
			   "--dump-after is a number of seconds from 1 on, not '%s'", seconds);
	setenv("VERBENA_DUMP_AFTER", seconds, 1);
	return 0;
}

static int handle_check_option(struct run *run, int option, char **argv)
{
	switch (option) {
	case OPT_CHECK:
		run->check.on = true;
		return 0;
	case OPT_JSON:
		return check_set_output(&run->check, "--json", optarg, run->wrong_option);
	case OPT_JUNIT:
		return check_set_output(&run->check, "--junit", optarg, run->wrong_option);
	case OPT_SUPPRESSIONS:
		return check_set_suppressions(&run->check, optarg, run->wrong_option);
	case OPT_FAIL_ON:
		return check_set_fail_on(&run->check, optarg, run->wrong_option);
	case OPT_ADVERSARY:
		return check_set_adversary(&run->check, optarg, run->wrong_option);
	default:
		return option_bad(option, argv, run->word, run->wrong_option);
	}
}

static int handle_option(struct run *run, int option, char **argv)
{
	switch (option) {
	case 'a':
		return option_adapter(optarg, EXIT_RUN_FAILED);
	case 'c':
		return option_config(optarg, EXIT_RUN_FAILED);
	case 'e':
		return set_output("--explain", "VERBENA_EXPLAIN", optarg);
	case 'f':
		return set_facade(run, optarg);
	case OPT_PATH:
		return set_path(optarg);
	case OPT_CAPTURE:
		return set_capture(optarg);
	case OPT_FAULT:
		run->check.faults = true;
		return set_fault(optarg);
	case OPT_SEED:
		return set_seed(optarg);
	case OPT_STAT:
		return set_output("--stat", "VERBENA_STAT", optarg);
	case OPT_TRACE:
	case 'o':
		return trace_set_output(&run->trace, optarg, run->wrong_option);
	case OPT_DUMP_ON:
		return set_dump_on(optarg);
	case OPT_DUMP_AFTER:
		return set_dump_after(optarg);
	case OPT_LIMIT:
		return trace_set_limit(&run->trace, optarg, run->wrong_option);
	default:
		return handle_check_option(run, option, argv);
	}
}

/* *done: exit with the returned status. */
static int parse(struct run *run, int argc, char **argv, bool *done)
{
	static const struct option options[] = {
		{ "adapter", required_argument, NULL, 'a' },
		{ "config", required_argument, NULL, 'c' },
		{ "explain", optional_argument, NULL, 'e' },
		{ "facade", required_argument, NULL, 'f' },
		{ "path", required_argument, NULL, OPT_PATH },
		{ "capture", required_argument, NULL, OPT_CAPTURE },
		{ "fault", required_argument, NULL, OPT_FAULT },
		{ "seed", required_argument, NULL, OPT_SEED },
		{ "stat", optional_argument, NULL, OPT_STAT },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "json", required_argument, NULL, OPT_JSON },
		{ "junit", required_argument, NULL, OPT_JUNIT },
		{ "suppressions", required_argument, NULL, OPT_SUPPRESSIONS },
		{ "fail-on", required_argument, NULL, OPT_FAIL_ON },
		{ "adversary", optional_argument, NULL, OPT_ADVERSARY },
		{ "trace", required_argument, NULL, OPT_TRACE },
		{ "output", required_argument, NULL, 'o' },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "dump-on", required_argument, NULL, OPT_DUMP_ON },
		{ "dump-after", required_argument, NULL, OPT_DUMP_AFTER },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, status;

	*done = true;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:a:c:e::f:ho:", options, NULL)) >= 0) {
		if (option == 'h') {
			fputs(run->help, stdout);
			return say_done();
		}
		status = handle_option(run, option, argv);
		if (status)
			return run->wrong_option;
	}
	if (optind == argc) {
		say(0, "%s: which program? For instance: verbena %s -- ibv_devinfo", run->word,
		    run->word);
		return say_usage(run->wrong_option, run->word);
	}
	if (run->trace.on && run->check.on)
		return say(run->wrong_option,
			   "a program is checked or traced, not both at once: leave out one of "
			   "them");
	run->argv = argv + optind;
	*done = false;
	return 0;
}

static int say_no_process(void)
{
	return say(EXIT_RUN_FAILED, "cannot start a process: %s%s", strerror(errno),
		   errno == EAGAIN
			   ? "; ulimit -u, or the pids.max of the control group, must be higher"
			   : "");
}

static int fill_tree(struct run *run)
{
	pid_t pid = child_fork(&run->signals);

	if (pid < 0)
		return say_no_process();
	if (!pid) {
		child_follow_parent();
		exit(facade_fill(&run->tree, run->kind));
	}
	return child_wait(pid, NULL, NULL);
}

static int become_program(struct run *run)
{
	int status;

	if (run->kind == FACADE_NAMESPACE) {
		status = facade_namespace_enter(&run->tree);
		if (status)
			return status;
	}
	/* Not sooner: a change of user namespace undoes it. */
	child_follow_parent();
	env_set_libraries(&run->place, run->kind == FACADE_PRELOAD ? run->tree.path : NULL);
	checkers_set(&run->place, run->tree.path);
	return child_exec(run->argv);
}

/* Parts of the tree that change while the program runs. */
struct live {
	struct hw_counters *counters;
	struct umad *umad;
};

static void follow(void *arg)
{
	struct live *live = arg;

	if (live->counters)
		hw_counters_follow(live->counters);
	if (live->umad)
		umad_follow(live->umad);
}

static int run_program(struct run *run)
{
	struct live live = { hw_counters_open(&run->tree), umad_open(&run->tree) };
	pid_t pid = child_fork(&run->signals);
	int status;

	if (!pid)
		_exit(become_program(run));
	status = pid < 0 ? say_no_process()
			 : child_wait(pid, live.counters || live.umad ? follow : NULL, &live);
	umad_close(live.umad);
	hw_counters_close(live.counters);
	return status;
}

static int run_observed(struct run *run)
{
	int status = run_program(run);

	if (run->trace.on)
		trace_end(&run->trace, status);
	return run->check.on ? check_end(&run->check, &run->tree, run->argv, status) : status;
}

static int run_in_tree(struct run *run)
{
	int status, err;

	signals_hold(&run->signals);
	tree_sweep();
	err = tree_create(&run->tree);
	if (err)
		return say(EXIT_RUN_FAILED,
			   "cannot make a directory for the facade in XDG_RUNTIME_DIR, /dev/shm or "
			   "/tmp: %s; "
			   "--facade none needs none",
			   strerror(-err));
	status = run->kind == FACADE_NONE ? 0 : fill_tree(run);
	if (!status && run->check.on)
		status = check_begin(&run->check, &run->place, &run->tree);
	if (!status && run->trace.on)
		status = trace_begin(&run->trace);
	if (!status)
		status = run_observed(run);
	tree_destroy(&run->tree);
	return status;
}

/* Inside another run the real /sys has to be looked at, not the outer run's facade. */
static void leave_outer_facade(char **argv)
{
	if (env_drop_facade())
		execv("/proc/self/exe", argv);
}

static int run_word(struct run *run, int argc, char **argv)
{
	bool done;
	int status = parse(run, argc, argv, &done);

	if (done)
		return status;
	if (place_find(&run->place))
		return EXIT_RUN_FAILED;
	status = env_check(&run->place);
	if (status)
		return status;
	leave_outer_facade(argv - 1);
	if (run->kind != FACADE_NONE || run->check.on || run->trace.on)
		return run_in_tree(run);
	env_set_libraries(&run->place, NULL);
	checkers_set(&run->place, NULL);
	return child_exec(run->argv);
}

int command_run(int argc, char **argv)
{
	struct run run = { .word = "run",
			   .help = command_run_help,
			   .wrong_option = EXIT_RUN_FAILED,
			   .kind = FACADE_PRELOAD };

	return run_word(&run, argc, argv);
}

int command_check(int argc, char **argv)
{
	struct run run = { .word = "check",
			   .help = command_check_help,
			   .wrong_option = EXIT_USAGE,
			   .kind = FACADE_PRELOAD,
			   .check.on = true };

	return run_word(&run, argc, argv);
}

int command_trace(int argc, char **argv)
{
	struct run run = { .word = "trace",
			   .help = command_trace_help,
			   .wrong_option = EXIT_RUN_FAILED,
			   .kind = FACADE_PRELOAD,
			   .trace.on = true };

	return run_word(&run, argc, argv);
}
