/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explanations of errors. The destination is read from the environment once; each sentence is one
 * write(), so lines of several processes do not mix.
 */
#include "util/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file_limit.h"

#define SENTENCE_MAX 512

/* A sentence is known by its format; it is shown this many times, so that others can be found. */
#define SHOWN_MAX 8

static _Thread_local char last[SENTENCE_MAX];

static struct {
	pthread_once_t once;
	int fd;
	/* How often sentences came, by hash of the format; two that collide are cut short earlier. */
	atomic_uint seen[1024];
} output = { .once = PTHREAD_ONCE_INIT, .fd = -1 };

static void open_destination(void)
{
	const char *where = getenv("VERBENA_EXPLAIN");

	if (!where || !*where || !strcmp(where, "0"))
		return;
	if (!strcmp(where, "1")) {
		output.fd = STDERR_FILENO;
		return;
	}
	output.fd = open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (output.fd < 0) {
		fprintf(stderr, "verbena: VERBENA_EXPLAIN=%s cannot be opened (%s); using stderr\n",
			where, strerror(errno));
		output.fd = STDERR_FILENO;
	}
}

static unsigned int times_before(const char *kind)
{
	uintptr_t hash = (uintptr_t)kind;

	hash = (hash ^ hash >> 10 ^ hash >> 20) % array_size(output.seen);
	return atomic_fetch_add(&output.seen[hash], 1);
}

static void write_line(const char *kind, const char *tail)
{
	char line[SENTENCE_MAX + 128];
	unsigned int before;
	int n;

	pthread_once(&output.once, open_destination);
	if (output.fd < 0)
		return;
	before = times_before(kind);
	if (before >= SHOWN_MAX)
		return;
	n = snprintf(line, sizeof(line), "verbena[%d]: %s%s%s\n", (int)getpid(), last, tail,
		     before == SHOWN_MAX - 1 ? " (more of this kind are not shown)" : "");
	if (n >= (int)sizeof(line))
		n = sizeof(line) - 1;
	file_append(output.fd, line, (size_t)n);
}

static void write_refusal(int err, const char *kind)
{
	char tail[64];

	snprintf(tail, sizeof(tail), " [%s]", strerrorname_np(err) ? strerrorname_np(err) : "?");
	write_line(kind, tail);
}

int(explain)(int err, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last, sizeof(last), fmt, ap);
	va_end(ap);
	write_refusal(err, fmt);
	errno = saved;
	return -err;
}

int explain_stub(const char *call)
{
	snprintf(last, sizeof(last),
		 "%s is not implemented by this adapter; docs/support.md lists what is", call);
	write_refusal(EOPNOTSUPP, call);
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

void explain_note(const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last, sizeof(last), fmt, ap);
	va_end(ap);
	write_line(fmt, "");
	errno = saved;
}

const char *explain_last(void)
{
	return last;
}
