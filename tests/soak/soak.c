/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak SECONDS [KILLER ARGUMENT...]: everything at once for so long. Pairs of processes exchange messages over a
 * connection that lasts, and between them open and close queue pairs of RC, UC, UD and XRC, connect by address,
 * register and deregister memory, and fork. The killer, a program with victims of its own (tests/kills), runs beside them
 * again and again, in the same host directory; VERBENA_FAULT may disturb the wire.
 *
 * Each process measures itself in windows: memory, descriptors, and the times of its round trips. After a warm-up
 * memory and descriptors must not grow, and the fastest tenth of the round trips must not become slower; the
 * fastest, and of the best window, since other processes of the machine delay the rest.
 */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm_rig.h"
#include "xrc.h"

#define PAIRS   3
#define WINDOWS 10u
#define WARM_UP 2u /* windows */
#define TRIPS   32u
#define SAMPLES 4096u
/* What a process may have more than after the warm-up. */
#define MORE_KB 6144u
#define MORE_FDS                                                                                   \
	40u /* source ports of the wire and its endpoints are opened one by one, up to a limit */
#define SLOWER 4u
#define ENOUGH 10000u

struct window {
	uint64_t rss_kb, fds, fast_ns, trips;
};

static uint64_t begin_ns, length_ns;

/* ---- measures ---- */

