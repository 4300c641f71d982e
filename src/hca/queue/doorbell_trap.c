/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handler of SIGSEGV for closed pages; doorbell_trap.h says why.
 *
 * store	A doorbell. The word goes to the page's register, and names the send queue, whose requests are
 *		carried out. What is no such word is left to a look at all that is watched. The page stays closed.
 * read		A program that polls an empty queue: the thread receives from peers, for a short while if messages
 *		came lately, and then reads the entry as it is. The page stays closed, and the next poll comes here
 *		again, while messages come; when they do not, it opens, and peers wake the service thread again. It
 *		also opens for an entry that has been written, as a program reads several words of it.
 *
 * A program polls its CQ of send requests while it waits for messages, and that queue is mostly empty: its page is closed
 * after a doorbell, so that polls come here. Programs that wait otherwise (for a change of memory, say) receive no
 * messages between doorbells, and their CQs stay open.
 */
#include "hca/queue/doorbell_trap.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/epoch.h"
#include "fabric/link.h"
#include "fabric/poll.h"
#include "hca/queue/cq_alias.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/queue/spin_policy.h"
#include "hca/queue/uar.h"
#include "hca/queue/uar_place.h"
#include "util/access.h"
#include "util/access_store.h"
#include "util/valgrind.h"

#define RUN_MOST       16      /* stores of one copy to a page */
#define CODE_PAGE      4096u   /* at the least: instructions on it can be read */
#define CODE_LONGEST   15u     /* an instruction's length */
#define ALTERNATE_MIN  65536u  /* bytes of an alternate stack on which the adapter may work */
#define RX_RECENT_NS   200000u /* messages came within this time: more are expected */
#define BURST_AGAIN_NS 50000u  /* after a burst has been interrupted by completions */
#define PROBES         8
#define BURST_MIN      4      /* such doorbells in a row */
#define UNPOLLED_RINGS 1024   /* without a poll, and the program does not poll that CQ */
#define ENTRIES_MOST   3      /* entries in a queue that are read here */
#define WAIT_MOST_NS   10000u /* a poll waits for them, at most */
#define WAIT_STEP_NS   1000u

/*
 * The service thread may be preempted while it holds watch_lock, for milliseconds where it shares a core with a program that
 * spins. What needs the lock but can be left out is left out, therefore, while the lock is taken.
 */

/* ---- stores ---- */

/* The handler runs on a small stack that the program has set aside for signals. */
static bool has_small_stack(const ucontext_t *at)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return here - (uintptr_t)at->uc_stack.ss_sp < at->uc_stack.ss_size &&
	       at->uc_stack.ss_size < ALTERNATE_MIN;
}

