/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is registered again and again: from the third time on it is shared late or never (hca/memory/mr_defer.h),
 * and peers must not notice.
 */
#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (128u << 10)
#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)
/* Registrations after which the next one is shared late. */
#define SHORT_LIVES 3

static struct options wide(size_t bytes)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = bytes;
	return o;
}

static void transfer(struct end *e, enum ibv_wr_opcode op, size_t off, uint64_t raddr, uint32_t len)
{
	post(e, &(struct work){ .id = 1,
				.op = op,
				.flags = IBV_SEND_SIGNALED,
				.off = off,
				.len = len,
				.raddr = raddr,
				.rkey = e->to.rkey,
				.compare = 1 });
	expect_ok(e->scq, 1);
}

/* ---- one transfer each ---- */

struct order {
	uint64_t va;
	uint32_t rkey, seed;
};

/* Writes to each region that it hears of, and reads what it has written. */
static void writes_once(int fd)
{
	struct options o = wide(2 * BYTES);
	struct end *e = end_open(&o);
	struct order order;

	end_meet(e, fd);
	for (hear(fd, &order, sizeof(order)); order.rkey; hear(fd, &order, sizeof(order))) {
		e->to.rkey = order.rkey;
		fill(e->buf, BYTES, order.seed);
		transfer(e, IBV_WR_RDMA_WRITE, 0, order.va, BYTES);
		memset(e->buf + BYTES, 0, BYTES);
		transfer(e, IBV_WR_RDMA_READ, BYTES, order.va, BYTES);
		check_filled(e->buf + BYTES, BYTES, order.seed);
		tell_mark(fd, 'd');
	}
	hear_mark(fd, 'E');
	end_close(e);
}

static void ask(const struct peer *peer, const struct ibv_mr *mr, unsigned int seed)
{
	struct order order = { .va = (uintptr_t)mr->addr, .rkey = mr->rkey, .seed = seed };

	tell(peer->fd, &order, sizeof(order));
	hear_mark(peer->fd, 'd');
	check_filled(mr->addr, BYTES, seed);
}

static void stop_asking(struct peer *peer, struct end *e)
{
	struct order none = { 0 };

	tell(peer->fd, &none, sizeof(none));
	tell_mark(peer->fd, 'E');
	peer_join(peer);
	end_close(e);
}

static void cycle(struct end *e, const struct peer *peer, char *there, unsigned int seed)
{
	struct ibv_mr *mr = must(ibv_reg_mr(e->pd, there, BYTES, ALL_ACCESS));

	ask(peer, mr, seed);
	check_ok(ibv_dereg_mr(mr));
	check_filled(there, BYTES, seed);
}

