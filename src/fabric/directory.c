/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host directory's file, its lock and its process slots; see directory.h for the rules.
 *
 * OFD locks are held on bytes far beyond the end of the file: one byte for changes, and one per slot
 * for the life of its process. An OFD lock does not exclude threads of the process that holds it;
 * directory.lock does, and is always taken first.
 */
#include "fabric/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabric/clock.h"
#include "fabric/dir_memory.h"
#include "fabric/dirfile.h"
#include "fabric/folder.h"
#include "fabric/litter.h"
#include "fabric/state.h"
#include "fabric/thread.h"
#include "util/explain.h"

#define REAP_TIMEOUT_NS  50000000ull /* the service thread waits no longer for the lock */
#define LOCK_NAP_MIN_NS  20000
#define LOCK_NAP_MAX_NS  1000000
#define JOIN_ATTEMPTS    1000
#define EXIT_ATTEMPTS    200
#define REAP_LIMIT       64u /* slots that a process looks at when it joins or leaves */
#define REAP_LIMIT_MANY  4u  /* of so many slots that a look takes long: */
#define MANY_SLOTS       4096u
#define WINDOW           256u /* slots that are taken in turn; more when these are not free */
#define GENERATION_LIMIT (1u << (32 - FABRIC_SLOT_BITS))

struct dir_file *fabric_directory_file(void)
{
	/* [D2] pairs with fabric_directory_join(): the mapping before the pointer */
	return atomic_load_explicit(&fabric.directory.file, memory_order_acquire);
}

fabric_id_t fabric_self(void)
{
	return atomic_load_explicit(&fabric.directory.self, memory_order_relaxed);
}

const char *fabric_folder(void)
{
	return fabric.directory.place.folder;
}

/* ---- locks ---- */

static int ofd_lock(int fd, int command, short type, off_t byte)
{
	struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
	int rc;

	do
		rc = fcntl(fd, command, &range);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : 0;
}

/* True when another open file has the byte. */
static bool ofd_is_locked(int fd, off_t byte)
{
	struct flock range = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};

	return fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

/* F_OFD_SETLKW has no limit, and the process that has the lock may be stopped. */
static int lock_changes(int fd, uint64_t timeout_ns)
{
	struct timespec nap = { .tv_nsec = LOCK_NAP_MIN_NS };
	uint64_t until_ns = 0;
	int err;

	while ((err = ofd_lock(fd, F_OFD_SETLK, F_WRLCK, DIR_LOCK_CHANGES)) == -EAGAIN ||
	       err == -EACCES) {
		if (!until_ns)
			until_ns = fabric_now_ns() + timeout_ns;
		else if (fabric_now_ns() > until_ns)
			return -ETIMEDOUT;
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < LOCK_NAP_MAX_NS)
			nap.tv_nsec *= 2;
	}
	return err;
}

static int lock_within(uint64_t timeout_ns)
{
	int err;

	pthread_mutex_lock(&fabric.directory.lock);
	if (fabric.directory.fd < 0) {
		pthread_mutex_unlock(&fabric.directory.lock);
		return -ENOTCONN;
	}
	err = lock_changes(fabric.directory.fd, timeout_ns);
	if (err) {
		pthread_mutex_unlock(&fabric.directory.lock);
		return explain(-err, "the host directory %s/%s cannot be locked: %s",
			       fabric.directory.place.folder, fabric.directory.place.name,
			       strerror(-err));
	}
	return 0;
}

int fabric_directory_lock(void)
{
	return lock_within(fabric.directory.lock_timeout_ns);
}

void fabric_directory_unlock(void)
{
	ofd_lock(fabric.directory.fd, F_OFD_SETLK, F_UNLCK, DIR_LOCK_CHANGES);
	pthread_mutex_unlock(&fabric.directory.lock);
}

/* ---- slots; the lock is held ---- */

static void bump_versions(struct dir_file *file)
{
	for (unsigned int kind = 0; kind < DIR_KINDS; kind++)
		/* [D3] pairs with fabric_reg_version(): the change before the new version */
		atomic_fetch_add_explicit(&file->reg_version[kind], 1, memory_order_release);
}

static void clear_slot(struct dir_file *file, uint32_t slot)
{
	atomic_store_explicit(&file->slot[slot].id, FABRIC_ID_NONE, memory_order_release);
	bump_versions(file);
}

/* A process sees its own byte as not locked. */
static bool slot_is_dead(struct dir_file *file, int fd, uint32_t slot)
{
	fabric_id_t id = atomic_load_explicit(&file->slot[slot].id, memory_order_relaxed);

	return id && id != fabric_self() && !ofd_is_locked(fd, DIR_LOCK_SLOT(slot));
}

