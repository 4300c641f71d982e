/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbells that are signals on the thread that rings (hca/queue/doorbell_trap.c), under `verbena run`: what a program
 * sees of them beside its completions, which is nothing.
 */
#include "raw.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u

static struct pair open_pair(struct raw *a, struct raw *b)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.inline_bytes = 64;
	p = pair_open(&o);
	*a = raw_open(p.a);
	*b = raw_open(p.b);
	return p;
}

/* Traps need a doorbell page, which programs on a ConnectX-3 need not write to. */
static void skip_without_page(void)
{
	if (!rig_is_mlx5())
		rig_skip("programs on this adapter ring without a store to a doorbell page");
}

static void write_once(struct raw *r)
{
	struct raw_work w = {
		.op = RAW_WRITE, .len = 64, .raddr = r->e->to.va, .rkey = r->e->to.rkey
	};
	struct raw_cqe cqe;

	r->ops->post(r, &w);
	cqe = raw_wait(r, &r->send);
	check(!cqe.error);
}

static void write_some(struct raw *r, int count)
{
	for (int i = 0; i < count; i++)
		write_once(r);
}

static void write_often(struct raw *r)
{
	write_some(r, 300);
}

/* ---- the program's own handler ---- */

static struct {
	char *page;
	volatile sig_atomic_t count;
	void *volatile address;
	volatile sig_atomic_t blocked; /* SIGUSR1, while the handler ran */
	sigjmp_buf back;
	jmp_buf back_as_is; /* without the mask */
} own;

static void open_page(int number, siginfo_t *info, void *context)
{
	sigset_t mask;

	(void)context;
	check_equal(number, SIGSEGV);
	own.count++;
	own.address = info->si_addr;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	own.blocked = sigismember(&mask, SIGUSR1);
	mprotect(own.page, PAGE, PROT_READ | PROT_WRITE);
}

static void close_page(void)
{
	if (!own.page)
		own.page = must(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	check_ok(mprotect(own.page, PAGE, PROT_NONE));
	own.count = 0;
}

static void install(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGUSR1);
	check_ok(sigaction(SIGSEGV, &action, NULL));
}

static void fault_once(void)
{
	close_page();
	*(volatile char *)(own.page + 5) = 1;
	check_equal(own.count, 1);
	check(own.address == own.page + 5);
	check(own.blocked);
}

static void a_handler_of_the_program_gets_the_programs_faults_only(void)
{
	struct sigaction now;
	struct raw a, b;
	struct pair p;
	sigset_t mask;

	install(open_page); /* before the adapter's */
	p = open_pair(&a, &b);
	write_often(&a);
	fault_once();
	check_ok(sigaction(SIGSEGV, NULL, &now));
	check(now.sa_sigaction == open_page);
	check(now.sa_flags & SA_SIGINFO);
	write_often(&a);
	check_equal(own.count, 1);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	check_equal(sigismember(&mask, SIGUSR1), 0);
	pair_close(&p);
}

static void a_handler_may_be_installed_after_doorbells_were_rung(void)
{
	struct raw a, b;
	struct pair p = open_pair(&a, &b);

	write_often(&a);
	check(signal(SIGSEGV, SIG_DFL) == SIG_DFL);
	install(open_page);
	fault_once();
	write_often(&a);
	check_equal(own.count, 1);
	pair_close(&p);
}

static void jump_back(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	siglongjmp(own.back, 1);
}

static void jump_back_as_is(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	longjmp(own.back_as_is, 1);
}

/* The mask of the handler stays. */
static void a_handler_may_jump_out_without_the_mask(void)
{
	struct raw a, b;
	struct pair p = open_pair(&a, &b);

	install(jump_back_as_is);
	write_often(&a);
	close_page();
	if (!_setjmp(own.back_as_is)) {
		*(volatile char *)own.page = 1;
		check(false);
	}
	write_often(&a);
	pair_close(&p);
}

static void a_handler_may_jump_out_of_a_fault(void)
{
	struct raw a, b;
	struct pair p = open_pair(&a, &b);

	install(jump_back);
	for (volatile int i = 0; i < 3; i++) {
		write_often(&a);
		close_page();
		if (!sigsetjmp(own.back, 1)) {
			*(volatile char *)own.page = 1;
			check(false);
		}
	}
	write_often(&a);
	pair_close(&p);
}