static uint64_t rss_kb(void)
{
	unsigned long pages_all = 0, resident = 0;
	FILE *file = must(fopen("/proc/self/statm", "re"));

	check_equal(fscanf(file, "%lu %lu", &pages_all, &resident), 2);
	fclose(file);
	return resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct samples {
	uint64_t ns[SAMPLES];
	uint64_t count;
};

static void add_sample(struct samples *s, uint64_t ns)
{
	s->ns[s->count++ % SAMPLES] = ns;
}

/* The tenth part of the samples is faster. */
static uint64_t fast(struct samples *s)
{
	size_t n = s->count < SAMPLES ? s->count : SAMPLES;

	qsort(s->ns, n, sizeof(s->ns[0]), by_size);
	return n ? s->ns[n / 10] : 0;
}

static struct window measure(struct samples *s)
{
	struct window w = { .fast_ns = fast(s), .trips = s->count };

	malloc_trim(0);
	w.rss_kb = rss_kb();
	w.fds = holdings().fds;
	s->count = 0;
	return w;
}

/* ---- work between the messages ---- */

static void make_and_unmake(unsigned int turn)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct options o = options_of(types[turn % 3]);
	struct pair p = pair_open(&o);

	/* Messages of UC and UD may be lost, if faults are made; their sends complete. */
	if (o.type == IBV_QPT_RC) {
		post_recv(p.b, 1, 0, 4096);
		post(p.a,
		     &(struct work){
			     .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 3000 });
		check_equal(wait_wc(p.a->scq).status, IBV_WC_SUCCESS);
		check_equal(wait_wc(p.b->rcq).status, IBV_WC_SUCCESS);
	} else if (o.type == IBV_QPT_UC) {
		post_recv(p.b, 1, 0, 4096);
		post(p.a,
		     &(struct work){
			     .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 3000 });
		check_equal(wait_wc(p.a->scq).status, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

static void open_and_close_xrc(void)
{
	struct ibv_xrcd *xrcd = xrc_open_domain(rig_context());
	struct end *send = xrc_open_half(IBV_QPT_XRC_SEND, xrcd);
	struct end *recv = xrc_open_half(IBV_QPT_XRC_RECV, xrcd);

	ends_connect(send, recv);
	end_close(send);
	end_close(recv);
	check_ok(ibv_close_xrcd(xrcd));
}

static void register_memory(struct end *e, unsigned int turn)
{
	size_t bytes = 100u << turn % 14;
	void *p = must(malloc(bytes));
	struct ibv_mr *mr =
		must(ibv_reg_mr(e->pd, p, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));

	memset(p, (int)turn, bytes);
	check_ok(ibv_dereg_mr(mr));
	free(p);
}

/* A child that leaves at once, or that uses the adapter by itself. */
static void fork_one(unsigned int turn)
{
	int status;
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (turn % 2) {
			rig_forget();
			make_and_unmake(0);
		}
		_exit(0);
	}
	check_equal(waitpid(pid, &status, 0), pid);
	check_equal(status, 0);
}

static void connect_by_address(void)
{
	struct cm_pair p = pair_connected();

	pair_end(&p);
}

static void chores(struct end *e, unsigned int turn)
{
	register_memory(e, turn);
	if (turn % 4 == 0)
		make_and_unmake(turn / 4);
	if (turn % 16 == 5)
		open_and_close_xrc();
	if (turn % 16 == 9)
		connect_by_address();
	if (turn % 32 == 3)
		fork_one(turn / 32);
}

/* ---- a pair of processes ---- */

static void send_one(struct end *e, uint32_t len)
{
	post(e,
	     &(struct work){ .id = 7, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = len });
	check_equal(wait_wc(e->scq).status, IBV_WC_SUCCESS);
}

static void receive_one(struct end *e)
{
	struct ibv_wc wc = wait_wc(e->rcq);

	check_equal(wc.status, IBV_WC_SUCCESS);
	post_recv(e, wc.wr_id, 4096 * (1 + wc.wr_id), 4096);
}

static struct end *meet(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);

	/* A message that comes too early is sent again. */
	end_meet(e, fd);
	for (uint64_t i = 0; i < 8; i++)
		post_recv(e, i, 4096 * (1 + i), 4096);
	return e;
}

/* Pairs end at different times on a busy machine. */
static void wait_for_the_others(int fd)
{
	check(is_readable(fd, 30 * WAIT_MS));
	hear_mark(fd, 'e');
}

/* The first byte of a message says whether there is another one. */
static void second(int fd)
{
	struct end *e = meet(fd);
	unsigned int turn = 0;
	bool more = true;

	while (more) {
		for (uint32_t i = 0; i < TRIPS; i++) {
			struct ibv_wc wc = wait_wc(e->rcq);

			check_equal(wc.status, IBV_WC_SUCCESS);
			more = e->buf[4096 * (1 + wc.wr_id)] == 1;
			post_recv(e, wc.wr_id, 4096 * (1 + wc.wr_id), 4096);
			send_one(e, 8);
		}
		if (more)
			chores(e, turn++);
	}
	wait_for_the_others(fd);
	end_close(e);
}

static void first(int fd)
{
	static struct samples samples;
	struct end *e = meet(fd);
	struct window w[WINDOWS];
	unsigned int turn = 0;

	for (unsigned int i = 0; i < WINDOWS;) {
		bool last;

		last = i == WINDOWS - 1 && now_ns() >= begin_ns + length_ns;
		e->buf[0] = last ? 2 : 1;
		for (uint32_t k = 0; k < TRIPS; k++) {
			uint64_t start_ns = now_ns();

			send_one(e, 64);
			receive_one(e);
			add_sample(&samples, now_ns() - start_ns);
		}
		if (last || now_ns() >= begin_ns + length_ns / WINDOWS * (i + 1)) {
			if (i == WINDOWS - 1 && !last)
				continue;
			w[i++] = measure(&samples);
			printf("process %d: window %u of %d is over\n", (int)getpid(), i, WINDOWS);
			fflush(stdout);
		}
		if (!last)
			chores(e, turn++);
	}
	tell(fd, w, sizeof(w));
	wait_for_the_others(fd);
	end_close(e);
}

/* ---- the whole ---- */

/* The best of some windows: in the others the machine was busy. */
static uint64_t best_ns(const struct window *w, unsigned int first, unsigned int end)
{
	uint64_t best = UINT64_MAX;

	for (unsigned int i = first; i < end; i++)
		best = w[i].trips && w[i].fast_ns < best ? w[i].fast_ns : best;
	return best;
}

static uint64_t count_trips(const struct window *w, unsigned int first, unsigned int end)
{
	uint64_t sum = 0;

	for (unsigned int i = first; i < end; i++)
		sum += w[i].trips;
	return sum;
}

static void judge(unsigned int pair, const struct window *w)
{
	const struct window *from = &w[WARM_UP], *to = &w[WINDOWS - 1];

	for (unsigned int i = 0; i < WINDOWS; i++)
		printf("pair %u, window %u: %llu KiB, %llu descriptors, %llu round trips, the "
		       "fastest tenth "
		       "within %llu.%03llu us\n",
		       pair, i, (unsigned long long)w[i].rss_kb, (unsigned long long)w[i].fds,
		       (unsigned long long)w[i].trips, (unsigned long long)w[i].fast_ns / 1000,
		       (unsigned long long)w[i].fast_ns % 1000);
	fflush(stdout);
	check(to->rss_kb <= from->rss_kb + MORE_KB);
	check(to->fds <= from->fds + MORE_FDS);
	/* Few round trips say nothing of latency. */
	if (count_trips(w, WARM_UP, WINDOWS / 2) < ENOUGH ||
	    count_trips(w, WINDOWS / 2, WINDOWS) < ENOUGH)
		return;
	check(best_ns(w, WINDOWS / 2, WINDOWS) <=
	      SLOWER * best_ns(w, WARM_UP, WINDOWS / 2) + 100000);
}

/* Again and again, with another seed each time. */
static void kill_others(char **argv, int argc)
{
	char seed[16];
	int status;

	for (unsigned int i = 1; now_ns() < begin_ns + length_ns * 9 / 10; i++) {
		pid_t pid = fork();

		check(pid >= 0);
		if (!pid) {
			snprintf(seed, sizeof(seed), "%u", i);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (argc > 2)
				argv[2] = seed;
			execv(argv[0], argv);
			_exit(127);
		}
		check_equal(waitpid(pid, &status, 0), pid);
		check_equal(status, 0);
	}
}

static void introduce(int a, int b)
{
	struct address of_a, of_b;

	hear(a, &of_a, sizeof(of_a));
	hear(b, &of_b, sizeof(of_b));
	tell(a, &of_b, sizeof(of_b));
	tell(b, &of_a, sizeof(of_a));
	hear_mark(a, 'R');
	hear_mark(b, 'R');
	tell_mark(a, 'R');
	tell_mark(b, 'R');
}

int main(int argc, char **argv)
{
	struct peer a[PAIRS], b[PAIRS];
	struct window w[WINDOWS];
	pid_t killer = 0;
	int status;

	check(argc > 1);
	length_ns = strtoull(argv[1], NULL, 0) * 1000000000ull;
	begin_ns = now_ns();
	xrc_make_file();
	if (argc > 2) {
		killer = fork();
		check(killer >= 0);
		if (!killer) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			kill_others(argv + 2, argc - 2);
			_exit(0);
		}
	}
	for (int i = 0; i < PAIRS; i++) {
		a[i] = peer_start(first);
		b[i] = peer_start(second);
		introduce(a[i].fd, b[i].fd);
	}
	for (int i = 0; i < PAIRS; i++) {
		/* Its own limits are within the process; this one is that of the soak. */
		if (!is_readable(a[i].fd, (int)(length_ns / 1000000) + 6 * WAIT_MS))
			rig_fail(__FILE__, __LINE__, "pair %d says nothing", i);
		hear(a[i].fd, w, sizeof(w));
		judge((unsigned int)i, w);
	}
	for (int i = 0; i < PAIRS; i++) {
		tell_mark(a[i].fd, 'e');
		tell_mark(b[i].fd, 'e');
		peer_join(&a[i]);
		peer_join(&b[i]);
	}
	if (killer) {
		check_equal(waitpid(killer, &status, 0), killer);
		check_equal(status, 0);
	}
	xrc_remove_file();
	return 0;
}
