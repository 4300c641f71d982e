/* SPDX-License-Identifier: BSD-2-Clause */
#include "check_records.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "util/array.h"

static int read_all(const char *name, char **out)
{
	FILE *file = fopen(name, "re");
	size_t room = 0, used = 0;
	char *text = NULL;

	if (!file)
		return -errno;
	do {
		text = array_grow(text, &room, used + 4096, 1);
		if (!text)
			break;
		used += fread(text + used, 1, room - used - 1, file);
	} while (!feof(file) && !ferror(file));
	fclose(file);
	if (!text)
		return -ENOMEM;
	text[used] = 0;
	*out = text;
	return 0;
}

/* The kind that the line is of; CHECK_KINDS: it is none of ours, for instance cut off by a full disk. */
static int kind_of(const char *line)
{
	size_t length = strlen(line);

	if (strncmp(line, "{\"id\":\"", 7) || length < 2 || strcmp(line + length - 2, "]}"))
		return CHECK_KINDS;
	for (int i = 0; i < CHECK_KINDS; i++) {
		const char *id = check_catalog_of(i)->id;

		if (!strncmp(line + 7, id, strlen(id)) && line[7 + strlen(id)] == '"')
			return i;
	}
	return CHECK_KINDS;
}

int check_records_read(struct check_records *r, const char *file)
{
	ARRAY_OF(char *) lines = { 0 };
	char *save, *line;
	int err;

	*r = (struct check_records){ 0 };
	err = read_all(file, &r->text);
	for (line = err ? NULL : strtok_r(r->text, "\n", &save); line && !err;
	     line = strtok_r(NULL, "\n", &save)) {
		int kind = kind_of(line);

		r->processes += !strncmp(line, "{\"checked\":", 11);
		if (kind == CHECK_KINDS)
			continue;
		r->kinds[kind]++;
		err = array_push(&lines, line);
	}
	r->lines = lines.data;
	r->count = lines.count;
	if (!err)
		return 0;
	check_records_free(r);
	return say(EXIT_RUN_FAILED, "the findings cannot be read from %s: %s", file,
		   strerror(-err));
}

void check_records_free(struct check_records *r)
{
	free(r->text);
	free(r->lines);
	*r = (struct check_records){ 0 };
}

static void put_json(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c < 0x20)
			fprintf(to, "\\u%04x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

/* The file is written beside the program's result, not instead of it. */
static FILE *open_report(const char *name)
{
	FILE *to = fopen(name, "we");

	if (!to)
		say(0, "%s cannot be written: %s", name, strerror(errno));
	return to;
}

static void close_report(FILE *to, const char *name)
{
	bool failed = ferror(to);

	if (fclose(to) || failed)
		say(0, "%s is not complete: %s", name, strerror(errno));
}

void check_records_json(const struct check_records *r, const char *file, char *const argv[],
			int status)
{
	FILE *to = open_report(file);

	if (!to)
		return;
	fputs("{\"command\":[", to);
	for (int i = 0; argv[i]; i++) {
		fputs(i ? "," : "", to);
		put_json(to, argv[i]);
	}
	fprintf(to, "],\"exit_status\":%d,\"findings\":[\n", status);
	for (size_t i = 0; i < r->count; i++)
		fprintf(to, "%s%s\n", i ? "," : "", r->lines[i]);
	fputs("]}\n", to);
	close_report(to, file);
}

static void put_xml_char(FILE *to, char c)
{
	if (c == '<')
		fputs("&lt;", to);
	else if (c == '>')
		fputs("&gt;", to);
	else if (c == '&')
		fputs("&amp;", to);
	else if (c == '"')
		fputs("&quot;", to);
	else if ((unsigned char)c >= 0x20)
		fputc(c, to);
}

/* The string that follows a key of a line; the checker escapes quotes, backslashes and control characters. */
static void put_xml_of(FILE *to, const char *line, const char *key)
{
	const char *at = strstr(line, key);

	if (!at)
		return;
	for (at += strlen(key); *at && *at != '"'; at++) {
		if (*at == '\\' && at[1] == 'u' && strlen(at) >= 6) {
			at += 5;
			continue;
		}
		if (*at == '\\' && at[1])
			at++;
		put_xml_char(to, *at);
	}
}

static void put_frames(FILE *to, const char *line)
{
	const char *at = strstr(line, "\"stacks\":[");

	while (at && (at = strstr(at, "{\"title\":\""))) {
		const char *end = strstr(at, "]}");

		put_xml_of(to, at, "{\"title\":\"");
		fputc('\n', to);
		for (at = strstr(at, "\"frames\":["), at = at ? at + 9 : end; at && at < end;
		     at++) {
			if (*at != '"')
				continue;
			fputs("  ", to);
			put_xml_of(to, at, "\"");
			fputc('\n', to);
			for (at++; *at && *at != '"'; at++)
				at += *at == '\\' && at[1];
		}
		at = end;
	}
}

/* A test for each kind, so that a CI server shows the same list each time. */
void check_records_junit(const struct check_records *r, const char *file)
{
	FILE *to = open_report(file);
	unsigned int failures = 0;

	if (!to)
		return;
	for (int i = 0; i < CHECK_KINDS; i++)
		failures += r->kinds[i] && !check_catalog_of(i)->note;
	fprintf(to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"verbena check\" tests=\"%d\" failures=\"%u\">\n",
		CHECK_KINDS, failures);
	for (int i = 0; i < CHECK_KINDS; i++) {
		const char *id = check_catalog_of(i)->id;
		bool note = check_catalog_of(i)->note;

		fprintf(to, "<testcase classname=\"verbena.check\" name=\"%s\">\n", id);
		for (size_t n = 0; n < r->count; n++) {
			if (kind_of(r->lines[n]) != i)
				continue;
			fprintf(to, note ? "<system-out>" : "<failure message=\"");
			put_xml_of(to, r->lines[n], "\"text\":\"");
			fputs(note ? "\n" : "\">", to);
			put_frames(to, r->lines[n]);
			fputs(note ? "</system-out>\n" : "</failure>\n", to);
		}
		fputs("</testcase>\n", to);
	}
	fputs("</testsuite>\n", to);
	close_report(to, file);
}
