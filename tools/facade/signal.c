/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGSEGV, which libverbena handles before the program does (hca/queue/doorbell_trap.c): a store to a doorbell page
 * faults, and the handler carries it out. A program's own handler would take that for a crash, and the kernel ends
 * a process in which such a fault finds its signal blocked. So once the signal is claimed, the program's action is
 * kept here, for faults of the program's own, and the signal is never blocked by the functions below. No other
 * signal interrupts our handler: one that is handled there might ring a doorbell again, under the adapter's locks.
 *
 * Actions change under the lock. The handler reads the program's action without it: there are two places for
 * it, and the sequence number, whose last bit selects one, changes last.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <ucontext.h>
#include <unistd.h>

#include "next.h"

#define CLAIMABLE SIGSEGV

/* Signals of an instruction. The kernel ends a process in which one is blocked when it comes. */
static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };

typedef void info_handler(int number, siginfo_t *info, void *context);

/* libverbena looks for these two by name. */
FACADE_API int verbena_signal_claim(int number, info_handler *handler);
FACADE_API void verbena_signal_pass(int number, siginfo_t *info, void *context);

static struct {
	pthread_mutex_t lock;
	/* The process that has claimed it. The child of a vfork has actions of its own, but shares this memory. */
	_Atomic pid_t process;
	struct sigaction program[2];
	atomic_uint sequence;
} claimed = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_claimed(int number)
{
	pid_t process = number == CLAIMABLE ? atomic_load(&claimed.process) : 0;

	return process && process == getpid();
}

/* A handler may call sigaction(): no signal comes while the lock is held. */
static void lock(sigset_t *mask)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, CLAIMABLE);
	NEXT(pthread_sigmask)(SIG_SETMASK, &all, mask);
	pthread_mutex_lock(&claimed.lock);
}

static void unlock(const sigset_t *mask)
{
	pthread_mutex_unlock(&claimed.lock);
	NEXT(pthread_sigmask)(SIG_SETMASK, mask, NULL);
}

static struct sigaction get_action(void)
{
	struct sigaction action;
	unsigned int sequence;

	do {
		/* [FS1] */
		sequence = atomic_load_explicit(&claimed.sequence, memory_order_acquire);
		action = claimed.program[sequence & 1];
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(&claimed.sequence, memory_order_relaxed) != sequence);
	return action;
}

/* Lock held. */
static void put_action(const struct sigaction *action)
{
	unsigned int sequence = atomic_load_explicit(&claimed.sequence, memory_order_relaxed);

	claimed.program[(sequence + 1) & 1] = *action;
	/* [FS1] pairs with get_action(): the action before its number */
	atomic_store_explicit(&claimed.sequence, sequence + 1, memory_order_release);
}

static void unblock(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, CLAIMABLE);
	NEXT(pthread_sigmask)(SIG_UNBLOCK, &set, NULL);
}

/* ---- for libverbena ---- */

FACADE_API int verbena_signal_claim(int number, info_handler *handler)
{
	struct sigaction mine = { .sa_sigaction = handler,
				  .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
	struct sigaction before;
	sigset_t mask;
	int err;

	if (number != CLAIMABLE)
		return -1;
	sigfillset(&mine.sa_mask);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&mine.sa_mask, faults[i]);
	unblock(); /* a program may have blocked it without these functions */
	lock(&mask);
	err = NEXT(sigaction)(number, &mine, &before);
	if (!err && atomic_load(&claimed.process) != getpid()) {
		put_action(&before);
		atomic_store(&claimed.process, getpid());
	}
	unlock(&mask);
	return err;
}

/* What the kernel does without a handler: for a fault, the instruction is repeated, and ends the process. */
static void take_default(int number, const siginfo_t *info, bool ignored)
{
	struct sigaction end = { .sa_handler = SIG_DFL };

	if (info->si_code <= 0 && ignored)
		return;
	NEXT(sigaction)(number, &end, NULL);
	if (info->si_code <= 0)
		raise(number);
}

/*
 * As the kernel calls a handler, with the signals blocked that were when the fault came and those of the action; but not this
 * one: a handler that is left by longjmp() would leave it blocked, and the next doorbell would end the process. The
 * return from our handler puts back the mask. The kernel's sets have 64 signals.
 */
