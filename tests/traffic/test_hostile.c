/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that means ill, or has gone wild: it links with this process, then writes random words into every
 * page that it can write to (rings, mailboxes, its own segment, the host directory) while this process
 * registers, deregisters, sends and polls. Errors and dead links are fine; a crash or a hang is not.
 * TRAFFIC_SEED repeats a run.
 */
#include "rig.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES     (64u << 10)
#define ROUNDS    4u
#define ATTACK_MS 700u
#define MAX_PAGES 65536u
#define PAGE      ((size_t)4096)

enum { RINGS = 1, MAILBOX = 2, SEGMENT = 4, DIRECTORY = 8, SHARED = 16 };

static uint64_t seed;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void choose_seed(void)
{
	const char *text = getenv("TRAFFIC_SEED");

	seed = text ? strtoull(text, NULL, 0) : now_ns() | 1;
	fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
}

/* ---- the attacker ---- */

/* What it may do harm to, by the name of the mapping. */
static unsigned int kind_of(const char *path)
{
	const char *dir = getenv("VERBENA_DIR");

	if (strstr(path, "memfd:verbena-rings"))
		return RINGS;
	if (strstr(path, "memfd:verbena-mailbox"))
		return MAILBOX;
	if (strstr(path, "memfd:verbena-segment"))
		return SEGMENT;
	if (strstr(path, "memfd:verbena-share"))
		return SHARED;
	return dir && strstr(path, dir) ? DIRECTORY : 0;
}

static char *page[MAX_PAGES];
static size_t page_count;

/* Pages that hold something: most of a segment does not. */
static void add_pages(char *start, size_t length)
{
	static unsigned char there[1 << 20];

	for (size_t n; length; start += n, length -= n) {
		n = length < sizeof(there) * PAGE ? length : sizeof(there) * PAGE;
		if (mincore(start, n, there))
			continue;
		for (size_t i = 0; i < n / PAGE && page_count < MAX_PAGES; i++)
			if (there[i] & 1)
				page[page_count++] = start + i * PAGE;
	}
}

/* A mapping that is not writable, but shared: perhaps it can be made so. */
static bool make_writable(char *start, size_t length, const char *rights)
{
	return rights[3] == 's' &&
	       (rights[1] == 'w' || !mprotect(start, length, PROT_READ | PROT_WRITE));
}

static void find_pages(unsigned int what)
{
	static char text[1 << 20]; /* no allocation: the attack may have begun */
	unsigned long from, to;
	char rights[8], path[512], *line, *next;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	check(fd >= 0);
	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	text[len] = 0;
	page_count = 0;
	for (line = text; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = 0;
		path[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %511[^\n]", &from, &to, rights, path) < 3)
			continue;
		if (kind_of(path) & what && make_writable((char *)from, to - from, rights))
			add_pages((char *)from, to - from);
	}
}

/*
 * What it writes breaks its own process, too: threads of the library that fault stay where they are. The
 * attacker looks for its pages again: a ring goes away with its link.
 */
static sigjmp_buf again;
static pthread_t attacking;

static void on_fault(int sig)
{
	if (pthread_equal(pthread_self(), attacking))
		siglongjmp(again, 1);
	for (;;)
		pause();
}

static uint64_t any_word(uint64_t old)
{
	uint64_t r = next_random();

	switch (r >> 60) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
	case 3:
		return old ^ 1ull << (r & 63);
	case 4:
		return old + 1;
	case 5:
		return old - 1;
	case 6:
		return r & 0xff;
	case 7: /* a record, with a length that is possible */
		return (1ull << 32) + (r & 0x3fff);
	case 8:
		return (r & 0xffff) << 32 | (r >> 20 & 0xffff);
	default:
		return r * 0x9e3779b97f4a7c15ull;
	}
}

static void write_anywhere(void)
{
	char *at = page[next_random() % page_count];
	/* Heads of pages, where control words are, as often as the rest. */
	size_t reach = next_random() & 1 ? 512 : PAGE;
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(at + next_random() % reach / 8 * 8);

	atomic_store_explicit(word, any_word(atomic_load(word)), memory_order_relaxed);
}

static void attack(unsigned int what)
{
	const uint64_t end_ns = now_ns() + ATTACK_MS * 1000000ull;

	attacking = pthread_self();
	for (size_t i = 0; i < 3; i++)
		signal((const int[]){ SIGSEGV, SIGBUS, SIGABRT }[i], on_fault);
	(void)sigsetjmp(again, 1);
	while (now_ns() < end_ns) {
		find_pages(what);
		for (unsigned int i = 0; i < 4096 && page_count; i++)
			write_anywhere();
		/* Slow enough that the victim gets somewhere between two blows. */
		usleep(200);
	}
}

struct order {
	uint64_t seed;
	unsigned int what;
};

