/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/state.h"
#include "check/suppress.h"
#include "check/symbol.h"
#include "util/file_limit.h"

#define TOLD_MOST   100 /* findings of a process that are told in full */
#define FRAMES_MOST 12  /* of a stack */
#define FRAME_MOST  256
#define TEXT_MOST   16384

struct told {
	struct hash_link link;
};

/* Text of limited size; what does not fit is cut. */
struct text {
	char data[TEXT_MOST];
	size_t used;
};

struct frames {
	unsigned int stack_of[CHECK_STACKS * FRAMES_MOST + 1];
	unsigned int count;
	char *lines[CHECK_STACKS * FRAMES_MOST + 1];
};

static __attribute__((format(printf, 2, 3))) void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->data + t->used, sizeof(t->data) - t->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n < sizeof(t->data) - t->used ? (size_t)n
								 : sizeof(t->data) - t->used - 1;
}

static void put_string(struct text *t, const char *s)
{
	put(t, "\"");
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			put(t, "\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			put(t, "\\u%04x", *s);
		else
			put(t, "%c", *s);
	put(t, "\"");
}

/* The first frame outside of Verbena's libraries; librdmacm and rsockets are the program's way in. */
static int first_frame(const struct check_place *place)
{
	int i = 0;

	while (i < place->count && check_symbol_is_ours(place->frames[i], true))
		i++;
	return i < place->count ? i : 0;
}

static uint64_t key_of(const struct check_report *r)
{
	const struct check_place *place = r->stacks[0].place;
	uint64_t key = (uint64_t)r->kind << 56;
	int at;

	if (!place || !place->count)
		return key;
	/* Two frames: the first may be an inline function of the headers that has code of its own. */
	at = first_frame(place);
	key ^= (uintptr_t)place->frames[at];
	return at + 1 < place->count ? key ^ (uintptr_t)place->frames[at + 1] << 16 : key;
}

static bool is_new(uint64_t key)
{
	struct told *told;

	if (hash_find(&check.told, key))
		return false;
	told = calloc(1, sizeof(*told));
	if (told)
		hash_add(&check.told, &told->link, key);
	return told;
}

static void add_frame(struct frames *f, unsigned int stack, const char *line)
{
	f->lines[f->count] = strdup(line);
	if (f->lines[f->count])
		f->stack_of[f->count++] = stack;
}

/* libc's code that calls main(), or the function of a thread. */
static bool is_start(const char *line)
{
	return !strncmp(line, "__libc_start", 12) || !strncmp(line, "start_thread", 12);
}

/* An inline function of the public headers, in a program that is built without optimization. */
static bool is_header(const char *line)
{
	line += strspn(line, "_");
	return !strncmp(line, "ibv_", 4);
}

/* Stacks end where the program's code begins. */
static void name_frames(const struct check_report *r, struct frames *f)
{
	char line[FRAME_MOST];
	struct check_dw dw;

	check_symbols_open(&dw);
	for (unsigned int s = 0; s < CHECK_STACKS && r->stacks[s].place; s++) {
		const struct check_place *place = r->stacks[s].place;
		int first = place->count ? first_frame(place) : 0;

		for (int i = first; i < place->count && i < first + FRAMES_MOST; i++) {
			check_symbol_text(&dw, place->frames[i], line, sizeof(line));
			if (is_start(line))
				break;
			if (i == first && is_header(line) && i + 1 < place->count)
				continue;
			add_frame(f, s, line);
			if (!strncmp(line, "main (", 6))
				break;
		}
		if (!place->count)
			add_frame(f, s, "(unknown: there are too many places)");
	}
	check_symbols_close(&dw);
}

static void tell(const struct check_report *r, const struct frames *f, struct text *t)
{
	const struct check_catalog *kind = check_catalog_of(r->kind);
	unsigned int at = 0;

	put(t, "verbena check: [%s] %s (pid %d)%s\n  %s\n", kind->id, program_invocation_short_name,
	    (int)getpid(), kind->note ? " note" : "", r->text);
	for (unsigned int s = 0; s < CHECK_STACKS && r->stacks[s].place; s++) {
		put(t, "  %s\n", r->stacks[s].title);
		for (; at < f->count && f->stack_of[at] == s; at++)
			put(t, "    %s\n", f->lines[at]);
	}
	put(t, "  why: %s\n  do: %s\n", kind->why, kind->advice);
}

static void record(const struct check_report *r, const struct frames *f, struct text *t)
{
	const struct check_catalog *kind = check_catalog_of(r->kind);
	unsigned int at = 0;

	put(t, "{\"id\":\"%s\",\"note\":%s,\"pid\":%d,\"program\":", kind->id,
	    kind->note ? "true" : "false", (int)getpid());
	put_string(t, program_invocation_short_name);
	put(t, ",\"text\":");
	put_string(t, r->text);
	put(t, ",\"why\":");
	put_string(t, kind->why);
	put(t, ",\"do\":");
	put_string(t, kind->advice);
	put(t, ",\"stacks\":[");
	for (unsigned int s = 0; s < CHECK_STACKS && r->stacks[s].place; s++) {
		put(t, "%s{\"title\":", s ? "," : "");
		put_string(t, r->stacks[s].title);
		put(t, ",\"frames\":[");
		for (unsigned int n = 0; at < f->count && f->stack_of[at] == s; at++, n++) {
			put(t, "%s", n ? "," : "");
			put_string(t, f->lines[at]);
		}
		put(t, "]}");
	}
	put(t, "]}\n");
}

/* The place of a finding as the user sees it: its first line. */
static uint64_t key_of_line(enum check_kind kind, const char *line)
{
	uint64_t key = (uint64_t)kind + 1;

	for (; *line; line++)
		key = (key ^ (unsigned char)*line) * 0x100000001b3ull;
	return key;
}

static void free_frames(struct frames *f)
{
	for (unsigned int i = 0; i < f->count; i++)
		free(f->lines[i]);
}

static void tell_new(const struct check_report *r)
{
	static const char limit[] = "verbena check: more findings of this process are not told\n";
	struct frames f = { 0 };
	struct text *t = calloc(1, sizeof(*t));

	name_frames(r, &f);
	if (!is_new(key_of_line(r->kind, f.count ? f.lines[0] : ""))) {
		free_frames(&f);
		free(t);
		return;
	}
	add_frame(&f, CHECK_STACKS, program_invocation_short_name);
	if (t && !check_suppressed(check_catalog_of(r->kind)->id, (const char *const *)f.lines,
				   f.count)) {
		unsigned int *count =
			check_catalog_of(r->kind)->note ? &check.note_count : &check.told_count;

		if (++*count <= TOLD_MOST) {
			tell(r, &f, t);
			file_append(STDERR_FILENO, t->data, t->used);
			t->used = 0;
			record(r, &f, t);
			if (check.records >= 0)
				file_append(check.records, t->data, t->used);
		} else if (*count == TOLD_MOST + 1) {
			file_append(STDERR_FILENO, limit, sizeof(limit) - 1);
		}
	}
	free(t);
	free_frames(&f);
}

void check_report(const struct check_report *report)
{
	int saved = errno;

	pthread_mutex_lock(&check.report_lock);
	if (is_new(key_of(report)))
		tell_new(report);
	pthread_mutex_unlock(&check.report_lock);
	errno = saved;
}

/* A line that says that a process is checked. */
static void record_process(void)
{
	struct text *t = calloc(1, sizeof(*t));

	if (!t)
		return;
	put(t, "{\"checked\":%d,\"program\":", (int)getpid());
	put_string(t, program_invocation_short_name);
	put(t, "}\n");
	file_append(check.records, t->data, t->used);
	free(t);
}

void check_report_open(void)
{
	const char *files = getenv("VERBENA_CHECK_SUPPRESSIONS"), *name = getenv("VERBENA_CHECK"),
		   *bad;
	int err;

	if (files && *files) {
		err = check_suppress_read(files, &bad);
		if (err)
			fprintf(stderr, "verbena check: suppressions cannot be read from %s: %s\n",
				bad, strerror(-err));
	}
	if (!name || *name != '/')
		return;
	check.records = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (check.records < 0)
		fprintf(stderr, "verbena check: findings cannot be written to %s: %s\n", name,
			strerror(errno));
	else
		record_process();
}

void check_report_end(void)
{
	if (check.records < 0 && check.told_count)
		fprintf(stderr, "verbena check: %s (pid %d): %u finding%s\n",
			program_invocation_short_name, (int)getpid(), check.told_count,
			check.told_count == 1 ? "" : "s");
}