static bool is_listed(struct dir_file *file, uint32_t slot)
{
	return atomic_load_explicit(&file->slot[slot].id, memory_order_relaxed);
}

/*
 * Looks at no more than `limit` slots of other processes, from where the last call ended: the kernel
 * compares a byte with the locks of all processes, so each look takes longer the more there are.
 */
static unsigned int reap_slots(struct dir_file *file, int fd, unsigned int limit)
{
	uint32_t slots = dir_slots(file);
	uint32_t first = file->next_reap;
	unsigned int reaped = 0;

	for (uint32_t i = 0; i < slots && limit; i++) {
		uint32_t slot = (first + i) % slots;

		if (!is_listed(file, slot))
			continue;
		limit--;
		file->next_reap = (slot + 1) % slots;
		if (!slot_is_dead(file, fd, slot))
			continue;
		clear_slot(file, slot);
		reaped++;
	}
	return reaped;
}

static unsigned int reap_some(struct dir_file *file, int fd)
{
	return reap_slots(file, fd, dir_slots(file) < MANY_SLOTS ? REAP_LIMIT : REAP_LIMIT_MANY);
}

/* Frees slots up to the first process that lives; false when there is none. */
static bool is_any_alive(struct dir_file *file, int fd)
{
	uint32_t slots = dir_slots(file);

	for (uint32_t slot = 0; slot < slots; slot++) {
		if (!is_listed(file, slot))
			continue;
		if (!slot_is_dead(file, fd, slot))
			return true;
		clear_slot(file, slot);
	}
	return false;
}

