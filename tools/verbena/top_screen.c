/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread: poll() waits for keys and for answers of processes, until it is time to ask again or to end the interval. A
 * signal that changes the window's size interrupts it; ncurses tells the change as a key. ncurses itself puts the terminal
 * in order when the program is interrupted, ended or suspended.
 */
#include "top_screen.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "hca/transport/hca_qp.h"
#include "say.h"
#include "top_curses.h"
#include "util/api.h"
#include "util/explain.h"

#ifndef VB_CURSES

int top_screen_run(struct top_host *h, struct top_view *view, double seconds)
{
	return say(EXIT_FAILED, "top: this verbena was built without ncurses and has no live view; "
				"'verbena top --once' prints what there is");
}

#else

#define ASKS       10  /* in an interval */
#define ASK_MOST_S 0.1 /* seconds from one to the next */
#define COST       20  /* asking takes no more than a part of the time: one in so many */
#define LINE       1024
#define ESCAPE     27

enum color { COLOR_TITLE = 1, COLOR_BAD, COLOR_GOOD };

struct screen {
	struct curses c;
	WINDOW *window;
	struct top_host *host;
	struct top_view *view;
	double seconds;
	bool color, paused, help, typing, done;
	char typed[TOP_CELL]; /* the filter while it is typed */
	size_t top, left;     /* first row and column that are shown */
	struct top_row *rows;
	size_t count;
	uint64_t ask_ns, roll_ns; /* when to do so next */
};

/* ---- drawing ---- */

static void put(struct screen *s, int line, int attributes, const char *text)
{
	int width = s->c.getmaxx(s->window);
	char whole[LINE];

	if (line < 0 || line >= s->c.getmaxy(s->window))
		return;
	snprintf(whole, sizeof(whole), "%-*s", width < LINE ? width : LINE - 1, text);
	s->c.wattrset(s->window, attributes);
	s->c.wmove(s->window, line, 0);
	s->c.waddnstr(s->window, whole, width);
	s->c.wattrset(s->window, A_NORMAL);
}

static int color_of(const struct screen *s, enum color color)
{
	return s->color ? (int)NCURSES_BITS(color, 0) : 0;
}

static int attributes_of(const struct screen *s, const struct top_row *row)
{
	const struct top_qp *q = row->qp;

	if (row->process->health == TOP_STOPPED || row->process->health == TOP_SILENT)
		return A_DIM;
	if (!q)
		return A_NORMAL;
	if (q->now.state == HCA_QPS_ERR || q->now.state == HCA_QPS_SQE || q->errors)
		return A_BOLD | color_of(s, COLOR_BAD);
	if (q->tx.bytes_s > 0 || q->rx.bytes_s > 0)
		return color_of(s, COLOR_GOOD);
	return A_NORMAL;
}

static void draw_head(struct screen *s)
{
	char line[LINE], text[256], clock[16];
	time_t now = time(NULL);
	struct tm tm;
	int n;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	top_summary(s->host, text, sizeof(text));
	n = snprintf(line, sizeof(line), "verbena top  %s  %s  every %.2g s", clock, text,
		     s->seconds);
	if (*s->view->filter)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "  only '%s'", s->view->filter);
	if (s->paused)
		snprintf(line + n, sizeof(line) - (size_t)n, "  PAUSED");
	put(s, 0, A_BOLD, line);
	top_sums(s->rows, s->count, line, sizeof(line));
	put(s, 1, A_NORMAL, line);
	snprintf(line, sizeof(line), "sorted by %s%s", top_columns[s->view->sort].title,
		 s->view->reverse ? ", reversed" : "");
	if (s->typing)
		snprintf(line, sizeof(line), "filter: %s_", s->typed);
	put(s, 2, A_NORMAL, line);
}

static void draw_help(struct screen *s)
{
	static const char *const lines[] = {
		"< >      sort by the column before, after        r  reverse the order",
		"b m l e  sort by bytes sent, messages, latency, errors;  p  by process",
		"/        filter: program, pid, QPN, type, state, adapter, peer; Escape ends it",
		"space    pause                                   + -  a longer, a shorter "
		"interval",
		"arrows   scroll; Page Up, Page Down, Home        h ?  this help        q  quit",
		"",
		"S      R answers, T is stopped, - does not answer",
		"TX RX  messages and bytes per second, headers included. Writes, reads and atomics "
		"of a",
		"       process of this host show at its end only as messages, at both ends as "
		"bytes",
		"LAT    mean time from post to poll: mean fill of the send queue over its rate",
		"SQ     requests posted and not polled / most;   RQ  receives posted and not taken "
		"/ size",
		"CQ     completions not polled / size, of the fuller CQ",
		"RETRY  timeouts and NAKs; RNR  no receive was there, here or at the peer; ERR  "
		"but for flushes",
	};

	for (size_t i = 0; i < array_size(lines); i++)
		put(s, (int)i + 4, A_NORMAL, lines[i]);
}

