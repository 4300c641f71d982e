/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kills COUNT [SEED [LANES [CALL]]]: COUNT rounds with a kill or a stop each, in several lanes (a survivor and its victims
 * each) at once. The first rounds of a lane count the victim's system calls; the others sweep over them with
 * COUNT moments, spread evenly, so that a large COUNT has every call several times: at entry and exit, with
 * instructions and microseconds after it, killed, stopped, and stopped and killed. A failure prints the round.
 */
#include "kills.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLEAN_EVERY 16u

struct board *board;

static const char *const phase_name[PHASES] = { "join",    "register",           "connect",
						"traffic", "connect by address", "migrate",
						"leave" };
static const char *const action_name[] = { "nothing", "kill", "stop", "stop and kill" };

/* ---- random numbers of a lane ---- */

static uint64_t state;

static uint32_t random_below(uint32_t limit)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return limit ? (uint32_t)(state >> 33) % limit : 0;
}

/* ---- a round ---- */

struct lane {
	struct peer survivor;
	uint32_t number, seed;
	uint32_t calls; /* that a whole life takes, about */
	uint32_t files; /* in the folder of the directory */
	uint32_t per_phase[PHASES], acted, clean, ended_before;
};

static void describe(const struct lane *lane, const struct plan *p, const char *what)
{
	fprintf(stderr,
		"lane %u of seed %u: %s: %s at the %s of call %u, %u instructions and %u us later, "
		"stopped for %u us; %s posts, %s connects, %s memory; phase %s\n",
		lane->number, lane->seed, what, action_name[p->action],
		p->at_exit ? "exit" : "entry", p->call, p->steps, p->wait_us, p->stop_us,
		p->survivor_posts ? "survivor" : "victim",
		p->victim_listens ? "survivor" : "victim", p->shared ? "shared" : "private",
		phase_name[atomic_load(&board->phase)]);
}

/* Files in the directory's folder, but for the failures of queue pairs, which stay (hca/inspect/failure.c). */
static uint32_t count_files(void)
{
	const char *path = getenv("VERBENA_DIR");
	DIR *dir = path ? opendir(path) : NULL;
	uint32_t count = 0;

	for (struct dirent *d; dir && (d = readdir(dir));)
		count += d->d_name[0] != '.' && strncmp(d->d_name, "failures", 8);
	if (dir)
		closedir(dir);
	return count;
}

static pid_t start_victim(const struct plan *plan, int *fd, int *go)
{
	int notes[2], start[2];
	pid_t pid;

	check_ok(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, notes));
	check_ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, start));
	fflush(stdout);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(notes[0]);
		close(start[0]);
		hear_mark(start[1], 'g');
		close(start[1]);
		traced_filter();
		victim_run(notes[1], plan);
		exit(0);
	}
	close(notes[1]);
	close(start[1]);
	*fd = notes[0];
	*go = start[0];
	return pid;
}

static void act(struct traced *t, const struct plan *plan)
{
	if (plan->action == ACT_KILL) {
		traced_kill(t);
		return;
	}
	traced_stop(t);
	usleep(plan->stop_us); /* not a wait for an event: the stop takes so long */
	if (plan->action == ACT_STOP_KILL) {
		traced_kill(t);
		return;
	}
	traced_go_on(t);
	traced_finish(t);
}

static bool has_failed(const struct plan *plan, const struct traced *t)
{
	if (WIFEXITED(t->status))
		return WEXITSTATUS(t->status) != 0;
	return WTERMSIG(t->status) != SIGKILL ||
	       (plan->action != ACT_KILL && plan->action != ACT_STOP_KILL);
}

static struct verdict play(struct lane *lane, const struct plan *plan, uint32_t *calls)
{
	struct traced t;
	struct verdict v;
	int fd, go;
	pid_t pid;
	bool reached;

	memset(board->memory, 0, BYTES);
	pid = start_victim(plan, &fd, &go);
	tell(lane->survivor.fd, plan, sizeof(*plan));
	tell_fd(lane->survivor.fd, fd);
	close(fd);
	traced_start(&t, pid, lane->survivor.pid, go);
	reached = traced_run(&t, plan);
	if (reached) {
		lane->per_phase[atomic_load(&board->phase)]++;
		lane->acted++;
		act(&t, plan);
	} else {
		lane->clean += plan->action == ACT_NONE;
		lane->ended_before += plan->action != ACT_NONE;
	}
	close(go);
	if (has_failed(plan, &t)) {
		describe(lane, plan, "the victim failed");
		rig_fail(__FILE__, __LINE__, "status 0x%x", (unsigned int)t.status);
	}
	if (!is_readable(lane->survivor.fd, 6 * WAIT_MS)) {
		describe(lane, plan, "the survivor hangs");
		rig_fail(__FILE__, __LINE__, "no verdict");
	}
	if (recv(lane->survivor.fd, &v, sizeof(v), MSG_WAITALL) != sizeof(v)) {
		describe(lane, plan, "the survivor failed");
		rig_fail(__FILE__, __LINE__, "no verdict");
	}
	*calls = t.calls;
	return v;
}