static void a_fault_without_a_handler_ends_the_process_by_its_signal(void)
{
	int status;
	pid_t child = fork();

	check(child >= 0);
	if (!child) {
		struct raw a, b;

		open_pair(&a, &b);
		write_often(&a);
		close_page();
		*(volatile char *)own.page = 1;
		_exit(0);
	}
	check_equal(waitpid(child, &status, 0), child);
	check(WIFSIGNALED(status));
	check_equal(WTERMSIG(status), SIGSEGV);
}

/* ---- stacks and masks ---- */

static void doorbells_ring_while_all_signals_are_blocked(void)
{
	struct raw a, b;
	struct pair p;
	sigset_t all;

	sigfillset(&all);
	check_ok(pthread_sigmask(SIG_BLOCK, &all, NULL));
	p = open_pair(&a, &b);
	check_ok(sigprocmask(SIG_SETMASK, &all, NULL));
	write_often(&a);
	pair_close(&p);
}

static void doorbells_ring_on_threads_with_a_small_stack_for_signals(void)
{
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 16384;
	stack_t stack = { .ss_sp = must(malloc(size)), .ss_size = size };
	struct raw a, b;
	struct pair p = open_pair(&a, &b);

	check_ok(sigaltstack(&stack, NULL));
	write_often(&a);
	stack.ss_flags = SS_DISABLE;
	check_ok(sigaltstack(&stack, NULL));
	free(stack.ss_sp);
	pair_close(&p);
}

static struct {
	struct raw *ringer;
	volatile sig_atomic_t count;
} alarms;

static void ring_at_alarm(int number)
{
	(void)number;
	alarms.count++;
	write_once(alarms.ringer);
}

/* It interrupts the other queue's doorbells at any place but inside of the adapter. */
static void a_signal_handler_may_ring_a_queue_of_its_own(void)
{
	const struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	struct raw a, b, c, d;
	struct pair p = open_pair(&a, &b), q = open_pair(&c, &d);

	alarms.ringer = &c;
	signal(SIGALRM, ring_at_alarm);
	check_ok(setitimer(ITIMER_REAL, &often, NULL));
	for (int i = 0; i < 20000 && alarms.count < 200; i++)
		write_once(&a);
	check_ok(setitimer(ITIMER_REAL, &never, NULL));
	check(alarms.count > 0);
	pair_close(&q);
	pair_close(&p);
}

/* ---- stores ---- */