static int rows_shown(const struct screen *s)
{
	int n = s->c.getmaxy(s->window) - 5;

	return n > 0 ? n : 0;
}

static void draw_rows(struct screen *s)
{
	char line[LINE];

	top_line(NULL, s->left, line, sizeof(line));
	put(s, 3, A_REVERSE | color_of(s, COLOR_TITLE), line);
	for (int i = 0; i < rows_shown(s) && s->top + (size_t)i < s->count; i++) {
		const struct top_row *row = &s->rows[s->top + (size_t)i];

		top_line(row, s->left, line, sizeof(line));
		put(s, 4 + i, attributes_of(s, row), line);
	}
	if (!s->count)
		put(s, 4, A_NORMAL,
		    *s->view->filter ? "Nothing matches the filter."
				     : "No process of yours uses an adapter of Verbena's.");
}

static void draw(struct screen *s)
{
	s->c.werase(s->window);
	draw_head(s);
	if (s->help)
		draw_help(s);
	else
		draw_rows(s);
	put(s, s->c.getmaxy(s->window) - 1, A_REVERSE,
	    "q quit  h help  < > sort  r reverse  / filter  space pause  + - interval  arrows "
	    "scroll");
	s->c.wrefresh(s->window);
}

/* The rows point into the host's tables, which change with each answer. */
static void make_rows(struct screen *s)
{
	free(s->rows);
	s->rows = top_rows(s->host, s->view, &s->count);
	if (s->top >= s->count)
		s->top = s->count ? s->count - 1 : 0;
}

/* ---- keys ---- */

static void sort_by(struct screen *s, const char *key)
{
	s->view->reverse = false;
	top_column_find(key, &s->view->sort);
}

static void scroll_rows(struct screen *s, long by)
{
	long to = (long)s->top + by, last = (long)s->count - 1;

	if (to > last)
		to = last;
	s->top = to > 0 ? (size_t)to : 0;
}

static void scroll_columns(struct screen *s, int by)
{
	if (by < 0 && s->left)
		s->left--;
	else if (by > 0 && s->left + 1 < top_column_count)
		s->left++;
}

static void type_key(struct screen *s, int key)
{
	size_t len = strlen(s->typed);

	if (key == '\n' || key == '\r' || key == KEY_ENTER || key == ESCAPE) {
		s->typing = false;
		snprintf(s->view->filter, sizeof(s->view->filter), "%s",
			 key == ESCAPE ? "" : s->typed);
	} else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && len) {
		s->typed[len - 1] = 0;
	} else if (key >= 0x20 && key < 0x7f && len + 1 < sizeof(s->typed)) {
		s->typed[len] = (char)key;
		s->typed[len + 1] = 0;
	}
}

static void resize(struct screen *s)
{
	WINDOW *window = s->c.newwin(0, 0, 0, 0);

	if (!window)
		return;
	s->c.delwin(s->window);
	s->window = window;
	s->c.keypad(s->window, TRUE);
	s->c.nodelay(s->window, TRUE);
}

static void change_interval(struct screen *s, double by)
{
	double to = s->seconds * by;

	if (to < 0.1 || to > 60)
		return;
	s->seconds = to;
	s->roll_ns = top_now_ns();
}

/* Keys that change what is shown; false: it is none of them. */
static bool view_key(struct screen *s, int key)
{
	static const struct {
		int key;
		const char *column;
	} sorts[] = {
		{ 'b', "txb" }, { 'm', "tx" }, { 'l', "latency" }, { 'e', "err" }, { 'p', "pid" }
	};
	size_t last = top_column_count - 1;

	for (size_t i = 0; i < array_size(sorts); i++)
		if (sorts[i].key == key) {
			sort_by(s, sorts[i].column);
			return true;
		}
	switch (key) {
	case '<':
		s->view->sort = s->view->sort ? s->view->sort - 1 : last;
		return true;
	case '>':
		s->view->sort = s->view->sort < last ? s->view->sort + 1 : 0;
		return true;
	case 'r':
		s->view->reverse = !s->view->reverse;
		return true;
	case '/':
		s->typing = true;
		s->typed[0] = 0;
		return true;
	case ESCAPE:
		s->view->filter[0] = 0;
		s->help = false;
		return true;
	default:
		return false;
	}
}