/* ---- plans ---- */

static struct plan clean_plan(uint32_t i)
{
	return (struct plan){ .action = ACT_NONE,
			      .survivor_posts = i % 2,
			      .victim_listens = i / 2 % 2 };
}

static struct plan next_plan(const struct lane *lane, uint32_t i, uint32_t count)
{
	static const enum action actions[] = { ACT_KILL, ACT_KILL, ACT_KILL, ACT_STOP,
					       ACT_STOP_KILL };
	struct plan p = {
		/* Each call once before any has its second turn, if the count is large enough. */
		.call = 1 + (uint32_t)((uint64_t)i * lane->calls / count),
		.at_exit = random_below(2),
		.action = actions[random_below(array_size(actions))],
		.survivor_posts = random_below(2),
		.victim_listens = random_below(2),
		.shared = random_below(2),
	};
	uint32_t where = random_below(4);

	if (where == 1)
		p.steps = 1 + random_below(400);
	if (where == 2)
		p.wait_us = 1 + random_below(2000);
	if (p.action == ACT_STOP || p.action == ACT_STOP_KILL)
		p.stop_us = 1000 + random_below(30000);
	return p;
}

static void check_litter(struct lane *lane, const struct plan *plan, uint32_t round)
{
	uint32_t files = count_files();

	if (round < CLEAN_ROUNDS)
		lane->files = files;
	if (files <= lane->files)
		return;
	describe(lane, plan, "files are left");
	rig_fail(__FILE__, __LINE__, "%u files instead of %u", files, lane->files);
}

static void run_lane(struct lane *lane, uint32_t count, uint32_t first, uint32_t lanes)
{
	uint32_t calls, round = 0;
	uint64_t told_ns = now_ns();

	state = lane->seed * 2654435761ull + lane->number * 40503ull + 1;
	lane->survivor = peer_start(survivor_run);
	hear_mark(lane->survivor.fd, 's');
	for (; round < CLEAN_ROUNDS; round++) {
		struct plan p = clean_plan(round);

		play(lane, &p, &calls);
		check_litter(lane, &p, round);
		if (!lane->calls || calls < lane->calls)
			lane->calls = calls;
	}
	for (uint32_t i = lane->number; i < count; i += lanes, round++) {
		struct plan p = next_plan(lane, i, count);

		if (first)
			p.call = first;
		play(lane, &p, &calls);
		check_litter(lane, &p, round);
		if (round % CLEAN_EVERY == 0) {
			p = clean_plan(round / CLEAN_EVERY);
			play(lane, &p, &calls);
		}
		if (now_ns() - told_ns > 10000000000ull) {
			told_ns = now_ns();
			printf("lane %u: %u of %u, call %u of %u\n", lane->number, i / lanes,
			       count / lanes, p.call, lane->calls);
			fflush(stdout);
		}
	}
	tell(lane->survivor.fd, &(struct plan){ .call = UINT32_MAX }, sizeof(struct plan));
	peer_join(&lane->survivor);
	printf("lane %u: %u calls, %u kills and stops (", lane->number, lane->calls, lane->acted);
	for (uint32_t i = 0; i < PHASES; i++)
		printf("%s%s %u", i ? ", " : "", phase_name[i], lane->per_phase[i]);
	printf("), %u whole lives, %u ended before their call\n", lane->clean, lane->ended_before);
}

static uint32_t argument(int argc, char **argv, int at, uint32_t otherwise)
{
	return argc > at ? (uint32_t)strtoul(argv[at], NULL, 0) : otherwise;
}

/* In a process of its own, as the others open the device themselves. */
static bool is_possible(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		own_address(0);
		exit(0);
	}
	check_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return false;
	check_equal(status, 0);
	return true;
}

int main(int argc, char **argv)
{
	uint32_t count = argument(argc, argv, 1, 100), seed = argument(argc, argv, 2, 1);
	uint32_t lanes = argument(argc, argv, 3, 2), call = argument(argc, argv, 4, 0);
	uint32_t before = count_files(); /* of another network namespace, say */
	bool failed = false;
	int status;

	if (!is_possible())
		return 77;
	for (uint32_t i = 0; i < lanes; i++) {
		pid_t pid = fork();

		check(pid >= 0);
		if (pid)
			continue;
		struct lane lane = { .number = i, .seed = seed };

		board = mmap(NULL, sizeof(*board) + BYTES, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		check(board != MAP_FAILED);
		signal(SIGPIPE, SIG_IGN);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_lane(&lane, count, call, lanes);
		return 0;
	}
	while (wait(&status) > 0)
		failed = failed || status;
	if (count_files() > before) {
		fprintf(stderr, "%u files are left in %s\n", count_files() - before,
			getenv("VERBENA_DIR"));
		failed = true;
	}
	return failed;
}
