/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes from a process is checked: sizes, texts, and nothing of it is an index. A process that does not answer keeps
 * its question open, so that it finds one at most when it goes on.
 */
#include "top_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "top_rates.h"
#include "util/api.h"

#define PATIENCE_NS 5000000000ull /* a process that runs answers in this time, or is silent */
#define QPS_MOST    (1u << 20)

uint64_t top_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- processes ---- */

static void close_question(struct top_process *p)
{
	if (p->sock >= 0)
		close(p->sock);
	p->sock = -1;
}

static void free_process(struct top_process *p)
{
	close_question(p);
	free(p->qp);
	free(p);
}

static struct top_process *find(const struct top_host *h, fabric_id_t id)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->process[i]->entry.id == id)
			return h->process[i];
	return NULL;
}

static struct top_process *add(struct top_host *h, const struct fabric_process *entry)
{
	struct top_process *p = calloc(1, sizeof(*p));
	void *more = realloc(h->process, (h->count + 1) * sizeof(struct top_process *));

	if (more)
		h->process = more;
	if (!p || !more) {
		free(p);
		return NULL;
	}
	p->entry = *entry;
	p->pid = entry->pid;
	p->sock = -1;
	h->process[h->count++] = p;
	return p;
}

/* Stopped by a signal or a debugger. */
static bool is_stopped(const struct top_process *p)
{
	char path[64], text[512];
	const char *at;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)p->pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = 0;
	/* The name before it may have any characters. */
	at = strrchr(text, ')');
	return at && at[1] == ' ' && (at[2] == 'T' || at[2] == 't');
}

/* False: the process is gone. */
static bool ask(struct top_process *p)
{
	pid_t pid = 0;
	int err = fabric_ask(&p->entry, &p->sock, &pid);

	if (err) {
		p->sock = -1;
		/* Its backlog is full, or we have no descriptor: asked again later. */
		return err == -EAGAIN || err == -EMFILE || err == -ENFILE || err == -ENOMEM;
	}
	if (pid)
		p->pid = pid;
	p->asked_ns = top_now_ns();
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct top_process *const *x = a, *const *y = b;

	if ((*x)->pid != (*y)->pid)
		return (*x)->pid < (*y)->pid ? -1 : 1;
	return (*x)->entry.id < (*y)->entry.id ? -1 : (*x)->entry.id > (*y)->entry.id;
}

static void remove_unlisted(struct top_host *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++)
		if (h->process[i]->is_listed)
			h->process[kept++] = h->process[i];
		else
			free_process(h->process[i]);
	h->count = kept;
	if (kept)
		qsort(h->process, kept, sizeof(struct top_process *), by_pid);
}

void top_host_ask(struct top_host *h)
{
	bool other = fabric_counts_view_update(&h->view);
	struct fabric_process entry;

	for (size_t i = 0; i < h->count; i++)
		h->process[i]->is_listed = false;
	if (other)
		remove_unlisted(h); /* the ids were those of another directory */
	for (uint32_t slot = 0; slot < fabric_ask_slots(&h->view); slot++) {
		struct top_process *p;

		if (fabric_ask_process(&h->view, slot, &entry))
			continue;
		p = find(h, entry.id);
		if (!p)
			p = add(h, &entry);
		if (p)
			p->is_listed = p->sock >= 0 || ask(p);
	}
	remove_unlisted(h);
}

/* ---- answers ---- */

static bool is_valid(const struct snapshot *s, uint64_t size)
{
	return s->magic == SNAPSHOT_MAGIC && s->version == SNAPSHOT_VERSION &&
	       s->qp_size == sizeof(s->qp[0]) && s->count <= QPS_MOST &&
	       sizeof(*s) + s->count * sizeof(s->qp[0]) == size;
}

static bool read_all(int fd, void *to, uint64_t size)
{
	for (uint64_t at = 0; at < size;) {
		ssize_t n = pread(fd, (char *)to + at, size - at, (off_t)at);

		if (n <= 0)
			return false;
		at += (uint64_t)n;
	}
	return true;
}

static struct snapshot *read_snapshot(int fd)
{
	const uint64_t most = sizeof(struct snapshot) + QPS_MOST * sizeof(struct snapshot_qp);
	struct snapshot *s;
	struct stat st;

	if (fstat(fd, &st) || (uint64_t)st.st_size < sizeof(*s) || (uint64_t)st.st_size > most)
		return NULL;
	s = malloc((size_t)st.st_size);
	if (s && (!read_all(fd, s, (uint64_t)st.st_size) || !is_valid(s, (uint64_t)st.st_size))) {
		free(s);
		s = NULL;
	}
	return s;
}

static void take(struct top_process *p)
{
	struct snapshot *s = NULL;
	int fd, err;

	err = fabric_ask_take(p->sock, &fd);
	if (err == -EAGAIN) {
		if (is_stopped(p))
			p->health = TOP_STOPPED;
		else if (top_now_ns() - p->asked_ns > PATIENCE_NS)
			p->health = TOP_SILENT;
		return;
	}
	close_question(p);
	if (!err) {
		s = read_snapshot(fd);
		close(fd);
	}
	if (s && top_rates_add(p, s))
		p->health = TOP_ANSWERS;
	else
		p->health = TOP_SILENT; /* of another version, or out of memory */
	free(s);
}

void top_host_take(struct top_host *h)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->process[i]->sock >= 0)
			take(h->process[i]);
}

bool top_host_is_waiting(struct top_host *h)
{
	for (size_t i = 0; i < h->count; i++) {
		const struct top_process *p = h->process[i];

		if (p->sock >= 0 && p->health != TOP_STOPPED && p->health != TOP_SILENT)
			return true;
	}
	return false;
}

size_t top_host_poll_set(const struct top_host *h, struct pollfd *fds, size_t others)
{
	size_t n = others;

	for (size_t i = 0; i < h->count; i++)
		if (h->process[i]->sock >= 0)
			fds[n++] = (struct pollfd){ .fd = h->process[i]->sock, .events = POLLIN };
	return n;
}

void top_host_roll(struct top_host *h)
{
	uint64_t now = top_now_ns();

	top_rates_roll(h);
	h->seconds = h->rolled_ns ? (double)(now - h->rolled_ns) / 1e9 : 0;
	h->rolled_ns = now;
}

void top_host_fini(struct top_host *h)
{
	for (size_t i = 0; i < h->count; i++)
		free_process(h->process[i]);
	free(h->process);
	*h = (struct top_host){ .count = 0 };
}
