/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena why`: asks the processes of this host for their queue pairs, reads the failures that are kept, and tells
 * the story of one of them, with what is known of its peer.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "hca/inspect/failure.h"
#include "hca/inspect/query.h"
#include "hca/inspect/story_text.h"
#include "hca/transport/hca_qp.h"
#include "say.h"
#include "util/explain.h"

#define WAIT_MS   2000
#define SAME_NS   10000000000ull /* a refusal and the failure that it causes */
#define TOLD_MOST 8

const char command_why_help[] =
	"usage: verbena why QPN|--last [--pid PID]\n"
	"\n"
	"Tells why a queue pair is in an error state, or what it waits for: which request, what\n"
	"the peer said, which attribute decides, and what would be right. Processes may have\n"
	"ended.\n"
	"\n"
	"  QPN                                its number, such as 0x001a2b\n"
	"      --last                         the last one that failed, and those that wait now\n"
	"      --pid PID                      of this process only\n"
	"  -h, --help                         show this\n"
	"\n"
	"The exit status is 0 when there is a story, 1 when there is none, 2 when an option is\n"
	"wrong.\n"
	"\n"
	"  verbena why --last\n";

struct why {
	bool last;
	uint32_t qpn, pid;
	struct hca_answers live;
	struct hca_story *failed;
	size_t failures;
};

/* ---- which ---- */

static bool is_asked_for(const struct why *w, const struct hca_story *s)
{
	return (!w->pid || s->pid == w->pid) && (w->last || s->qpn == w->qpn);
}

static const struct hca_story *find_failure(const struct why *w)
{
	for (size_t i = w->failures; i--;)
		if (is_asked_for(w, &w->failed[i]))
			return &w->failed[i];
	return NULL;
}

static const struct hca_story *find_live(const struct why *w, uint32_t qpn, uint32_t pid)
{
	for (size_t i = 0; i < w->live.count; i++)
		if (w->live.story[i].qpn == qpn && (!pid || w->live.story[i].pid == pid))
			return &w->live.story[i];
	return NULL;
}

/* What the peer has recorded of the same moment. */
static const struct hca_story *find_other_failure(const struct why *w, const struct hca_story *s)
{
	for (size_t i = w->failures; i--;) {
		const struct hca_story *f = &w->failed[i];
		uint64_t apart =
			f->wall_ns > s->wall_ns ? f->wall_ns - s->wall_ns : s->wall_ns - f->wall_ns;

		if (f != s && f->qpn == s->peer_qpn && f->peer_qpn == s->qpn && apart < SAME_NS)
			return f;
	}
	return NULL;
}

/* ---- telling ---- */

static void tell_peer(const struct why *w, const struct hca_story *s)
{
	const struct hca_story *other, *live;

	if (!s->connected || s->elsewhere || s->state == HCA_QPS_RESET || s->state == HCA_QPS_INIT)
		return;
	other = s->kind == STORY_LIVE ? NULL : find_other_failure(w, s);
	if (other) {
		fputs("The other end: ", stdout);
		story_tell(stdout, other);
		return;
	}
	live = find_live(w, s->peer_qpn, 0);
	if (live) {
		fputs("The other end, now: ", stdout);
		story_tell(stdout, live);
		if (live->connected && live->state >= HCA_QPS_RTR && live->peer_qpn != s->qpn)
			printf("  Its dest_qp_num is 0x%06x, and not 0x%06x.\n", live->peer_qpn,
			       s->qpn);
	} else if (!w->live.silent) {
		printf("The other end, QP 0x%06x, is in no process of this host now.\n",
		       s->peer_qpn);
	}
}

static void tell(const struct why *w, const struct hca_story *s)
{
	if (s->kind == STORY_LIVE)
		story_facts(stdout, s);
	story_tell(stdout, s);
	tell_peer(w, s);
}

/* Live ones that wait, those that have waited longest first. */
static int by_age(const void *a, const void *b)
{
	const struct hca_story *x = a, *y = b;
	uint64_t left = x->age_ns == STORY_UNKNOWN ? 0 : x->age_ns;
	uint64_t right = y->age_ns == STORY_UNKNOWN ? 0 : y->age_ns;

	return left > right ? -1 : left < right;
}

static unsigned int tell_waiting(struct why *w)
{
	unsigned int told = 0, more = 0;

	if (w->live.count)
		qsort(w->live.story, w->live.count, sizeof(w->live.story[0]), by_age);
	for (size_t i = 0; i < w->live.count; i++) {
		const struct hca_story *s = &w->live.story[i];

		if (!is_asked_for(w, s) || !story_is_stuck(s) || s->state == HCA_QPS_ERR)
			continue;
		if (told == TOLD_MOST) {
			more++;
			continue;
		}
		tell(w, s);
		told++;
	}
	if (more)
		printf("%u more queue pairs wait.\n", more);
	return told;
}

static int tell_last(struct why *w)
{
	const struct hca_story *failure = find_failure(w);
	unsigned int told = failure ? 1 : 0;

	if (failure)
		tell(w, failure);
	told += tell_waiting(w);
	/* A program that hangs may have queue pairs that wait for nothing but their peers. */
	for (size_t i = 0; !told && i < w->live.count; i++)
		if (is_asked_for(w, &w->live.story[i])) {
			tell(w, &w->live.story[i]);
			told++;
		}
	if (told)
		return 0;
	return say(EXIT_FAILED,
		   w->pid ? "no queue pair of process %u has failed, and it has none now"
			  : "no queue pair of this host has failed, and there is none "
			    "now",
		   w->pid);
}

static int tell_one(const struct why *w)
{
	const struct hca_story *failure = find_failure(w);
	const struct hca_story *live = find_live(w, w->qpn, w->pid);
	bool failed;

	if (!failure && !live)
		return say(EXIT_FAILED,
			   "no process of this host has QP 0x%06x%s, and no failure of it is kept",
			   w->qpn, w->pid ? " with that pid" : "");
	failed = failure && (!live || live->pid != failure->pid || live->state == HCA_QPS_ERR ||
			     live->state == HCA_QPS_SQE);
	tell(w, failed ? failure : live);
	if (failure && !failed) {
		fputs("Before: ", stdout);
		story_tell(stdout, failure);
	}
	return 0;
}

/* ---- the command ---- */

static int parse_number(const char *text, unsigned long most, uint32_t *out)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || value > most)
		return -EINVAL;
	*out = (uint32_t)value;
	return 0;
}

static int parse(struct why *w, int argc, char **argv, bool *done)
{
	static const struct option options[] = {
		{ "last", no_argument, NULL, 'l' },
		{ "pid", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	*done = true;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
		if (option == 'h') {
			fputs(command_why_help, stdout);
			return say_done();
		}
		if (option == 'l')
			w->last = true;
		else if (option != 'p')
			return option_bad(option, argv, "why", EXIT_USAGE);
		else if (parse_number(optarg, INT32_MAX, &w->pid) || !w->pid)
			return say(EXIT_USAGE, "--pid is the number of a process, not '%s'",
				   optarg);
	}
	if (argc - optind != !w->last) {
		say(0, "why: which queue pair? Give its number, or --last");
		return say_usage(EXIT_USAGE, "why");
	}
	if (!w->last && parse_number(argv[optind], 0xffffff, &w->qpn))
		return say(EXIT_USAGE,
			   "why: the number of a queue pair is from 1 to 0xffffff, such as "
			   "0x001a2b, not '%s'",
			   argv[optind]);
	*done = false;
	return 0;
}

int command_why(int argc, char **argv)
{
	struct why w = { 0 };
	bool done;
	int status = parse(&w, argc, argv, &done), err;

	if (done)
		return status;
	err = hca_query(&w.live, WAIT_MS);
	if (err)
		return say(EXIT_FAILED, "the processes of this host cannot be asked: %s",
			   strerror(-err));
	err = hca_failures_read(&w.failed, &w.failures);
	if (err && err != -ENOENT)
		say(0, "the failures that are kept cannot be read: %s", strerror(-err));
	if (w.live.silent)
		say(0, "process %u does not answer: it is stopped, or of another version",
		    w.live.silent);
	status = w.last ? tell_last(&w) : tell_one(&w);
	free(w.live.story);
	free(w.failed);
	return status ? status : say_done();
}