static uint64_t own_start_time(void)
{
	unsigned long long ticks = 0;
	char line[1024], *p;
	ssize_t n;
	int fd;

	fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	line[n] = 0;
	/* The name in parentheses may hold anything; 20 fields follow it. */
	p = strrchr(line, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		ticks = strtoull(p + 1, NULL, 10);
	return ticks;
}

static void fill_slot(struct dir_file *file, uint32_t index, const uint8_t *token)
{
	struct dir_slot *slot = &file->slot[index];
	uint64_t words[2];
	char name[16] = "";

	atomic_store_explicit(&slot->pid, (uint64_t)getpid(), memory_order_relaxed);
	atomic_store_explicit(&slot->start_time, own_start_time(), memory_order_relaxed);
	memcpy(words, token, sizeof(words));
	for (int i = 0; i < 2; i++)
		atomic_store_explicit(&slot->token[i], words[i], memory_order_relaxed);
	prctl(PR_GET_NAME, name);
	memcpy(words, name, sizeof(words));
	for (int i = 0; i < 2; i++)
		atomic_store_explicit(&slot->name[i], words[i], memory_order_relaxed);
	for (unsigned int i = 0; i < DIR_COUNTERS; i++)
		atomic_store_explicit(&file->counter[index][i], 0, memory_order_relaxed);
}

static fabric_id_t next_id(struct dir_slot *slot, uint32_t index)
{
	uint32_t generation = atomic_load_explicit(&slot->generation, memory_order_relaxed) + 1;

	if (generation == GENERATION_LIMIT)
		generation = 1;
	atomic_store_explicit(&slot->generation, generation, memory_order_relaxed);
	return generation << FABRIC_SLOT_BITS | index;
}

/* Memory for the slots up to this one and for its counters. */
static int reserve_slot(struct dir_file *file, int fd, uint32_t slot)
{
	uint32_t slots = dir_slots(file);
	int err;

	if (slot < slots)
		return 0;
	err = dir_memory_reserve(fd, file, &file->slot[slots],
				 (slot + 1 - slots) * sizeof(file->slot[0]));
	if (!err)
		err = dir_memory_reserve(fd, file, file->counter[slots],
					 (slot + 1 - slots) * sizeof(file->counter[0]));
	if (err)
		return err;
	/* [D9] */
	atomic_store_explicit(&file->slots, slot + 1, memory_order_release);
	return 0;
}

static fabric_id_t take_slot(struct dir_file *file, uint32_t slot, const uint8_t *token)
{
	fabric_id_t id = next_id(&file->slot[slot], slot);

	/* [D4] pairs with fabric_slot_read(): the old id is gone before the new contents */
	atomic_thread_fence(memory_order_release);
	fill_slot(file, slot, token);
	/* [D1] */
	atomic_store_explicit(&file->slot[slot].id, id, memory_order_release);
	return id;
}

/*
 * Slots of a window are taken in turn, so that messages for a process that has died do not reach one that took
 * its slot at once, and a slot's generations last. The window grows by its own size when all of it is taken. -EUSERS
 * when no slot is free.
 */
static int claim_free_slot(struct dir_file *file, int fd, const uint8_t *token, fabric_id_t *out)
{
	uint32_t slots = dir_slots(file);
	uint32_t end = (slots + WINDOW - 1) / WINDOW * WINDOW, first;

	end = end ? end : WINDOW;
	first = file->next_slot % end;
	for (uint32_t i = 0; i < FABRIC_SLOTS; i++) {
		uint32_t slot = i < end ? (first + i) % end : i;
		int err;

		if (slot < slots && is_listed(file, slot))
			continue;
		/* A process that is about to exit may still hold the byte of a free slot. */
		if (ofd_lock(fd, F_OFD_SETLK, F_WRLCK, DIR_LOCK_SLOT(slot)))
			continue;
		err = reserve_slot(file, fd, slot);
		if (err)
			return err;
		file->next_slot = slot + 1;
		*out = take_slot(file, slot, token);
		return 0;
	}
	return -EUSERS;
}

/*
 * Numbers of queue pairs and keys are to be unknown to other users, and a host that lost all its
 * processes must not begin with the old ones: its peers take a request with such a number for a
 * stale connection. So each process begins somewhere else. Its further blocks follow the first, so
 * that few ranges have to be told apart.
 */
static int choose_first_blocks(struct dir_file *file)
{
	uint32_t block[2];

	if (getrandom(block, sizeof(block), 0) != sizeof(block))
		return explain(EIO, "the kernel gives no random bytes");
	atomic_store_explicit(&file->next_block, block[0] % DIR_QPN_BLOCKS, memory_order_relaxed);
	atomic_store_explicit(&file->next_key_block, block[1] % DIR_KEY_BLOCKS,
			      memory_order_relaxed);
	return 0;
}

static int claim_slot(struct dir_file *file, int fd, const uint8_t *token, fabric_id_t *out)
{
	unsigned int reaped = reap_some(file, fd);
	fabric_id_t id;
	int err = claim_free_slot(file, fd, token, &id);

	if (err == -EUSERS) {
		reaped += reap_slots(file, fd, FABRIC_SLOTS);
		err = claim_free_slot(file, fd, token, &id);
	}
	if (err == -EUSERS)
		return explain(EUSERS,
			       "all %u slots of the host directory are taken by living processes",
			       FABRIC_SLOTS);
	if (err)
		return explain(-err, "the host directory has no room for another process: %s",
			       strerror(-err));
	atomic_store_explicit(&file->counter[fabric_id_slot(id)][FABRIC_COUNT_REAPED], reaped,
			      memory_order_relaxed);
	*out = id;
	return 0;
}

/* ---- joining and leaving ---- */

/* Without the mapping: whether another process has the byte of a slot. The lock is held. */
static bool has_processes(int fd)
{
	struct flock slots = { .l_type = F_WRLCK,
			       .l_whence = SEEK_SET,
			       .l_start = DIR_LOCK_SLOT(0),
			       .l_len = FABRIC_SLOTS };

	return fcntl(fd, F_OFD_GETLK, &slots) || slots.l_type != F_UNLCK;
}

/* The file is new, or its creator died before it wrote the magic: no process uses it yet. */
static int complete_file(int fd, const struct folder_file *place, struct dir_file **out)
{
	struct dir_file *file = NULL;
	int err;

	if (has_processes(fd))
		return explain(
			EXDEV,
			"the host directory %s/%s is in System V memory of another IPC namespace",
			place->folder, place->name);
	err = dir_memory_create(fd, place->folder, &file);
	if (err)
		return err;
	file->version = DIR_VERSION;
	file->size = sizeof(*file);
	atomic_store_explicit(&file->magic, DIR_MAGIC, memory_order_release);
	*out = file;
	return 0;
}

/*
 * The file is locked. 0 when it is a host directory of our version, completed if it was empty;
 * -ESTALE when it has to be opened again because it was removed, by another process or by this one.
 */
static int map_locked(int fd, const struct folder_file *place, struct dir_file **out)
{
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!st.st_nlink)
		return -ESTALE;
	err = dir_memory_map(fd, place->folder, false, out);
	if (err == -ENODATA)
		err = complete_file(fd, place, out);
	if (err == -EPROTO) {
		explain_note("the host directory %s/%s is of another version of Verbena; starting "
			     "a new one",
			     place->folder, place->name);
		folder_file_unlink(place, fd);
		return -ESTALE;
	}
	/* Perhaps it was made just now, for this process. */
	if (err && !has_processes(fd))
		folder_file_unlink(place, fd);
	return err;
}

