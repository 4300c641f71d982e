/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "util/file_limit.h"

#define SLOTS_LEAST 4

static void stop(int err)
{
	if (err == ENOENT && trace.head) {
		atomic_store(&trace.stopped, true); /* the command has ended before this process */
		return;
	}
	fprintf(stderr,
		"verbena trace: %s (pid %d): the trace ends here, the program goes on: %s\n",
		program_invocation_short_name, (int)getpid(), strerror(err));
	if (trace.head)
		trace.head->error = err;
	atomic_store(&trace.stopped, true);
}

/*
 * The file is not kept open: programs close descriptors that they do not know, and open others of the same number.
 * -errno.
 */
static int open_again(void)
{
	int fd = open(trace.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

static int create_file(void)
{
	void *head;
	int fd, err;

	snprintf(trace.path, sizeof(trace.path), "%s/%d-%u.trace", trace.folder, (int)getpid(),
		 trace.files++);
	fd = open(trace.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	err = -file_allocate(fd, 0, TRACE_PAGE);
	if (err)
		goto close_file;
	head = mmap(NULL, TRACE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED) {
		err = errno;
		goto close_file;
	}
	trace.head = head;
	trace.head->pid = (uint32_t)getpid();
	snprintf(trace.head->program, sizeof(trace.head->program), "%s",
		 program_invocation_short_name);
	trace.head->magic = TRACE_MAGIC;
close_file:
	close(fd);
	return err;
}

/* A part of the file that no thread writes to: a new one, or the oldest. */
static int find_slot(int fd, uint32_t *out)
{
	uint32_t best = UINT32_MAX;
	int err;

	if (trace.slot_count < trace.slots_most) {
		err = -file_allocate(fd, TRACE_PAGE + (off_t)trace.slot_count * TRACE_CHUNK,
				     TRACE_CHUNK);
		if (err)
			return err;
		*out = trace.slot_count++;
		return 0;
	}
	for (uint32_t i = 0; i < trace.slot_count; i++)
		if (!trace.slots[i].taken &&
		    (best == UINT32_MAX || trace.slots[i].number < trace.slots[best].number))
			best = i;
	if (best == UINT32_MAX)
		return EAGAIN;
	trace.head->dropped++;
	*out = best;
	return 0;
}

/* Lock held. */
static int map_chunk(int fd, struct trace_thread *t)
{
	struct trace_chunk *chunk;
	uint32_t slot;
	int err = find_slot(fd, &slot);

	if (err)
		return err;
	chunk = mmap(NULL, TRACE_CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     TRACE_PAGE + (off_t)slot * TRACE_CHUNK);
	if (chunk == MAP_FAILED)
		return errno;
	memset(chunk, 0, TRACE_CHUNK);
	chunk->tid = (uint32_t)gettid();
	prctl(PR_GET_NAME, chunk->thread);
	chunk->number = ++trace.chunks;
	trace.slots[slot] = (struct trace_slot){ .number = chunk->number, .taken = true };
	t->chunk = chunk;
	t->slot = slot;
	t->at = chunk->record;
	t->end = chunk->record + TRACE_RECORDS;
	return 0;
}

/* Lock held. */
static int take_chunk(struct trace_thread *t)
{
	int fd, err = trace.head ? 0 : create_file();

	if (err)
		return err;
	fd = open_again();
	if (fd < 0)
		return -fd;
	err = map_chunk(fd, t);
	close(fd);
	return err;
}

static void give_up_chunk(struct trace_thread *t)
{
	if (!t->chunk)
		return;
	munmap(t->chunk, TRACE_CHUNK);
	trace.slots[t->slot].taken = false;
	t->chunk = NULL;
	t->at = t->end = t->idle = NULL;
}

struct trace_record *trace_chunk_next(void)
{
	struct trace_thread *t = &trace_thread;
	int err, saved = errno;

	if (atomic_load_explicit(&trace.stopped, memory_order_relaxed))
		return NULL;
	if (!t->keyed) {
		t->keyed = true;
		pthread_setspecific(trace.key, t);
	}
	pthread_mutex_lock(&trace.lock);
	give_up_chunk(t);
	err = take_chunk(t);
	if (err == EAGAIN)
		trace.head->lost++;
	else if (err)
		stop(err);
	pthread_mutex_unlock(&trace.lock);
	errno = saved;
	return err ? NULL : t->at;
}

static void thread_ends(void *arg)
{
	struct trace_thread *t = arg;

	pthread_mutex_lock(&trace.lock);
	give_up_chunk(t);
	t->keyed = false;
	pthread_mutex_unlock(&trace.lock);
}

/* The chunks and the file are the parent's; the child opens one of its own. */
static void forked(void)
{
	struct trace_thread *t = &trace_thread;

	if (t->chunk)
		munmap(t->chunk, TRACE_CHUNK);
	t->chunk = NULL;
	t->at = t->end = t->idle = NULL;
	if (trace.head)
		munmap(trace.head, TRACE_PAGE);
	trace.head = NULL;
	trace.slot_count = 0;
	trace.chunks = 0;
	trace.files = 0;
	memset(trace.slots, 0, trace.slots_most * sizeof(trace.slots[0]));
}

void trace_chunk_init(const char *folder, uint64_t limit)
{
	snprintf(trace.folder, sizeof(trace.folder), "%s", folder);
	trace.slots_most = (uint32_t)(limit / TRACE_CHUNK);
	if (trace.slots_most < SLOTS_LEAST)
		trace.slots_most = SLOTS_LEAST;
	trace.slots = calloc(trace.slots_most, sizeof(trace.slots[0]));
	if (!trace.slots || pthread_key_create(&trace.key, thread_ends)) {
		stop(ENOMEM);
		return;
	}
	forksafe_add(&trace.forksafe, &trace.lock, FORKSAFE_LEAF);
	pthread_atfork(NULL, NULL, forked);
}