static char *map_at(char *there)
{
	char *p = mmap(there, BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	check(p == there);
	return p;
}

static void unmapped(char *there)
{
	check_ok(munmap(there, BYTES));
	map_at(there);
	check(is_all(there, BYTES, 0));
}

static void mapped_anew(char *there)
{
	map_at(there);
	check(is_all(there, BYTES, 0));
}

static void emptied(char *there)
{
	check_ok(madvise(there, BYTES, MADV_DONTNEED));
	check(is_all(there, BYTES, 0));
}

static void moved_away_and_back(char *there)
{
	char *room = pages(4 * BYTES), *p;

	memset(there, 7, BYTES);
	p = mremap(there, BYTES, 2 * BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	check(p == room);
	check(is_all(p, BYTES, 7) && is_all(p + BYTES, BYTES, 0));
	/* The bytes behind it are its own, whatever was registered there. */
	memset(p + BYTES, 9, BYTES);
	p = mremap(p, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, there);
	check(p == there && is_all(there, BYTES, 7));
	check_ok(munmap(room, 4 * BYTES));
}

static void protected(char *there)
{
	check_ok(mprotect(there, BYTES, PROT_READ));
	check_ok(mprotect(there, BYTES, PROT_READ | PROT_WRITE));
}

static void the_mapping_may_change_between_registrations(void)
{
	static void (*const change[])(char *) = { unmapped, mapped_anew, emptied,
						  moved_away_and_back, protected };
	struct peer peer = peer_start(writes_once);
	struct options o = wide(4096);
	struct end *e = end_open(&o);
	char *there = pages(BYTES);
	unsigned int seed = 0;

	end_meet(e, peer.fd);
	for (size_t i = 0; i < array_size(change); i++)
		for (int round = 0; round < 4; round++) {
			cycle(e, &peer, there, ++seed);
			change[i](there);
		}
	stop_asking(&peer, e);
}

static void memory_may_be_freed_and_allocated_between_registrations(void)
{
	struct peer peer = peer_start(writes_once);
	struct options o = wide(4096);
	struct end *e = end_open(&o);

	end_meet(e, peer.fd);
	for (unsigned int seed = 1; seed < 24; seed++) {
		char *there = must(malloc(BYTES * (1 + seed % 3)));

		memset(there, (int)seed, BYTES);
		cycle(e, &peer, there, seed);
		there = must(realloc(there, 8 * BYTES));
		check_filled(there, BYTES, seed);
		memset(there, 1, 8 * BYTES);
		free(there);
	}
	stop_asking(&peer, e);
}

static void fork_and_check(char *there, unsigned int seed)
{
	pid_t pid = fork();
	int status;

	check(pid >= 0);
	if (!pid) {
		/* The parent's next writes are not seen here. */
		usleep(1000);
		_exit(!is_filled(there, BYTES, seed));
	}
	memset(there, 0, BYTES);
	wait_for(waitpid(pid, &status, WNOHANG) == pid);
	check_equal(status, 0);
}

static void forks_may_come_between_registrations_and_inside(void)
{
	struct peer peer = peer_start(writes_once);
	struct options o = wide(4096);
	struct end *e = end_open(&o);
	char *there = pages(BYTES);

	end_meet(e, peer.fd);
	for (unsigned int seed = 1; seed < 20; seed++) {
		struct ibv_mr *mr = must(ibv_reg_mr(e->pd, there, BYTES, ALL_ACCESS));

		ask(&peer, mr, seed);
		if (seed % 3 == 0) {
			fork_and_check(there, seed);
			ask(&peer, mr, seed + 100);
		}
		check_ok(ibv_dereg_mr(mr));
		fill(there, BYTES, seed);
		if (seed % 4 == 0)
			fork_and_check(there, seed);
	}
	stop_asking(&peer, e);
}

/* ---- no access after the end ---- */

static void writes_until_refused(int fd)
{
	struct address a;

	for (;;) {
		struct options o = wide(BYTES);
		struct end *e = end_open(&o);
		struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
		unsigned int rounds = 0;

		end_meet(e, fd);
		hear(fd, &a, sizeof(a));
		if (!a.rkey) {
			end_close(e);
			return;
		}
		memset(e->buf, 0xff, BYTES);
		while (wc.status == IBV_WC_SUCCESS) {
			post(e, &(struct work){ .op = IBV_WR_RDMA_WRITE,
						.flags = IBV_SEND_SIGNALED,
						.len = BYTES,
						.raddr = a.va,
						.rkey = a.rkey });
			wc = wait_wc(e->scq);
			if (rounds++ == 3)
				tell_mark(fd, 'h');
		}
		check_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
		tell_mark(fd, 'x');
		end_close(e);
	}
}

static void no_access_lands_after_any_of_many_deregistrations(void)
{
	struct peer peer = peer_start(writes_until_refused);
	char *there = pages(BYTES);
	struct address a;

	for (int i = 0; i <= 16; i++) {
		struct end *e = end_open(NULL);
		struct ibv_mr *mr = must(ibv_reg_mr(e->pd, there, BYTES, ALL_ACCESS));

		end_meet(e, peer.fd);
		a = end_address(e);
		a.va = (uintptr_t)there;
		a.rkey = i < 16 ? mr->rkey : 0;
		tell(peer.fd, &a, sizeof(a));
		if (i < 16)
			hear_mark(peer.fd, 'h');
		check_ok(ibv_dereg_mr(mr));
		memset(there, 0, BYTES);
		if (i < 16)
			hear_mark(peer.fd, 'x');
		check(is_all(there, BYTES, 0));
		end_close(e);
	}
	peer_join(&peer);
}

/* ---- shared in the end ---- */

#define LONG_BYTES (3u << 20)
#define PART       (1u << 20)

/* Writes, reads back and counts until it is told to stop. */
static void writes_all_the_time(int fd)
{
	struct options o = wide(2 * PART);
	struct end *e = end_open(&o);
	struct order order;
	uint64_t n = 0;

	end_meet(e, fd);
	hear(fd, &order, sizeof(order));
	e->to.rkey = order.rkey;
	do {
		uint64_t at = order.va + 4096 + n % 2 * PART;

		fill(e->buf, PART, (unsigned int)n);
		transfer(e, IBV_WR_RDMA_WRITE, 0, at, PART);
		transfer(e, IBV_WR_RDMA_READ, PART, at, PART);
		check_filled(e->buf + PART, PART, (unsigned int)n);
		transfer(e, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, order.va, 8);
		check_equal(*(uint64_t *)(void *)e->buf, n);
		n++;
	} while (!is_readable(fd, 0));
	tell(fd, &n, sizeof(n));
	hear_mark(fd, 'E');
	hear_mark(fd, 'E');
	end_close(e);
}

static bool is_shared(const char *there)
{
	FILE *f = must(fopen("/proc/self/maps", "re"));
	unsigned long start, end;
	bool found = false;
	char line[512];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && strstr(line, "verbena-share"))
			found |= start <= (uintptr_t)there && (uintptr_t)there < end;
	fclose(f);
	return found;
}

static bool register_another(struct end *e, char *other)
{
	/* Where the kernel cannot hold back system calls, memory moves when the program registers some. */
	check_ok(ibv_dereg_mr(must(ibv_reg_mr(e->pd, other, 4096, ALL_ACCESS))));
	return true;
}

static atomic_bool stop;

static void *count_up(void *at)
{
	volatile uint64_t *word = at;

	for (uint64_t n = 1; !atomic_load_explicit(&stop, memory_order_relaxed); n++) {
		if (*word != n - 1)
			return at;
		*word = n;
	}
	return NULL;
}

static void memory_that_stays_registered_is_shared_and_no_write_is_lost(void)
{
	struct peer peer = peer_start(writes_all_the_time);
	struct options o = wide(4096);
	struct end *e = end_open(&o);
	char *there = pages(LONG_BYTES), *other = pages(4096);
	struct order order = { .va = (uintptr_t)there };
	uint64_t done;
	struct ibv_mr *mr;
	pthread_t thread;
	bool can_share = true;
	void *lost;

	memset(there, 0, LONG_BYTES);
	for (int i = 0; i < SHORT_LIVES; i++) {
		mr = must(ibv_reg_mr(e->pd, there, LONG_BYTES, ALL_ACCESS));
		can_share &= i >= 2 || is_shared(there);
		check_ok(ibv_dereg_mr(mr));
		check(!is_shared(there));
	}
	end_meet(e, peer.fd);
	check_ok(pthread_create(&thread, NULL, count_up, there + LONG_BYTES - 4096));
	mr = must(ibv_reg_mr(e->pd, there, LONG_BYTES, ALL_ACCESS));
	check(!is_shared(there));
	order.rkey = mr->rkey;
	tell(peer.fd, &order, sizeof(order));
	wait_for((register_another(e, other) && is_shared(there + LONG_BYTES - 1)) || !can_share);
	tell_mark(peer.fd, 'E');
	hear(peer.fd, &done, sizeof(done));
	check(done > 0);
	check_equal(*(uint64_t *)(void *)there, done);
	atomic_store(&stop, true);
	check_ok(pthread_join(thread, &lost));
	check(!lost);
	tell_mark(peer.fd, 'E');
	peer_join(&peer);
	check_ok(ibv_dereg_mr(mr));
	check(!is_shared(there));
	end_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_mapping_may_change_between_registrations),
		TEST(memory_may_be_freed_and_allocated_between_registrations),
		TEST(forks_may_come_between_registrations_and_inside),
		TEST(no_access_lands_after_any_of_many_deregistrations),
		TEST(memory_that_stays_registered_is_shared_and_no_write_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