/* Posts a write without the doorbell; the entry's first 64 bytes. */
static void post_silently(struct raw *r, uint64_t entry[8])
{
	const struct raw_work w = {
		.op = RAW_WRITE, .len = 64, .raddr = r->e->to.va, .rkey = r->e->to.rkey
	};
	const char *at =
		(char *)r->m5.sq.buf + (size_t)(r->post & (r->m5.sq.wqe_cnt - 1)) * r->m5.sq.stride;
	void *reg = r->m5.bf.reg;

	r->m5.bf.reg = entry;
	r->ops->post(r, &w);
	r->m5.bf.reg = reg;
	memcpy(entry, at, 64);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void check_written(struct raw *r)
{
	struct raw_cqe cqe = raw_wait(r, &r->send);

	check(!cqe.error);
}

/* The second half has the queue's number. */
static __attribute__((noinline)) void store_halves(volatile uint32_t *reg, uint32_t low,
						   uint32_t high)
{
	reg[0] = low;
	reg[1] = high;
}

static void a_doorbell_in_two_halves_rings(void)
{
	struct raw a, b;
	struct pair p;
	uint64_t entry[8];

	skip_without_page();
	p = open_pair(&a, &b);
	for (int i = 0; i < 100; i++) {
		post_silently(&a, entry);
		store_halves(a.m5.bf.reg, (uint32_t)entry[0], (uint32_t)(entry[0] >> 32));
		check_written(&a);
	}
	pair_close(&p);
}

static __attribute__((noinline)) void store_twice(volatile uint64_t *reg, uint64_t one,
						  uint64_t other)
{
	*reg = one;
	*reg = other;
}

static void doorbells_that_follow_each_other_at_once_all_ring(void)
{
	struct raw a, b, c, d;
	struct pair p, q;
	uint64_t one[8], other[8];

	skip_without_page();
	p = open_pair(&a, &b);
	q = open_pair(&c, &d);
	for (int i = 0; i < 100; i++) {
		post_silently(&a, one);
		post_silently(&c, other);
		store_twice(a.m5.bf.reg, one[0], other[0]);
		check_written(&a);
		check_written(&c);
	}
	pair_close(&q);
	pair_close(&p);
}

/* As programs that find a BlueFlame buffer do: the entry goes to the page, from its first word on. */
static void an_entry_that_is_copied_to_the_page_rings_once(void)
{
	struct raw a, b;
	struct pair p;
	uint64_t copy[8];

	skip_without_page();
	p = open_pair(&a, &b);
	for (uint32_t i = 0; i < 300; i++) {
		struct raw_cqe cqe;

		post_silently(&a, copy);
		memcpy(a.m5.bf.reg, copy, sizeof(copy));
		cqe = raw_wait(&a, &a.send);
		check(!cqe.error);
		check_equal(cqe.counter, i & 0xffff);
		check(!a.ops->ready(&a.send));
	}
	pair_close(&p);
}

/* The kernel's own view of the handler: without it, this file would test nothing under `verbena run`. */
static void the_adapter_has_the_handler(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} now = { 0 };
	struct raw a, b;
	struct pair p;

	skip_without_page();
	if (!getenv("VERBENA_DOORBELLS") || !strcmp(VB_SANITIZE, "thread"))
		rig_skip("only `verbena run` keeps a place for the adapter's handler, and not "
			 "under TSan");
	p = open_pair(&a, &b);
	check_ok(syscall(SYS_rt_sigaction, SIGSEGV, NULL, &now, sizeof(now.mask)));
	check(now.handler != NULL);
	pair_close(&p);
}

/* Each rings a queue of its own on the same page. */
static void *ring_beside(void *arg)
{
	write_some(arg, 5000);
	return NULL;
}

static void threads_ring_queues_of_one_page_at_once(void)
{
	struct raw a[4], b;
	struct pair p[4];
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		p[i] = open_pair(&a[i], &b);
	for (int i = 0; i < 4; i++)
		check_ok(pthread_create(&threads[i], NULL, ring_beside, &a[i]));
	for (int i = 0; i < 4; i++)
		check_ok(pthread_join(threads[i], NULL));
	for (int i = 0; i < 4; i++)
		pair_close(&p[i]);
}

/* A child has pages of its own, and its own handler's place. */
static void a_child_of_fork_rings_with_an_adapter_of_its_own(void)
{
	struct raw a, b;
	struct pair p = open_pair(&a, &b);
	int status;
	pid_t child;

	write_often(&a);
	child = fork();
	check(child >= 0);
	if (!child) {
		struct raw c, d;

		open_pair(&c, &d);
		write_often(&c);
		_exit(0);
	}
	write_often(&a);
	check_equal(waitpid(child, &status, 0), child);
	check(WIFEXITED(status) && !WEXITSTATUS(status));
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_adapter_has_the_handler),
		TEST(a_handler_of_the_program_gets_the_programs_faults_only),
		TEST(a_handler_may_be_installed_after_doorbells_were_rung),
		TEST(a_handler_may_jump_out_of_a_fault),
		TEST(a_handler_may_jump_out_without_the_mask),
		TEST(a_fault_without_a_handler_ends_the_process_by_its_signal),
		TEST(doorbells_ring_while_all_signals_are_blocked),
		TEST(doorbells_ring_on_threads_with_a_small_stack_for_signals),
		TEST(a_signal_handler_may_ring_a_queue_of_its_own),
		TEST(a_doorbell_in_two_halves_rings),
		TEST(doorbells_that_follow_each_other_at_once_all_ring),
		TEST(an_entry_that_is_copied_to_the_page_rings_once),
		TEST(threads_ring_queues_of_one_page_at_once),
		TEST(a_child_of_fork_rings_with_an_adapter_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
