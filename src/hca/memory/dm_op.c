/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations by access to device memory: see dm_op.h. The list of mappings only grows at its head,
 * and entries are used again, never freed, since a handler reads it with no lock. An entry changes
 * under op_lock while its start is 0; a handler copies it, and believes the copy if the start stayed.
 */
#include "hca/memory/dm_op.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/explain.h"
#include "util/forksafe.h"

struct mapping {
	_Atomic uintptr_t start;
	_Atomic(uint8_t *) memory; /* NULL: it is gone */
	_Atomic uint64_t length, size;
	_Atomic unsigned int op;
	const struct hca_dm *dm; /* under op_lock */
	struct mapping *next;
};

/* What a handler needs of a mapping. */
struct place {
	uintptr_t start;
	uint8_t *memory;
	uint64_t length;
	unsigned int op;
};

/* Whose turn it was before ours, kept for ever: a handler may be about to call it. */
struct earlier {
	struct sigaction action;
	struct earlier *next;
};

static pthread_mutex_t op_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(op_lock, FORKSAFE_LEAF);
static _Atomic(struct mapping *) mappings;
static _Atomic(struct earlier *) before;
static int nothing = -1; /* a file without a byte */

/* ---- the handler ---- */

static uint64_t ones(unsigned int size)
{
	return size == 8 ? UINT64_MAX : (1ull << 8 * size) - 1;
}

#define CARRY_OUT(type)                                                                            \
	do {                                                                                       \
		__auto_type at = (type *)where;                                                    \
		if (a->store && op == HCA_DM_OP_INCREMENT)                                         \
			__atomic_fetch_add(at, (type)a->value, __ATOMIC_SEQ_CST);                  \
		else if (a->store)                                                                 \
			__atomic_store_n(at, (type)a->value, __ATOMIC_SEQ_CST);                    \
		else if (op == HCA_DM_OP_TEST_AND_SET)                                             \
			return __atomic_exchange_n(at, (type)ones(sizeof(type)),                   \
						   __ATOMIC_SEQ_CST);                              \
		else                                                                               \
			return __atomic_load_n(at, __ATOMIC_SEQ_CST);                              \
		return 0;                                                                          \
	} while (0)

static uint64_t carry_out(unsigned int op, const struct access *a, uint8_t *where)
{
	switch (a->size) {
	case 1:
		CARRY_OUT(uint8_t);
	case 2:
		CARRY_OUT(uint16_t);
	case 4:
		CARRY_OUT(uint32_t);
	default:
		CARRY_OUT(uint64_t);
	}
}

/* False: the address is none of this mapping, or the mapping is just given to someone else. */
static bool holds(const struct mapping *m, uintptr_t address, struct place *out)
{
	uint64_t size;

	out->start = m->start;
	out->memory = m->memory;
	out->length = m->length;
	out->op = m->op;
	size = m->size;
	return out->start && out->start == m->start && address - out->start < size;
}

static bool find(uintptr_t address, struct place *out)
{
	const struct mapping *m = atomic_load_explicit(&mappings, memory_order_acquire);

	for (; m; m = m->next)
		if (holds(m, address, out))
			return true;
	return false;
}

/* False: the access is none that the adapter knows. */
static bool serve(const siginfo_t *info, ucontext_t *at)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	uint64_t offset, loaded;
	struct access access;
	struct place place;

	if (info->si_code != BUS_ADRERR || !find(address, &place) || access_decode(at, &access))
		return false;
	offset = address - place.start;
	if (address % access.size || offset + access.size > place.length)
		return false;
	loaded = place.memory ? carry_out(place.op, &access, place.memory + offset)
			      : ones(access.size);
	access_finish(at, &access, loaded);
	return true;
}

/* Who came after us may pass on to us what we pass on to him. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	static __thread volatile bool passing;
	const struct sigaction end = { .sa_handler = SIG_DFL };
	const struct earlier *to = atomic_load_explicit(&before, memory_order_acquire);

	if (passing || to->action.sa_handler == SIG_DFL || to->action.sa_handler == SIG_IGN) {
		sigaction(number, &end, NULL); /* the access comes again, and ends the process */
		return;
	}
	passing = true;
	if (to->action.sa_flags & SA_SIGINFO)
		to->action.sa_sigaction(number, info, context);
	else
		to->action.sa_handler(number);
	passing = false;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	int kept = errno;

	if (!serve(info, context))
		pass_on(number, info, context);
	errno = kept;
}