static int open_locked(struct folder_file *place, int *out, struct dir_file **file)
{
	int fd = -1, err;

	place->no_room = 0;
	for (int i = 0; i < JOIN_ATTEMPTS; i++) {
		err = folder_file_open(place, &fd);
		if (err)
			return err;
		err = lock_changes(fd, fabric.directory.lock_timeout_ns);
		if (!err)
			err = map_locked(fd, place, file);
		if (!err) {
			*out = fd;
			return 0;
		}
		close(fd);
		/* These were explained where they were decided. */
		if (err == -EFBIG || err == -EXDEV ||
		    (err == -ENOSPC && place->base == FOLDER_CHOSEN))
			return err;
		if (err == -ENOSPC)
			place->no_room |= 1u << place->base;
		else if (err != -ESTALE)
			return explain(-err, "the host directory %s/%s cannot be used: %s",
				       place->folder, place->name, strerror(-err));
	}
	return explain(EAGAIN, "the host directory %s/%s was removed %d times while we opened it",
		       place->folder, place->name, JOIN_ATTEMPTS);
}

int fabric_directory_join(const uint8_t token[FABRIC_TOKEN_BYTES])
{
	struct dir_file *file = NULL;
	fabric_id_t self;
	int fd = -1, err;

	pthread_mutex_lock(&fabric.directory.lock);
	if (fabric.directory.fd >= 0) {
		err = -EALREADY;
		goto unlock;
	}
	err = open_locked(&fabric.directory.place, &fd, &file);
	if (err)
		goto unlock;
	err = choose_first_blocks(file);
	if (!err)
		err = claim_slot(file, fd, token, &self);
	if (err)
		goto unmap;
	fabric.directory.fd = fd;
	atomic_store_explicit(&fabric.directory.self, self, memory_order_relaxed);
	/* [D2] */
	atomic_store_explicit(&fabric.directory.file, file, memory_order_release);
	fabric_directory_unlock();
	if (fabric.directory.place.base != FOLDER_CHOSEN)
		litter_remove();
	return 0;
unmap:
	dir_memory_unmap(file);
	if (!has_processes(fd))
		folder_file_unlink(&fabric.directory.place, fd);
	close(fd);
unlock:
	pthread_mutex_unlock(&fabric.directory.lock);
	return err;
}

/* The lock is held. */
static void leave_slot(void)
{
	struct dir_file *file = fabric_directory_file();

	clear_slot(file, fabric_id_slot(fabric_self()));
	atomic_store_explicit(&fabric.directory.self, FABRIC_ID_NONE, memory_order_relaxed);
	reap_some(file, fabric.directory.fd);
	if (!is_any_alive(file, fabric.directory.fd))
		folder_file_unlink(&fabric.directory.place, fabric.directory.fd);
}

void fabric_directory_leave(void)
{
	struct dir_file *file;

	if (fabric_directory_lock())
		return;
	leave_slot();
	file = atomic_exchange(&fabric.directory.file, NULL);
	dir_memory_unmap(file);
	/* Drops both locks. */
	close(fabric.directory.fd);
	fabric.directory.fd = -1;
	pthread_mutex_unlock(&fabric.directory.lock);
}

/*
 * Other threads may have been stopped while they hold locks, so nothing here waits for long. If the
 * lock is not available, another process reaps the slot later.
 */
void fabric_directory_exit(void)
{
	const struct timespec nap = { .tv_nsec = 5000000 };

	for (int i = 0; i < EXIT_ATTEMPTS; i++, nanosleep(&nap, NULL)) {
		if (pthread_mutex_trylock(&fabric.directory.lock))
			continue;
		if (fabric.directory.fd < 0 || !fabric_self()) {
			pthread_mutex_unlock(&fabric.directory.lock);
			return;
		}
		if (!ofd_lock(fabric.directory.fd, F_OFD_SETLK, F_WRLCK, DIR_LOCK_CHANGES)) {
			leave_slot();
			fabric_directory_unlock();
			return;
		}
		pthread_mutex_unlock(&fabric.directory.lock);
	}
}

unsigned int fabric_directory_reap(void)
{
	unsigned int reaped;

	if (fabric_directory_lock())
		return 0;
	reaped = reap_slots(fabric_directory_file(), fabric.directory.fd, FABRIC_SLOTS);
	fabric_directory_unlock();
	fabric_count(FABRIC_COUNT_REAPED, reaped);
	return reaped;
}

