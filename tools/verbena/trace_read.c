/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/api.h"

/* ---- files ---- */

static struct trace_cursor *cursor_of(struct trace_reader *r, unsigned int file, uint32_t tid)
{
	struct trace_cursor *c;

	for (size_t i = r->all.count; i--;)
		if (r->all.data[i]->file == file && r->all.data[i]->tid == tid)
			return r->all.data[i];
	c = calloc(1, sizeof(*c));
	if (!c || array_push(&r->all, c)) {
		free(c);
		return NULL;
	}
	c->file = file;
	c->tid = tid;
	return c;
}

static int by_number(const void *a, const void *b)
{
	const struct trace_chunk *x = *(const struct trace_chunk *const *)a;
	const struct trace_chunk *y = *(const struct trace_chunk *const *)b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int list_chunks(struct trace_reader *r, unsigned int file)
{
	const struct trace_file *f = &r->files.data[file];
	const char *base = (const char *)f->head;

	for (size_t at = TRACE_PAGE; at + TRACE_CHUNK <= f->size; at += TRACE_CHUNK) {
		const struct trace_chunk *chunk = (const void *)(base + at);
		struct trace_cursor *c;

		if (!chunk->number)
			continue;
		c = cursor_of(r, file, chunk->tid);
		if (!c || array_push(&c->chunks, chunk))
			return -ENOMEM;
		c->name = chunk->thread;
	}
	return 0;
}

static int add_file(struct trace_reader *r, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), err = 0;
	struct trace_file f = { 0 };
	struct stat st;
	void *head;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_size < (off_t)TRACE_PAGE) {
		close(fd);
		return 0; /* a process that found no room */
	}
	f.size = (size_t)st.st_size;
	head = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (head == MAP_FAILED)
		err = -errno;
	close(fd);
	if (err)
		return err;
	f.head = head;
	if (f.head->magic != TRACE_MAGIC) {
		munmap(head, f.size);
		return 0;
	}
	err = array_push(&r->files, f);
	return err ? err : list_chunks(r, (unsigned int)r->files.count - 1);
}

/* ---- the order of time ---- */

/* Moves to the next record that was written. False: there is none. */
static bool settle(struct trace_cursor *c)
{
	for (; c->chunk < c->chunks.count; c->chunk++, c->record = 0)
		for (; c->record < TRACE_RECORDS; c->record++)
			if (c->chunks.data[c->chunk]->record[c->record].kind)
				return true;
	return false;
}

static const struct trace_record *record_of(const struct trace_cursor *c)
{
	return &c->chunks.data[c->chunk]->record[c->record];
}

static bool is_earlier(const struct trace_cursor *a, const struct trace_cursor *b)
{
	return record_of(a)->ns < record_of(b)->ns;
}

static void sink(struct trace_reader *r, size_t at)
{
	struct trace_cursor **heap = r->heap.data;

	for (;;) {
		size_t least = at, child = 2 * at + 1;

		for (size_t i = child; i < child + 2 && i < r->heap.count; i++)
			if (is_earlier(heap[i], heap[least]))
				least = i;
		if (least == at)
			return;
		struct trace_cursor *moved = heap[at];

		heap[at] = heap[least];
		heap[least] = moved;
		at = least;
	}
}

static int start(struct trace_reader *r)
{
	for (size_t i = 0; i < r->all.count; i++) {
		struct trace_cursor *c = r->all.data[i];

		qsort(c->chunks.data, c->chunks.count, sizeof(c->chunks.data[0]), by_number);
		if (settle(c) && array_push(&r->heap, c))
			return -ENOMEM;
	}
	for (size_t i = r->heap.count; i--;)
		sink(r, i);
	return 0;
}

int trace_read_open(struct trace_reader *r, const char *folder)
{
	DIR *dir = opendir(folder);
	int err = 0;

	*r = (struct trace_reader){ 0 };
	if (!dir)
		return -errno;
	for (struct dirent *d; !err && (d = readdir(dir));)
		if (strstr(d->d_name, ".trace"))
			err = add_file(r, dirfd(dir), d->d_name);
	closedir(dir);
	if (!err)
		err = start(r);
	if (err)
		trace_read_close(r);
	return err;
}

const struct trace_record *trace_read_next(struct trace_reader *r, struct trace_cursor **thread)
{
	const struct trace_record *record;
	struct trace_cursor *c;

	if (!r->heap.count)
		return NULL;
	c = r->heap.data[0];
	record = record_of(c);
	c->record++;
	if (!settle(c))
		r->heap.data[0] = r->heap.data[--r->heap.count];
	sink(r, 0);
	*thread = c;
	return record;
}

void trace_read_close(struct trace_reader *r)
{
	for (size_t i = 0; i < r->all.count; i++) {
		array_fini(&r->all.data[i]->chunks);
		free(r->all.data[i]);
	}
	for (size_t i = 0; i < r->files.count; i++)
		munmap((void *)r->files.data[i].head, r->files.data[i].size);
	array_fini(&r->all);
	array_fini(&r->heap);
	array_fini(&r->files);
}
