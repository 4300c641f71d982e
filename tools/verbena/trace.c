/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"
#include "trace_json.h"
#include "trace_read.h"

#define USUAL_NAME "verbena-trace.json"
#define LEAST      (128u << 10)

int trace_set_output(struct trace_options *o, const char *file, int failure)
{
	o->on = true;
	if (!*file || !strcmp(file, "--"))
		return say(failure, "the trace needs the name of a file");
	if (snprintf(o->output, sizeof(o->output), "%s", file) >= (int)sizeof(o->output))
		return say(failure, "the name of the trace is too long: '%s'", file);
	return 0;
}

int trace_set_limit(struct trace_options *o, const char *size, int failure)
{
	static const char units[] = "kMG";
	unsigned long long value;
	char *end;
	const char *unit;

	errno = 0;
	value = strtoull(size, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (errno || end == size || *size == '-' || (*end && (!unit || end[1])) ||
	    value > UINT64_MAX >> 40)
		return say(failure, "--limit is a size such as 64M, not '%s'", size);
	o->limit = unit ? value << 10 * (unit - units + 1) : value;
	if (o->limit < LEAST)
		return say(failure, "--limit: %s is too small for a trace; 128k is the least",
			   size);
	return 0;
}

/* Records go beside the file, where there is room for it; or to where there is room for temporary files. */
static int make_folder(struct trace_options *o)
{
	const char *slash = strrchr(o->output, '/'), *temporary = getenv("TMPDIR");

	snprintf(o->folder, sizeof(o->folder), "%.*s.verbena-trace-XXXXXX",
		 slash ? (int)(slash + 1 - o->output) : 0, o->output);
	if (mkdtemp(o->folder))
		return 0;
	snprintf(o->folder, sizeof(o->folder), "%s/verbena-trace-XXXXXX",
		 temporary && *temporary ? temporary : "/tmp");
	return mkdtemp(o->folder) ? 0 : -errno;
}

static int absolute(char path[PATH_MAX])
{
	char *real = realpath(path, NULL);

	if (!real)
		return -errno;
	snprintf(path, PATH_MAX, "%s", real);
	free(real);
	return 0;
}

int trace_begin(struct trace_options *o)
{
	char limit[32];
	int fd, err;

	if (!*o->output)
		snprintf(o->output, sizeof(o->output), USUAL_NAME);
	o->made = access(o->output, F_OK);
	fd = open(o->output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return say(EXIT_RUN_FAILED, "the trace cannot be written to '%s': %s", o->output,
			   strerror(errno));
	close(fd);
	/* The program may change its directory before it writes. */
	err = absolute(o->output);
	if (!err)
		err = make_folder(o);
	if (!err)
		err = absolute(o->folder);
	if (err)
		return say(EXIT_RUN_FAILED, "cannot make a folder for the trace's records: %s",
			   strerror(-err));
	setenv("VERBENA_TRACE", o->folder, 1);
	snprintf(limit, sizeof(limit), "%llu", (unsigned long long)o->limit);
	if (o->limit)
		setenv("VERBENA_TRACE_LIMIT", limit, 1);
	return 0;
}

static void remove_folder(const char *folder)
{
	DIR *dir = opendir(folder);

	for (struct dirent *d; dir && (d = readdir(dir));)
		if (strstr(d->d_name, ".trace"))
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(folder);
}

static void tell_what_is_missing(const struct trace_reader *r)
{
	uint64_t dropped = 0, lost = 0;

	for (size_t i = 0; i < r->files.count; i++) {
		dropped += r->files.data[i].head->dropped;
		lost += r->files.data[i].head->lost;
	}
	if (dropped)
		say(0,
		    "the trace begins late: the oldest %llu events had to make room; a larger "
		    "--limit keeps them",
		    (unsigned long long)(dropped * TRACE_RECORDS));
	if (lost)
		say(0, "the trace has gaps: there are more threads than --limit has room for");
}

/* The file is written beside the program's result, not instead of it. */
static void write_timeline(const struct trace_options *o, struct trace_reader *r)
{
	FILE *to = fopen(o->output, "we");
	uint64_t events;
	bool failed;

	if (!to) {
		say(0, "the trace cannot be written to '%s': %s", o->output, strerror(errno));
		return;
	}
	events = trace_json_write(r, to);
	failed = ferror(to);
	if (fclose(to) || failed) {
		say(0, "the trace %s is not complete: %s", o->output, strerror(errno));
		return;
	}
	fprintf(stderr,
		"verbena trace: %s has %llu events of %zu process%s; https://ui.perfetto.dev opens "
		"it\n",
		o->output, (unsigned long long)events, r->files.count,
		r->files.count == 1 ? "" : "es");
	tell_what_is_missing(r);
}

void trace_end(struct trace_options *o, int status)
{
	struct trace_reader r;
	int err = trace_read_open(&r, o->folder);

	if (err) {
		say(0, "the records of the trace cannot be read: %s", strerror(-err));
	} else if (r.files.count) {
		write_timeline(o, &r);
	} else {
		if (o->made)
			unlink(o->output);
		if (status < EXIT_RUN_FAILED || status > EXIT_NOT_FOUND)
			say(0, "nothing was traced: no process opened an adapter of Verbena's; a "
			       "static program, for one, does not load its libraries");
	}
	if (!err)
		trace_read_close(&r);
	remove_folder(o->folder);
}