bool fabric_process_reap(fabric_id_t id)
{
	struct dir_file *file = fabric_directory_file();
	bool gone;

	if (!file || !dir_is_listed(file, id))
		return true;
	if (fabric_process_alive(id) ||
	    lock_within(fabric_thread.is_service ? REAP_TIMEOUT_NS
						 : fabric.directory.lock_timeout_ns))
		return false;
	/* The slot may have been taken by another process meanwhile. */
	gone = !dir_is_listed(file, id);
	if (!gone && slot_is_dead(file, fabric.directory.fd, fabric_id_slot(id))) {
		clear_slot(file, fabric_id_slot(id));
		fabric_count(FABRIC_COUNT_REAPED, 1);
		gone = true;
	}
	fabric_directory_unlock();
	return gone;
}

/* ---- fork ---- */

/* OFD locks belong to the open file, which the parent still has: closing our copy releases none. */
void fabric_directory_forked(void)
{
	struct dir_file *file = atomic_exchange(&fabric.directory.file, NULL);

	if (file)
		dir_memory_unmap(file);
	if (fabric.directory.fd >= 0)
		close(fabric.directory.fd);
	fabric.directory.fd = -1;
	atomic_store_explicit(&fabric.directory.self, FABRIC_ID_NONE, memory_order_relaxed);
}

/* ---- looking up processes ---- */

int fabric_slot_read(struct dir_file *file, uint32_t index, struct fabric_process *out)
{
	struct dir_slot *slot = &file->slot[index];
	struct fabric_process p;
	uint64_t words[4];

	if (!dir_has_slot(file, index))
		return -ESRCH;
	/* [D1] */
	p.id = atomic_load_explicit(&slot->id, memory_order_acquire);
	if (!p.id || fabric_id_slot(p.id) != index)
		return -ESRCH;
	p.pid = (pid_t)atomic_load_explicit(&slot->pid, memory_order_relaxed);
	p.start_time = atomic_load_explicit(&slot->start_time, memory_order_relaxed);
	for (int i = 0; i < 2; i++) {
		words[i] = atomic_load_explicit(&slot->token[i], memory_order_relaxed);
		words[2 + i] = atomic_load_explicit(&slot->name[i], memory_order_relaxed);
	}
	/* [D4] pairs with claim_free_slot() */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&slot->id, memory_order_relaxed) != p.id)
		return -ESRCH;
	memcpy(p.token, words, sizeof(p.token));
	memcpy(p.name, words + 2, sizeof(p.name));
	p.name[sizeof(p.name) - 1] = 0;
	*out = p;
	return 0;
}

int fabric_process_in_slot(uint32_t slot, struct fabric_process *out)
{
	struct dir_file *file = fabric_directory_file();

	return file ? fabric_slot_read(file, slot, out) : -ESRCH;
}

int fabric_process_find(fabric_id_t id, struct fabric_process *out)
{
	struct fabric_process p;

	if (!id || fabric_process_in_slot(fabric_id_slot(id), &p) || p.id != id)
		return -ESRCH;
	*out = p;
	return 0;
}

fabric_id_t fabric_process_last(uint32_t slot)
{
	struct dir_file *file = fabric_directory_file();
	uint32_t generation;

	if (!file || !dir_has_slot(file, slot))
		return FABRIC_ID_NONE;
	generation = atomic_load_explicit(&file->slot[slot].generation, memory_order_relaxed);
	return generation ? generation << FABRIC_SLOT_BITS | slot : FABRIC_ID_NONE;
}

bool fabric_process_alive(fabric_id_t id)
{
	struct dir_file *file = fabric_directory_file();

	if (!file || !dir_is_listed(file, id))
		return false;
	return id == fabric_self() ||
	       ofd_is_locked(fabric.directory.fd, DIR_LOCK_SLOT(fabric_id_slot(id)));
}

/* ---- counters ---- */

_Static_assert(FABRIC_COUNTERS == DIR_COUNTERS, "a row holds all counters");

void fabric_count(enum fabric_counter counter, uint64_t n)
{
	struct dir_file *dir = fabric_directory_file();
	fabric_id_t self = fabric_self();

	if (dir && self)
		atomic_fetch_add_explicit(&dir->counter[fabric_id_slot(self)][counter], n,
					  memory_order_relaxed);
}

uint64_t fabric_counter_read(uint32_t slot, enum fabric_counter counter)
{
	struct dir_file *dir = fabric_directory_file();

	if (!dir || !dir_has_slot(dir, slot) || counter >= FABRIC_COUNTERS ||
	    !atomic_load_explicit(&dir->slot[slot].id, memory_order_relaxed))
		return 0;
	return atomic_load_explicit(&dir->counter[slot][counter], memory_order_relaxed);
}