/* Bytes of a copy beyond the first eight have no meaning to the adapter. */
static void put(uint8_t *reg, const struct access_store *store)
{
	switch (store->size) {
	case 1:
		__atomic_store_n(reg, (uint8_t)store->first, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n((uint16_t *)reg, (uint16_t)store->first, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)reg, (uint32_t)store->first, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((uint64_t *)reg, store->first, __ATOMIC_RELEASE);
		break;
	}
}

/* False: it cannot be carried out here. */
static bool decode(const ucontext_t *at, const struct hca_uar *uar, struct access_store *out)
{
	uintptr_t offset;

	if (access_store_decode(at, hca.queue.doorbell_trap.upper_vectors, out))
		return false;
	offset = out->address - (uintptr_t)uar->page;
	return offset < HCA_UAR_SIZE && !(offset % (out->size < 8 ? out->size : 8));
}

/* Instructions are read up to the end of the page on which the thread is. */
static bool may_read_on(const ucontext_t *at)
{
#ifdef __x86_64__
	return (uintptr_t)at->uc_mcontext.gregs[REG_RIP] % CODE_PAGE <= CODE_PAGE - CODE_LONGEST;
#else
	(void)at;
	return false;
#endif
}

/* memcpy() may write the same bytes twice: its first and last stores overlap. */
static bool is_repeated(const struct access_store *a, const struct access_store *b)
{
	return a->address == b->address && a->size == b->size && a->first == b->first;
}

/*
 * A doorbell may be the first word of a copy: its other stores follow. One that means something by itself is a trap of its
 * own.
 */
static void finish_copy(ucontext_t *at, const struct hca_uar *uar, const struct access_store *begin)
{
	struct access_store store;
	uint32_t qpn;

	for (int i = 1; i < RUN_MOST && may_read_on(at) && decode(at, uar, &store); i++) {
		uint32_t offset = (uint32_t)(store.address - (uintptr_t)uar->page);

		if (!is_repeated(&store, begin) &&
		    uar->format->uar_store(offset, store.size, store.first, &qpn) != HCA_STORE_PART)
			return;
		put(uar->regs + offset, &store);
		access_store_finish(at, &store);
	}
}

/*
 * How long a poll waits for an entry. A program that rings after it has waited in vain had something else to do meanwhile
 * (completions in another queue, a change of memory): it waits for half as long from then on. One that gets an
 * entry waits longer.
 */
static void adapt_wait(bool gain)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	uint32_t wait_ns = atomic_load_explicit(&t->wait_ns, memory_order_relaxed);

	wait_ns = !gain                                   ? wait_ns / 2
		  : wait_ns + WAIT_STEP_NS < WAIT_MOST_NS ? wait_ns + WAIT_STEP_NS
							  : WAIT_MOST_NS;
	atomic_store_explicit(&t->wait_ns, wait_ns, memory_order_relaxed);
}

/* Messages came since the last doorbell. */
static bool has_received_since_ring(void)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	uint32_t rx = atomic_load_explicit(&t->rx, memory_order_relaxed);

	if (rx == atomic_load_explicit(&t->rx_at_ring, memory_order_relaxed))
		return false;
	atomic_store_explicit(&t->rx_at_ring, rx, memory_order_relaxed);
	return true;
}

/* Its reads have been trapped for a while, and none came: the program does not poll that CQ. */
static bool is_unpolled(const struct hca_cq_alias *alias)
{
	return atomic_load_explicit(&alias->rings, memory_order_relaxed) > UNPOLLED_RINGS;
}

/*
 * The CQ whose polls are trapped: one of the two that a program polls in turn. That of sends has fewer entries, mostly;
 * while it has some, the other one takes its place (swap_aliases()).
 */
static struct hca_cq_alias *choose_alias(const struct doorbell_look *l)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	struct hca_cq_alias *send = l->alias, *recv = l->recv_alias;
	struct hca_cq_alias *now = atomic_load_explicit(&t->trapped, memory_order_relaxed);

	if (!send || !recv || send == recv)
		return send ? send : recv;
	if ((now == recv || is_unpolled(send)) && !is_unpolled(recv))
		return recv;
	return send;
}

/* Inside an epoch section. */
static enum hca_store ring(const struct hca_uar *uar, const struct access_store *store,
			   struct doorbell_look *l)
{
	uint32_t offset = (uint32_t)(store->address - (uintptr_t)uar->page), qpn;
	enum hca_store kind =
		uar->has_sq ? HCA_STORE_OTHER
			    : uar->format->uar_store(offset, store->size, store->first, &qpn);

	if (kind == HCA_STORE_SQ && !doorbell_watch_ring_sq(qpn, l))
		kind = HCA_STORE_OTHER;
	return kind;
}

/*
 * A program that rings again and again, each time at once, need not be stopped each time: its page stays open until it
 * polls, which comes here as its CQ's page is closed instead.
 */
static bool is_burst(uint64_t now_ns)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	uint64_t rung_ns = atomic_load_explicit(&t->rung_ns, memory_order_relaxed);
	uint32_t streak = atomic_load_explicit(&t->streak, memory_order_relaxed);

	streak = now_ns < rung_ns + t->burst_gap_ns ? streak + 1 : 0;
	atomic_store_explicit(&t->streak, streak, memory_order_relaxed);
	return streak >= BURST_MIN ||
	       now_ns < atomic_load_explicit(&t->burst_ns, memory_order_relaxed) + BURST_AGAIN_NS;
}

