/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations by access to device memory: see dm_op.h. The signal handler reads the list of mappings
 * without a lock: the list only grows, at its head, and entries are used again, never freed. An
 * entry changes under the lock, while its start is 0; the handler copies it, and the copy is valid
 * if the start is the same afterwards.
 */
#include "hca/memory/dm_op.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/thread.h"
#include "hca/hca.h"
#include "util/explain.h"

struct dm_op_mapping {
	_Atomic uintptr_t start;
	_Atomic(uint8_t *) memory; /* NULL: freed */
	_Atomic uint64_t length, size;
	_Atomic unsigned int op;
	struct dm_op_mapping *next;
};

/* The handler's copy of a mapping. */
struct place {
	uintptr_t start;
	uint8_t *memory;
	uint64_t length;
	unsigned int op;
};

/* A SIGBUS handler that was installed before ours. Never freed: a thread may be about to call it. */
struct dm_op_handler {
	struct sigaction action;
	SLIST_ENTRY(dm_op_handler) entry;
};

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
			return __atomic_exchange_n(at, (type)1, __ATOMIC_SEQ_CST);                 \
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

/* False: the address is not in this mapping, or the entry is being changed. */
static bool holds(const struct dm_op_mapping *m, uintptr_t address, struct place *out)
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
	/* [DM1] */
	const struct dm_op_mapping *m =
		atomic_load_explicit(&hca.memory.dm_op.mappings, memory_order_acquire);

	for (; m; m = m->next)
		if (holds(m, address, out))
			return true;
	return false;
}

/* False: not an access to such a mapping, or an instruction that cannot be decoded. */
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

/* Chained SIGBUS handlers may call each other: stop the recursion. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	volatile bool *passing = &fabric_thread.bus_error_passed;
	const struct sigaction end = { .sa_handler = SIG_DFL };
	/* [DM2] */
	const struct dm_op_handler *to =
		atomic_load_explicit(&hca.memory.dm_op.next_handler, memory_order_acquire);

	if (*passing || to->action.sa_handler == SIG_DFL || to->action.sa_handler == SIG_IGN) {
		sigaction(number, &end, NULL); /* the access is repeated, and ends the process */
		return;
	}
	*passing = true;
	if (to->action.sa_flags & SA_SIGINFO)
		to->action.sa_sigaction(number, info, context);
	else
		to->action.sa_handler(number);
	*passing = false;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	int kept = errno;

	if (!serve(info, context))
		pass_on(number, info, context);
	errno = kept;
}

/* ---- mappings; lock held ---- */

static bool same(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags;
}

/* A handler that was installed before is found again, so that the list stays short. */
static int remember(const struct sigaction *action)
{
	struct dm_op_handler *e;

	SLIST_FOREACH(e, &hca.memory.dm_op.handlers, entry)
		if (same(&e->action, action))
			break;
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->action = *action;
		SLIST_INSERT_HEAD(&hca.memory.dm_op.handlers, e, entry);
	}
	/* [DM2] pairs with pass_on(): the action before its pointer */
	atomic_store_explicit(&hca.memory.dm_op.next_handler, e, memory_order_release);
	return 0;
}

/* The program may have installed a handler of its own since the last call. */
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
	if (hca.memory.dm_op.empty_fd < 0)
		hca.memory.dm_op.empty_fd = memfd_create("verbena-dm-op", MFD_CLOEXEC);
	if (hca.memory.dm_op.empty_fd < 0)
		return -errno;
	return take_signal();
}

/* The program has unmapped it, or the kernel has used its addresses again. */
static bool is_free(const struct dm_op_mapping *m, uintptr_t start, uint64_t size)
{
	uintptr_t old = m->start;
	unsigned char there;

	if (!old || (old < start + size && start < old + m->size))
		return true;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): only asked about */
	return mincore((void *)old, 1, &there) && errno == ENOMEM;
}

static struct dm_op_mapping *get_entry(uintptr_t start, uint64_t size)
{
	struct dm_op_mapping *m = atomic_load_explicit(&hca.memory.dm_op.mappings,
						       memory_order_relaxed),
			     *found = NULL;

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
	m->next = atomic_load_explicit(&hca.memory.dm_op.mappings, memory_order_relaxed);
	/* [DM1] pairs with find(): the mapping before its pointer */
	atomic_store_explicit(&hca.memory.dm_op.mappings, m, memory_order_release);
	return m;
}

static int map(uint8_t *memory, uint64_t length, unsigned int op, void **out)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t size = (length + page - 1) & ~(page - 1);
	struct dm_op_mapping *m;
	void *addr;
	int err = prepare();

	if (err)
		return err;
	addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, hca.memory.dm_op.empty_fd, 0);
	if (addr == MAP_FAILED)
		return -errno;
	m = get_entry((uintptr_t)addr, size);
	if (!m) {
		munmap(addr, size);
		return -ENOMEM;
	}
	m->op = op;
	m->length = length;
	m->size = size;
	m->memory = memory;
	m->start = (uintptr_t)addr;
	*out = addr;
	return 0;
}

int dm_op_map(void *memory, uint64_t length, unsigned int op, void **out)
{
	int err;

	if (op >= 32 || !(HCA_DM_OP_MASK >> op & 1))
		return explain(EOPNOTSUPP, "operation %u on device memory; a mask of 0x%x is there",
			       op, HCA_DM_OP_MASK);
	pthread_mutex_lock(&hca.memory.dm_op.lock);
	err = map(memory, length, op, out);
	pthread_mutex_unlock(&hca.memory.dm_op.lock);
	return err ? explain(-err, "the addresses of an operation cannot be mapped") : 0;
}

void dm_op_forget(const void *memory)
{
	/* [DM1] */
	struct dm_op_mapping *m =
		atomic_load_explicit(&hca.memory.dm_op.mappings, memory_order_acquire);

	pthread_mutex_lock(&hca.memory.dm_op.lock);
	for (; m; m = m->next)
		if (m->memory == memory)
			m->memory = NULL;
	pthread_mutex_unlock(&hca.memory.dm_op.lock);
}