static void block_as_kernel(const struct sigaction *action, const ucontext_t *context)
{
	sigset_t before, mask;

	sigemptyset(&before);
	memcpy(&before, &context->uc_sigmask, sizeof(uint64_t));
	sigorset(&mask, &before, &action->sa_mask);
	sigdelset(&mask, CLAIMABLE);
	NEXT(pthread_sigmask)(SIG_SETMASK, &mask, NULL);
}

FACADE_API void verbena_signal_pass(int number, siginfo_t *info, void *context)
{
	struct sigaction action = get_action(), once = { .sa_handler = SIG_DFL };

	if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
		take_default(number, info, action.sa_handler == SIG_IGN);
		return;
	}
	if (action.sa_flags & SA_RESETHAND)
		sigaction(number, &once, NULL);
	block_as_kernel(&action, context);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, context);
	else
		action.sa_handler(number);
}

/* ---- for the program ---- */

static int change_claimed(const struct sigaction *action, struct sigaction *old)
{
	struct sigaction next = action ? *action : (struct sigaction){ 0 };
	struct sigaction before;
	sigset_t mask;

	lock(&mask);
	before = get_action();
	if (action)
		put_action(&next);
	unlock(&mask);
	if (old)
		*old = before;
	return 0;
}

FACADE_API int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction unblocked;

	if (is_claimed(number))
		return change_claimed(action, old);
	if (action) {
		unblocked = *action;
		sigdelset(&unblocked.sa_mask, CLAIMABLE);
		action = &unblocked;
	}
	return NEXT(sigaction)(number, action, old);
}

static void (*change_handler(int number, void (*handler)(int), int flags))(int)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags }, old;

	sigemptyset(&action.sa_mask);
	return sigaction(number, &action, &old) ? SIG_ERR : old.sa_handler;
}

FACADE_API void (*signal(int number, void (*handler)(int)))(int)
{
	return is_claimed(number) ? change_handler(number, handler, SA_RESTART)
				  : NEXT(signal)(number, handler);
}

/* Programs that are compiled for System V's signal(). */
FACADE_API void (*__sysv_signal(int number, void (*handler)(int)))(int)
{
	return is_claimed(number) ? change_handler(number, handler, SA_RESETHAND | SA_NODEFER)
				  : NEXT(__sysv_signal)(number, handler);
}

static const sigset_t *without_claimable(int how, const sigset_t *set, sigset_t *space)
{
	if (!set || how == SIG_UNBLOCK || sigismember(set, CLAIMABLE) != 1)
		return set;
	*space = *set;
	sigdelset(space, CLAIMABLE);
	return space;
}

FACADE_API int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t space;

	return NEXT(sigprocmask)(how, without_claimable(how, set, &space), old);
}

FACADE_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t space;

	return NEXT(pthread_sigmask)(how, without_claimable(how, set, &space), old);
}

/* A handler that comes while a thread waits runs with the mask of the wait. */
FACADE_API int sigsuspend(const sigset_t *set)
{
	sigset_t space;

	return NEXT(sigsuspend)(without_claimable(SIG_SETMASK, set, &space));
}

FACADE_API int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		     const sigset_t *set)
{
	sigset_t space;

	return NEXT(ppoll)(fds, count, timeout, without_claimable(SIG_SETMASK, set, &space));
}

FACADE_API int pselect(int count, fd_set *in, fd_set *out, fd_set *except,
		       const struct timespec *timeout, const sigset_t *set)
{
	sigset_t space;

	return NEXT(pselect)(count, in, out, except, timeout,
			     without_claimable(SIG_SETMASK, set, &space));
}

FACADE_API int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout,
			   const sigset_t *set)
{
	sigset_t space;

	return NEXT(epoll_pwait)(fd, events, count, timeout,
				 without_claimable(SIG_SETMASK, set, &space));
}

/* No handler of the program that calls sigaction() runs meanwhile. */
static __thread sigset_t mask_at_fork;

static void before_fork(void)
{
	lock(&mask_at_fork);
}

static void after_fork(void)
{
	unlock(&mask_at_fork);
}

static void in_child(void)
{
	unlock(&mask_at_fork);
	if (atomic_load(&claimed.process))
		atomic_store(&claimed.process, getpid());
}

__attribute__((constructor)) static void begin(void)
{
	/* The parent may have started the program with the signal blocked. */
	unblock();
	pthread_atfork(before_fork, after_fork, in_child);
}