/* watch_lock held. Polls of this alias come here from now on, and only these. */
static void trap_alias(struct hca_cq_alias *alias)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	struct hca_cq_alias *before = atomic_load_explicit(&t->trapped, memory_order_relaxed);

	if (before && before != alias)
		cq_alias_trap(before, false);
	if (alias)
		cq_alias_trap(alias, true);
	atomic_store_explicit(&t->trapped, alias, memory_order_relaxed);
	atomic_store_explicit(&t->opened, NULL, memory_order_relaxed);
}

/* The thread takes in what has come, here and when it polls: peers need not wake another one. */
static void receive_here(void)
{
	fabric_poll_enter();
	fabric_poll_links_unpaused();
	if (unlikely(!fabric_is_polled()))
		fabric_poll_begin();
}

/*
 * watch_lock held. Without polls the service thread would have to look for the end of the burst, which is late: the page
 * is left open only if one came since the last time.
 */
static void begin_burst(struct hca_uar *uar, struct hca_cq_alias *alias)
{
	atomic_store_explicit(&alias->polled, false, memory_order_relaxed);
	doorbell_watch_let_ring(uar);
}

/* watch_lock held. The queue pair's CQs may be gone meanwhile. */
static void trap_pair(const struct doorbell_look *l, struct hca_cq_alias *alias)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	struct hca_cq_alias *const both[] = { l->alias, l->recv_alias };

	for (int i = 0; i < 2; i++)
		atomic_store_explicit(&t->pair[i], both[i] && both[i]->listed ? both[i] : NULL,
				      memory_order_relaxed);
	if (alias->listed)
		trap_alias(alias);
}

/* After a doorbell, which began at began_ns. Inside its epoch section. True: the thread shall receive. */
static bool after_ring(struct hca_uar *uar, const struct doorbell_look *l, uint64_t began_ns)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	struct hca_cq_alias *alias = choose_alias(l);
	bool chosen = alias && atomic_load_explicit(&t->trapped, memory_order_relaxed) == alias;
	bool trapped = chosen && cq_alias_traps_next(alias);
	bool polled = alias && atomic_load_explicit(&alias->polled, memory_order_relaxed);
	bool burst = is_burst(began_ns) && (polled || !trapped);

	if (alias && (burst || (!trapped && (chosen || has_received_since_ring()))) &&
	    !pthread_mutex_trylock(&hca.queue.watch_lock)) {
		trap_pair(l, alias);
		trapped = cq_alias_traps_next(alias);
		if (trapped && polled && burst)
			begin_burst(uar, alias);
		pthread_mutex_unlock(&hca.queue.watch_lock);
	}
	if (!trapped)
		return false;
	atomic_fetch_add_explicit(&alias->rings, 1, memory_order_relaxed);
	return !is_unpolled(alias);
}

/* Outside of an epoch section. */
static void end_ring(bool receives)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;

	if (receives)
		receive_here();
	if (atomic_exchange_explicit(&t->in_vain, false, memory_order_relaxed))
		adapt_wait(false);
	atomic_store_explicit(&t->given, false, memory_order_relaxed);
	atomic_store_explicit(&t->rung_ns, hca_now_ns(), memory_order_relaxed);
}

/* Inside an epoch section, which ends here. */
static void serve_store(struct hca_uar *uar, uintptr_t address, ucontext_t *at)
{
	uint64_t began_ns = hca_now_ns();
	struct doorbell_look l = { 0 };
	struct access_store store;
	enum hca_store kind;
	bool receives = false;

	/* A page that no other thread can open for a store that waits is a trap in any case. */
	if (has_small_stack(at) || (uar->registered && !spin_is_room(began_ns)) ||
	    !decode(at, uar, &store)) {
		epoch_exit();
		doorbell_watch_open_store(address);
		return;
	}
	put(uar->regs + (store.address - (uintptr_t)uar->page), &store);
	fabric_kicks_defer();
	kind = ring(uar, &store, &l);
	access_store_finish(at, &store);
	finish_copy(at, uar, &store);
	if (kind == HCA_STORE_SQ)
		receives = after_ring(uar, &l, began_ns);
	epoch_exit();
	fabric_kicks_flush();
	if (kind == HCA_STORE_SQ)
		end_ring(receives);
	else if (kind == HCA_STORE_OTHER)
		doorbell_watch_look_all();
}