static struct end *open_end(bool victim)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e;

	o.bytes = BYTES;
	/* The victim has no reason to wait long for a peer like this. */
	if (victim) {
		o.timeout = 10;
		o.retry_cnt = 2;
	}
	o.srq = true;
	e = end_open(&o);
	for (unsigned int i = 0; i < 16; i++)
		post_recv(e, i, 0, 4096);
	return e;
}

/* Uses the link first, so that everything is mapped that a peer can have mapped. */
static void attacker(int fd)
{
	struct order order;
	struct end *e;

	hear(fd, &order, sizeof(order));
	e = open_end(false);
	end_meet(e, fd);
	post(e, &(struct work){ .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 64 });
	check_equal(wait_wc(e->scq).status, IBV_WC_SUCCESS);
	post(e, &(struct work){ .op = IBV_WR_RDMA_WRITE,
				.flags = IBV_SEND_SIGNALED,
				.len = 64,
				.off = 4096,
				.raddr = e->to.va + 4096,
				.rkey = e->to.rkey });
	check_equal(wait_wc(e->scq).status, IBV_WC_SUCCESS);
	tell_mark(fd, 'L');
	hear_mark(fd, 'G');
	seed = order.seed;
	attack(order.what);
	tell_mark(fd, 'E');
	for (;;)
		pause();
}

/* ---- the victim ---- */

static void send_any(struct end *e, unsigned int i)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };
	enum ibv_wr_opcode op = ops[i % array_size(ops)];
	struct ibv_wc wc;

	(void)try_post(e, &(struct work){ .id = i,
					  .op = op,
					  .flags = IBV_SEND_SIGNALED,
					  .off = 8192,
					  .len = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 1000,
					  .raddr = e->to.va + 8192,
					  .rkey = e->to.rkey,
					  .compare = 1 });
	for (unsigned int k = 0; k < 8; k++) {
		while (ibv_poll_cq(e->scq, 1, &wc) > 0)
			;
		while (ibv_poll_cq(e->rcq, 1, &wc) > 0)
			if (!wc.status)
				post_recv(e, wc.wr_id, 0, 4096);
	}
}

static void register_any(struct ibv_pd *pd, char *memory)
{
	size_t off = next_random() % 8 * PAGE;
	struct ibv_mr *mr = ibv_reg_mr(pd, memory + off, 4 * PAGE,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					       IBV_ACCESS_REMOTE_READ);

	if (!mr)
		return;
	memory[off] = 1;
	check_ok(ibv_dereg_mr(mr));
}

/* A queue pair comes and goes; a wild directory may leave no number for it. */
static void create_any(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(e->pd, &attr);

	if (qp)
		check_ok(ibv_destroy_qp(qp));
}

static void endure(struct end *e, struct peer *p)
{
	char *memory = pages(16 * PAGE);

	for (unsigned int i = 0; !is_readable(p->fd, 0); i++) {
		/* A call that takes longer than this hangs. */
		alarm(60);
		send_any(e, i);
		register_any(e->pd, memory);
		if (i % 16 == 0)
			create_any(e);
	}
	alarm(0);
	munmap(memory, 16 * PAGE);
}

static void suffer(unsigned int what, unsigned int rounds)
{
	struct peer p[ROUNDS];

	choose_seed();
	for (unsigned int i = 0; i < rounds; i++)
		p[i] = peer_start(attacker);
	for (unsigned int i = 0; i < rounds; i++) {
		const struct order order = { next_random() | 1, what };
		struct end *e = open_end(true);

		tell(p[i].fd, &order, sizeof(order));
		end_meet(e, p[i].fd);
		hear_mark(p[i].fd, 'L');
		tell_mark(p[i].fd, 'G');
		endure(e, &p[i]);
		peer_kill(&p[i]);
		alarm(60);
		end_close(e);
		alarm(0);
	}
}

static void nothing_in_rings_and_mailboxes_crashes_or_hangs(void)
{
	suffer(RINGS | MAILBOX | SHARED, ROUNDS);
}

static void nothing_in_a_segment_crashes_or_hangs(void)
{
	suffer(SEGMENT, ROUNDS);
}

static void nothing_in_any_memory_of_a_peer_crashes_or_hangs(void)
{
	suffer(RINGS | MAILBOX | SEGMENT | SHARED, ROUNDS);
}

/* Once for each directory: the next process would find it useless. */
static void nothing_in_the_host_directory_crashes_or_hangs(void)
{
	suffer(DIRECTORY, 1);
}

static void nothing_at_all_crashes_or_hangs(void)
{
	suffer(RINGS | MAILBOX | SEGMENT | SHARED | DIRECTORY, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_in_rings_and_mailboxes_crashes_or_hangs),
		TEST(nothing_in_a_segment_crashes_or_hangs),
		TEST(nothing_in_any_memory_of_a_peer_crashes_or_hangs),
		TEST(nothing_in_the_host_directory_crashes_or_hangs),
		TEST(nothing_at_all_crashes_or_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
