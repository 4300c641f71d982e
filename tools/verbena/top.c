/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena top`: what the user's programs do on Verbena, live, or once as text or JSON. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "say.h"
#include "top_json.h"
#include "top_screen.h"

#define ASK_S 0.1 /* seconds from one question to the next */

const char command_top_help[] =
	"usage: verbena top [OPTION...]\n"
	"\n"
	"Shows your running programs on Verbena and their queue pairs: rates, latencies, how full\n"
	"their queues are, retries and errors. Live on a terminal (h shows the keys), else once.\n"
	"\n"
	"  -1, --once            print it once, as text\n"
	"  -j, --json            print it once, as JSON\n"
	"  -i, --interval S      seconds over which rates are taken; 1 by default\n"
	"  -s, --sort COLUMN     pid, program, qpn, type, state, tx, txb, rx, rxb, latency, sq, "
	"rq,\n"
	"                        cq, retry, rnr, err, adapter, peer, health; pid by default\n"
	"  -r, --reverse         the other way round\n"
	"  -f, --filter TEXT     only rows with the text in program, pid, QPN, type, state, "
	"adapter,\n"
	"                        peer or health\n"
	"  -h, --help            show this\n";

struct choice {
	bool once, json;
	double seconds;
	struct top_view view;
};

/* ---- once ---- */

/* Until all that run have answered, and at least until `until_ns`. */
static void gather(struct top_host *h, uint64_t until_ns)
{
	for (;;) {
		struct pollfd *fds = calloc(h->count + 1, sizeof(*fds));
		size_t n = fds ? top_host_poll_set(h, fds, 0) : 0;
		uint64_t now = top_now_ns();
		bool waiting;

		top_host_take(h);
		waiting = top_host_is_waiting(h);
		/* A process may be stopped at any time, which no socket tells. */
		if (now < until_ns)
			poll(fds, waiting ? n : 0,
			     waiting ? 10 : (int)((until_ns - now) / 1000000) + 1);
		else if (waiting)
			poll(fds, n, 10);
		free(fds);
		if (!waiting && now >= until_ns)
			return;
	}
}

static void observe(struct top_host *h, double seconds)
{
	uint64_t end, now;

	top_host_ask(h);
	gather(h, 0);
	top_host_roll(h);
	now = top_now_ns();
	end = now + (uint64_t)(seconds * 1e9);
	while (now < end) {
		uint64_t next = now + (uint64_t)(ASK_S * 1e9);

		gather(h, next < end ? next : end);
		top_host_ask(h);
		now = top_now_ns();
	}
	gather(h, 0);
	top_host_roll(h);
}

static void print_text(const struct top_host *h, const struct top_row *rows, size_t count)
{
	char line[1024];

	top_summary(h, line, sizeof(line));
	printf("%s\n", line);
	top_sums(rows, count, line, sizeof(line));
	printf("%s\n\n", line);
	if (!count)
		return;
	top_line(NULL, 0, line, sizeof(line));
	printf("%s\n", line);
	for (size_t i = 0; i < count; i++) {
		top_line(&rows[i], 0, line, sizeof(line));
		printf("%s\n", line);
	}
}

static int show_once(struct top_host *h, const struct choice *c)
{
	struct top_row *rows;
	size_t count;

	observe(h, c->seconds);
	rows = top_rows(h, &c->view, &count);
	if (!rows)
		return say(EXIT_FAILED, "top: out of memory");
	if (c->json)
		top_print_json(h, rows, count);
	else
		print_text(h, rows, count);
	free(rows);
	return say_done();
}

/* ---- options ---- */

static int take_interval(const char *text, double *out)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0 && seconds <= 3600)) {
		say(0, "top: an interval is a number of seconds up to 3600, unlike '%s'", text);
		return say_usage(EXIT_USAGE, "top");
	}
	*out = seconds;
	return 0;
}

static int take_sort(const char *key, struct top_view *view)
{
	if (top_column_find(key, &view->sort))
		return 0;
	say(0, "top: there is no column '%s' to sort by", key);
	return say_usage(EXIT_USAGE, "top");
}

static int take_option(int option, char **argv, struct choice *c)
{
	switch (option) {
	case '1':
		c->once = true;
		return 0;
	case 'j':
		c->once = c->json = true;
		return 0;
	case 'i':
		return take_interval(optarg, &c->seconds);
	case 's':
		return take_sort(optarg, &c->view);
	case 'r':
		c->view.reverse = true;
		return 0;
	case 'f':
		snprintf(c->view.filter, sizeof(c->view.filter), "%s", optarg);
		return 0;
	default:
		return option_bad(option, argv, "top", EXIT_USAGE);
	}
}

static int parse(int argc, char **argv, struct choice *c, bool *done)
{
	static const struct option options[] = {
		{ "once", no_argument, NULL, '1' },
		{ "json", no_argument, NULL, 'j' },
		{ "interval", required_argument, NULL, 'i' },
		{ "sort", required_argument, NULL, 's' },
		{ "reverse", no_argument, NULL, 'r' },
		{ "filter", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, status = 0;

	*done = true;
	opterr = 0;
	while (!status && (option = getopt_long(argc, argv, ":1ji:s:rf:h", options, NULL)) >= 0) {
		if (option == 'h') {
			fputs(command_top_help, stdout);
			return say_done();
		}
		status = take_option(option, argv, c);
	}
	if (!status && optind < argc) {
		say(0, "top: takes no argument such as '%s'", argv[optind]);
		status = say_usage(EXIT_USAGE, "top");
	}
	*done = status;
	return status;
}

int command_top(int argc, char **argv)
{
	struct choice c = { .seconds = 1 };
	struct top_host host = { .count = 0 };
	bool done;
	int status = parse(argc, argv, &c, &done);

	if (done)
		return status;
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		c.once = true;
	if (c.once)
		status = show_once(&host, &c);
	else
		status = top_screen_run(&host, &c.view, c.seconds > 0.1 ? c.seconds : 0.1);
	top_host_fini(&host);
	return status;
}