/* ---- reads ---- */

static bool is_recent(uint64_t now_ns)
{
	uint64_t rx_ns = atomic_load_explicit(&hca.queue.doorbell_trap.rx_ns, memory_order_relaxed);

	return now_ns < rx_ns + RX_RECENT_NS;
}

/* Messages came since the last poll that was trapped, no matter which thread received them. */
static bool has_received(uint64_t now_ns)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	uint32_t rx = atomic_load_explicit(&t->rx, memory_order_relaxed);

	if (rx == atomic_load_explicit(&t->rx_at_poll, memory_order_relaxed))
		return false;
	atomic_store_explicit(&t->rx_at_poll, rx, memory_order_relaxed);
	atomic_store_explicit(&t->rx_ns, now_ns, memory_order_relaxed);
	return true;
}

static uint32_t entries(void)
{
	return atomic_load_explicit(&hca.queue.doorbell_trap.entries, memory_order_relaxed);
}

/*
 * Receives until a completion queue has a new entry; not at all if the program has been given one and has not rung
 * since: it may still have to answer. False: messages do not come any more.
 */
static bool receive(void)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	uint64_t began_ns = hca_now_ns(), now_ns;
	uint32_t before = atomic_load_explicit(&t->entries_seen, memory_order_relaxed);
	bool recent = has_received(began_ns) || is_recent(began_ns);
	bool given = atomic_exchange_explicit(&t->given, false, memory_order_relaxed);
	uint32_t wait_ns =
		recent && !given ? atomic_load_explicit(&t->wait_ns, memory_order_relaxed) : 0;

	do {
		hca.ops->poll();
		now_ns = hca_now_ns();
		recent |= has_received(now_ns);
	} while (entries() == before && now_ns < began_ns + wait_ns);
	given = entries() != before;
	if (given)
		adapt_wait(true);
	atomic_store_explicit(&t->entries_seen, entries(), memory_order_relaxed);
	atomic_store_explicit(&t->given, given, memory_order_relaxed);
	atomic_store_explicit(&t->in_vain, !given && wait_ns, memory_order_relaxed);
	return recent;
}

/* The load, done as if the page were open. */
static bool read_entry(const struct hca_cq_alias *alias, uintptr_t address, ucontext_t *at)
{
	const uint8_t *where = (uint8_t *)alias->ring + (address - (uintptr_t)alias->addr);
	struct access access;
	uint64_t value = 0;

	if (access_decode(at, &access) || access.store || address % access.size)
		return false;
	switch (access.size) {
	case 1:
		value = __atomic_load_n(where, __ATOMIC_ACQUIRE);
		break;
	case 2:
		value = __atomic_load_n((const uint16_t *)where, __ATOMIC_ACQUIRE);
		break;
	case 4:
		value = __atomic_load_n((const uint32_t *)where, __ATOMIC_ACQUIRE);
		break;
	default:
		value = __atomic_load_n((const uint64_t *)where, __ATOMIC_ACQUIRE);
		break;
	}
	access_finish(at, &access, value);
	return true;
}

/* Entries have been written up to another page. */
static void follow_entries(struct hca_cq_alias *alias)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;

	if (cq_alias_traps_next(alias) || pthread_mutex_trylock(&hca.queue.watch_lock))
		return;
	if (atomic_load_explicit(&t->trapped, memory_order_relaxed) == alias)
		trap_alias(alias);
	pthread_mutex_unlock(&hca.queue.watch_lock);
}