static void scroll_key(struct screen *s, int key)
{
	switch (key) {
	case KEY_UP:
	case 'k':
		scroll_rows(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		scroll_rows(s, 1);
		break;
	case KEY_PPAGE:
		scroll_rows(s, -rows_shown(s));
		break;
	case KEY_NPAGE:
		scroll_rows(s, rows_shown(s));
		break;
	case KEY_HOME:
		s->top = s->left = 0;
		break;
	case KEY_LEFT:
		scroll_columns(s, -1);
		break;
	case KEY_RIGHT:
		scroll_columns(s, 1);
		break;
	default:
		break;
	}
}

static void handle_key(struct screen *s, int key)
{
	if (key == KEY_RESIZE)
		resize(s);
	else if (s->typing)
		type_key(s, key);
	else if (key == 'q')
		s->done = true;
	else if (key == ' ')
		s->paused = !s->paused;
	else if (key == 'h' || key == '?')
		s->help = !s->help;
	else if (key == '+')
		change_interval(s, 2);
	else if (key == '-')
		change_interval(s, 0.5);
	else if (!view_key(s, key))
		scroll_key(s, key);
}

/* ---- the loop ---- */

static uint64_t later(uint64_t ns, double seconds)
{
	return ns + (uint64_t)(seconds * 1e9);
}

/* A host with very many queue pairs is asked less often. */
static void ask(struct screen *s, uint64_t now)
{
	double every = s->seconds / ASKS < ASK_MOST_S ? s->seconds / ASKS : ASK_MOST_S;
	uint64_t end;

	top_host_ask(s->host);
	end = top_now_ns();
	s->ask_ns = later(end, every) + COST * (end - now);
}

/* Paused: what is shown stays, answers are not even asked for. */
static bool run_due(struct screen *s)
{
	uint64_t now = top_now_ns();

	if (s->paused)
		return false;
	if (now >= s->ask_ns)
		ask(s, now);
	if (now < s->roll_ns)
		return false;
	s->roll_ns = later(now, s->seconds);
	top_host_roll(s->host);
	return true;
}

static int wait_ms(const struct screen *s)
{
	uint64_t now = top_now_ns(), at = s->ask_ns < s->roll_ns ? s->ask_ns : s->roll_ns;

	if (s->paused)
		return -1;
	return at > now ? (int)((at - now) / 1000000) + 1 : 0;
}

/* False: the terminal is gone. */
static bool wait_for_news(struct screen *s)
{
	struct pollfd *fds = calloc(s->host->count + 1, sizeof(*fds));
	size_t n;
	bool gone;

	if (!fds)
		return false;
	fds[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	n = s->paused ? 1 : top_host_poll_set(s->host, fds, 1);
	gone = poll(fds, n, wait_ms(s)) < 0 ? errno != EINTR
					    : fds[0].revents & (POLLHUP | POLLERR | POLLNVAL);
	free(fds);
	return !gone;
}

static bool take_keys(struct screen *s)
{
	bool some = false;
	int key;

	while (!s->done && (key = s->c.wgetch(s->window)) != ERR) {
		handle_key(s, key);
		some = true;
	}
	return some;
}

static void loop(struct screen *s)
{
	bool changed = true;

	while (!s->done) {
		if (changed) {
			make_rows(s);
			draw(s);
		}
		if (!wait_for_news(s))
			return;
		changed = take_keys(s);
		if (!s->paused)
			top_host_take(s->host);
		/* The rows are of the last answers. */
		if (run_due(s))
			changed = true;
	}
}

static void set_colors(struct screen *s)
{
	const char *no_color = getenv("NO_COLOR");

	if ((no_color && *no_color) || !s->c.has_colors())
		return;
	s->c.start_color();
	s->c.use_default_colors();
	s->c.init_pair(COLOR_TITLE, COLOR_CYAN, -1);
	s->c.init_pair(COLOR_BAD, COLOR_RED, -1);
	s->c.init_pair(COLOR_GOOD, COLOR_GREEN, -1);
	s->color = true;
}

int top_screen_run(struct top_host *h, struct top_view *view, double seconds)
{
	struct screen s = { .host = h, .view = view, .seconds = seconds };
	const char *term = getenv("TERM");

	if (top_curses_load(&s.c))
		return say(EXIT_FAILED,
			   "top: %s; install libncursesw6, or use 'verbena top --once'",
			   explain_last());
	setlocale(LC_CTYPE, "");
	if (!s.c.newterm(NULL, stdout, stdin))
		return say(EXIT_FAILED,
			   "top: there is no description of the terminal '%s' (TERM); "
			   "'verbena top --once' needs none",
			   term ? term : "");
	s.c.cbreak();
	s.c.noecho();
	s.c.curs_set(0);
	set_colors(&s);
	s.window = s.c.newwin(0, 0, 0, 0);
	s.c.keypad(s.window, TRUE);
	s.c.nodelay(s.window, TRUE);
	/* The first answers come at once, and rates after an interval. */
	s.roll_ns = later(top_now_ns(), 0.1);
	loop(&s);
	s.c.endwin();
	free(s.rows);
	return 0;
}

#endif