/* ---- mappings; op_lock held ---- */

static bool same(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags;
}

/* A program that sets the same handlers by turns needs no more room. */
static int remember(const struct sigaction *action)
{
	static struct earlier *all;
	struct earlier *e = all;

	while (e && !same(&e->action, action))
		e = e->next;
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->action = *action;
		e->next = all;
		all = e;
	}
	/* [O2] pairs with pass_on() */
	atomic_store_explicit(&before, e, memory_order_release);
	return 0;
}

/* A program may have set a handler of its own since we were here last. */
static int take_signal(void)
{
	struct sigaction mine = { .sa_sigaction = on_bus_error,
				  .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
	struct sigaction now;
	int err;

	if (sigaction(SIGBUS, NULL, &now))
		return -errno;
	if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_bus_error)
		return 0;
	err = remember(&now);
	if (err)
		return err;
	sigemptyset(&mine.sa_mask);
	return sigaction(SIGBUS, &mine, NULL) ? -errno : 0;
}

static int prepare(void)
{
	if (nothing < 0)
		nothing = memfd_create("verbena-dm-op", MFD_CLOEXEC);
	if (nothing < 0)
		return -errno;
	return take_signal();
}

/* One that was unmapped, or whose place somebody else was given since. */
static bool is_free(const struct mapping *m, uintptr_t start, uint64_t size)
{
	uintptr_t old = m->start;
	unsigned char there;

	if (!old || (old < start + size && start < old + m->size))
		return true;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): only asked about */
	return mincore((void *)old, 1, &there) && errno == ENOMEM;
}

static struct mapping *get_entry(uintptr_t start, uint64_t size)
{
	struct mapping *m = atomic_load_explicit(&mappings, memory_order_relaxed), *found = NULL;

	for (; m; m = m->next)
		if (is_free(m, start, size)) {
			m->start = 0;
			found = m;
		}
	if (found)
		return found;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->next = atomic_load_explicit(&mappings, memory_order_relaxed);
	/* [O1] pairs with find() */
	atomic_store_explicit(&mappings, m, memory_order_release);
	return m;
}

static int map(struct hca_dm *dm, unsigned int op, void **out)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t size = (dm->length + page - 1) & ~(page - 1);
	struct mapping *m;
	void *addr;
	int err = prepare();

	if (err)
		return err;
	addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, nothing, 0);
	if (addr == MAP_FAILED)
		return -errno;
	m = get_entry((uintptr_t)addr, size);
	if (!m) {
		munmap(addr, size);
		return -ENOMEM;
	}
	m->dm = dm;
	m->op = op;
	m->length = dm->length;
	m->size = size;
	m->memory = dm->addr;
	m->start = (uintptr_t)addr;
	*out = addr;
	return 0;
}

int hca_dm_op_map(struct hca_dm *dm, unsigned int op, void **out)
{
	int err;

	if (op >= 32 || !(HCA_DM_OP_MASK >> op & 1))
		return explain(EOPNOTSUPP, "operation %u on device memory; a mask of 0x%x is there",
			       op, HCA_DM_OP_MASK);
	if (!dm->addr)
		return explain(ENOENT, "the device memory was freed through another handle");
	pthread_mutex_lock(&op_lock);
	err = map(dm, op, out);
	pthread_mutex_unlock(&op_lock);
	return err ? explain(-err, "the addresses of an operation cannot be mapped") : 0;
}

void dm_op_forget(const struct hca_dm *dm)
{
	struct mapping *m = atomic_load_explicit(&mappings, memory_order_acquire);

	pthread_mutex_lock(&op_lock);
	for (; m; m = m->next)
		if (m->dm == dm) {
			m->dm = NULL;
			m->memory = NULL;
		}
	pthread_mutex_unlock(&op_lock);
}