/* Polls do not come here until messages come again. Peers wake the service thread from now on. */
static void open_alias(struct hca_cq_alias *alias)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;

	pthread_mutex_lock(&hca.queue.watch_lock);
	if (doorbell_watch_stop_ringing())
		atomic_store_explicit(&t->burst_ns, hca_now_ns(), memory_order_relaxed);
	cq_alias_trap(alias, false);
	if (atomic_load_explicit(&t->trapped, memory_order_relaxed) == alias) {
		atomic_store_explicit(&t->trapped, NULL, memory_order_relaxed);
		atomic_store_explicit(&t->opened, alias, memory_order_relaxed);
	}
	atomic_store_explicit(&t->rx_at_open, atomic_load_explicit(&t->rx, memory_order_relaxed),
			      memory_order_relaxed);
	pthread_mutex_unlock(&hca.queue.watch_lock);
	hca.ops->poll_pause();
}

/* Programs whose polls were not trapped may have a message now. */
static void trap_again(void)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	struct hca_cq_alias *opened;

	if (atomic_load_explicit(&t->rx, memory_order_relaxed) ==
		    atomic_load_explicit(&t->rx_at_open, memory_order_relaxed) ||
	    !spin_is_room(hca_now_ns()) || pthread_mutex_trylock(&hca.queue.watch_lock))
		return;
	opened = atomic_load_explicit(&t->opened, memory_order_relaxed);
	if (opened)
		trap_alias(opened);
	pthread_mutex_unlock(&hca.queue.watch_lock);
}

uint64_t doorbell_trap_before_sleep(uint64_t now_ns)
{
	if (unlikely(atomic_load_explicit(&hca.queue.doorbell_trap.opened, memory_order_relaxed)))
		trap_again();
	return doorbell_watch_before_sleep(now_ns);
}

/*
 * Entries take several words to read, so their CQ opens, and polls of the other one come here. False: there is none that
 * the program polls.
 */
static bool swap_aliases(struct hca_cq_alias *alias)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	struct hca_cq_alias *other;

	if (pthread_mutex_trylock(&hca.queue.watch_lock))
		return false;
	other = atomic_load_explicit(&t->pair[0], memory_order_relaxed);
	if (other == alias)
		other = atomic_load_explicit(&t->pair[1], memory_order_relaxed);
	if (other && other != alias && !is_unpolled(other))
		trap_alias(other);
	else
		other = NULL;
	pthread_mutex_unlock(&hca.queue.watch_lock);
	return other && other != alias;
}

/*
 * Without another CQ, a few entries are read word by word, as a program that waits for more goes on polling then. One
 * that has many to read goes on otherwise, and is better served by an open page.
 */
static bool read_here(struct hca_cq_alias *alias, uintptr_t address, ucontext_t *at)
{
	size_t entries = cq_alias_entries_at(alias, address);

	if (!entries && !receive())
		return false;
	entries = cq_alias_entries_at(alias, address);
	if (entries && swap_aliases(alias))
		return true;
	if (entries > ENTRIES_MOST || !read_entry(alias, address, at))
		return false;
	follow_entries(alias);
	return true;
}

/*
 * Without the lock: the fault may be another one, of a thread that holds it. The alias is the one that the program reads, so
 * it stays.
 */
static struct hca_cq_alias *find_alias(uintptr_t address)
{
	struct hca_cq_alias *alias;

	epoch_enter();
	alias = atomic_load_explicit(&hca.queue.doorbell_trap.trapped, memory_order_relaxed);
	if (!alias || address - (uintptr_t)alias->addr >= alias->length)
		alias = cq_alias_find(address);
	epoch_exit();
	return alias;
}

static bool serve_read(uintptr_t address, ucontext_t *at)
{
	struct hca_cq_alias *alias = find_alias(address);

	if (!alias)
		return false;
	atomic_store_explicit(&alias->rings, 0, memory_order_relaxed);
	atomic_store_explicit(&alias->polled, true, memory_order_relaxed);
	if (has_small_stack(at) || !spin_is_room(hca_now_ns()) || !read_here(alias, address, at))
		open_alias(alias);
	return true;
}

