/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Delta debugging (Zeller's ddmin) over the operations; each attempt is a process of its own, so
 * that a crash is a failure like any other.
 */
#include "sim/shrink.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/program.h"

#define ATTEMPTS_MOST 600u

extern char **environ;

struct shrinking {
	const struct shrink_options *options;
	unsigned int ops, attempts;
	bool *keep;
};

/* Ranges of operations: "0-4,7". */
static char *list_text(const struct shrinking *s)
{
	char *text = malloc((size_t)s->ops * 8 + 16), *at = text;

	if (!text)
		return NULL;
	*at = 0;
	for (unsigned int i = 0; i < s->ops; i++) {
		unsigned int last = i;

		if (!s->keep[i])
			continue;
		while (last + 1 < s->ops && s->keep[last + 1])
			last++;
		at += sprintf(at, "%s%u-%u", at == text ? "" : ",", i, last);
		i = last;
	}
	return text;
}

void shrink_apply(const char *text, struct program *p)
{
	for (unsigned int i = 0; i < p->count; i++)
		p->op[i].left_out = true;
	while (*text) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long i = first; i <= last && i < p->count; i++)
			p->op[i].left_out = false;
		text = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			break;
	}
}

static bool attempt(struct shrinking *s, bool show)
{
	char seed[32], hosts[32], *keep = list_text(s);
	char *argv[12] = {
		(char *)s->options->self, "--seed", seed, "--hosts", hosts, "--keep", keep
	};
	unsigned int n = 7;
	posix_spawn_file_actions_t actions;
	int status = 0;
	pid_t pid;

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)s->options->seed);
	snprintf(hosts, sizeof(hosts), "%u", s->options->hosts);
	if (s->options->mutation) {
		argv[n++] = "--mutate";
		argv[n++] = (char *)s->options->mutation;
	}
	argv[n++] = show ? "--trace" : "--no-shrink";
	argv[n] = NULL;
	posix_spawn_file_actions_init(&actions);
	if (!show) {
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
		posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	}
	s->attempts++;
	if (!keep || posix_spawn(&pid, s->options->self, &actions, NULL, argv, environ))
		status = -1;
	else
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	posix_spawn_file_actions_destroy(&actions);
	free(keep);
	/* Sanitizers have their own status. */
	return WIFSIGNALED(status) ||
	       (WIFEXITED(status) && WEXITSTATUS(status) == s->options->kind);
}

/* Leaves out operations from..to of those that are kept; false: it does not fail without them. */
static bool leave_out(struct shrinking *s, unsigned int from, unsigned int count)
{
	bool *saved = malloc(s->ops * sizeof(*saved)), fails;
	unsigned int at = 0;

	if (!saved)
		return false;
	memcpy(saved, s->keep, s->ops * sizeof(*saved));
	for (unsigned int i = 0; i < s->ops; i++)
		if (s->keep[i]) {
			s->keep[i] = at < from || at >= from + count;
			at++;
		}
	fails = attempt(s, false);
	if (!fails)
		memcpy(s->keep, saved, s->ops * sizeof(*saved));
	free(saved);
	return fails;
}

static unsigned int count_kept(const struct shrinking *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->ops; i++)
		n += s->keep[i];
	return n;
}

void shrink_run(const struct shrink_options *options, unsigned int ops)
{
	struct shrinking s = { .options = options, .ops = ops };
	unsigned int kept = ops, chunk = ops / 2;
	char *text;

	s.keep = malloc(ops * sizeof(*s.keep));
	if (!s.keep)
		return;
	memset(s.keep, true, ops * sizeof(*s.keep));
	while (chunk && s.attempts < ATTEMPTS_MOST) {
		bool progress = false;

		for (unsigned int at = 0; at < kept && s.attempts < ATTEMPTS_MOST;) {
			if (leave_out(&s, at, chunk)) {
				kept = count_kept(&s);
				progress = true;
			} else {
				at += chunk;
			}
		}
		if (!progress || chunk > 1)
			chunk /= 2;
	}
	text = list_text(&s);
	printf("%u of %u operations are left (%u attempts); again with: --seed %llu --hosts %u%s%s "
	       "--keep %s --trace\n",
	       kept, ops, s.attempts, (unsigned long long)options->seed, options->hosts,
	       options->mutation ? " --mutate " : "", options->mutation ? options->mutation : "",
	       text ? text : "?");
	fflush(stdout);
	free(text);
	attempt(&s, true);
	free(s.keep);
}