/* ---- the handler ---- */

static bool serve_probe(uintptr_t address, ucontext_t *at);

static bool serve(const siginfo_t *info, ucontext_t *at)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	struct hca_uar *uar;

	if (info->si_code != SEGV_ACCERR)
		return false;
	epoch_enter();
	uar = uar_place_find(address);
	if (uar) {
		serve_store(uar, address, at);
		return true;
	}
	epoch_exit();
	return serve_read(address, at) || serve_probe(address, at);
}

typedef void signal_handler(int number, siginfo_t *info, void *context);

static void on_fault(int number, siginfo_t *info, void *context)
{
	int kept = errno, cancel;
	bool served;

	/* A store to a page is no point of cancellation. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	served = serve(info, context);
	pthread_setcancelstate(cancel, NULL);
	if (!served)
		((signal_handler *)hca.queue.doorbell_trap.pass)(number, info, context);
	errno = kept;
}

/* ---- where it is possible ---- */

static bool is_traced(void)
{
	char text[4096], *line;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	line = strstr(text, "\nTracerPid:");
	return line && strtol(line + strlen("\nTracerPid:"), NULL, 10);
}

/* The thread sanitizer reports what a handler allocates; the two mappings of a page confuse it (uar.c). */
static bool is_possible(const char *wish)
{
	if (wish && !strcmp(wish, "wait"))
		return false;
	return ACCESS_STORE_KNOWN && !VB_TSAN && !valgrind_is_running() &&
	       !dlsym(RTLD_DEFAULT, "__tsan_init") && !is_traced();
}

/*
 * Stores a few times to a page that is closed, to find how long it takes from the end of the handler until the next store
 * is there. Doorbells of a burst follow each other in little more than that time; for the answer of a peer, which
 * is interrupted as well, it takes twice as long.
 */
static bool measure(void)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	uint64_t least = UINT64_MAX;

	t->probe = mmap(NULL, HCA_UAR_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->probe == MAP_FAILED)
		return false;
	for (int i = 0; i < PROBES; i++) {
		t->probe_ns = 0;
		*(volatile uint64_t *)t->probe = 0;
		*(volatile uint64_t *)t->probe = 0;
		if (t->probe_ns < least)
			least = t->probe_ns;
	}
	munmap(t->probe, HCA_UAR_SIZE);
	t->probe = NULL;
	t->burst_gap_ns = least + least / 2;
	return true;
}

/* The second store finds when the handler of the first ended. */
static bool serve_probe(uintptr_t address, ucontext_t *at)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	uint64_t now_ns = hca_now_ns();
	struct access_store store;

	if (!t->probe || address - (uintptr_t)t->probe >= HCA_UAR_SIZE ||
	    access_store_decode(at, t->upper_vectors, &store))
		return false;
	access_store_finish(at, &store);
	t->probe_ns = t->probe_ns ? now_ns - t->probe_ns : hca_now_ns();
	return true;
}

void doorbell_trap_open(void)
{
	struct doorbell_trap_state *t = &hca.queue.doorbell_trap;
	const char *wish = getenv("VERBENA_DOORBELLS");
	int (*claim)(int number, signal_handler *handler);

	if (atomic_exchange(&t->tried, true) || !is_possible(wish))
		return;
	claim = dlsym(RTLD_DEFAULT, "verbena_signal_claim");
	t->pass = dlsym(RTLD_DEFAULT, "verbena_signal_pass");
	t->upper_vectors = access_store_upper_vectors();
	if (wish && !strcmp(wish, "trap"))
		spin_assume_room();
	if (claim && t->pass && !claim(SIGSEGV, on_fault) && measure())
		atomic_store(&t->on, true);
}

void hca_doorbell_open(struct hca_uar *uar)
{
	doorbell_trap_open();
	doorbell_watch_uar(uar);
}
