/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows: filtered, sorted, and as lines of text. */
#include "top_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/api.h"

bool top_column_find(const char *key, size_t *out)
{
	for (size_t i = 0; i < top_column_count; i++)
		if (!strcmp(top_columns[i].key, key)) {
			*out = i;
			return true;
		}
	return false;
}

/* ---- filter ---- */

static bool contains(const char *text, const char *part)
{
	size_t len = strlen(part);

	for (; *text; text++)
		if (!strncasecmp(text, part, len))
			return true;
	return !len;
}

/* The filter is part of a text that tells what the row is about; numbers that change do not count. */
static bool is_shown(const struct top_row *row, const struct top_view *view)
{
	static const char *const keys[] = { "pid",   "program", "qpn", "type",
					    "state", "adapter", "peer" };
	char text[TOP_CELL];
	size_t column;

	if (!*view->filter)
		return true;
	for (size_t i = 0; i < array_size(keys); i++) {
		if (!top_column_find(keys[i], &column))
			continue;
		top_columns[column].text(row, text);
		if (contains(text, view->filter))
			return true;
	}
	return contains(top_health_name(row->process), view->filter);
}

/* ---- order ---- */

static int compare_numbers(const struct top_row *a, const struct top_row *b)
{
	uint32_t x = a->qp ? a->qp->now.qpn : 0, y = b->qp ? b->qp->now.qpn : 0;

	if (a->process->pid != b->process->pid)
		return a->process->pid < b->process->pid ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct top_row *x = a, *y = b;
	const struct top_view *view = arg;
	const struct top_column *c = &top_columns[view->sort];
	char s[TOP_CELL], t[TOP_CELL];
	int order;

	if (c->value) {
		double m = c->value(x), n = c->value(y);

		order = m < n ? -1 : m > n;
	} else {
		c->text(x, s);
		c->text(y, t);
		order = strcmp(s, t);
	}
	if (c->down != view->reverse)
		order = -order;
	return order ? order : compare_numbers(x, y);
}

static void add(struct top_row *rows, size_t *count, struct top_row row,
		const struct top_view *view)
{
	if (is_shown(&row, view))
		rows[(*count)++] = row;
}

struct top_row *top_rows(const struct top_host *h, const struct top_view *view, size_t *count)
{
	struct top_row *rows;
	size_t most = 1;

	*count = 0;
	for (size_t i = 0; i < h->count; i++)
		most += h->process[i]->count + 1;
	rows = calloc(most, sizeof(*rows));
	for (size_t i = 0; rows && i < h->count; i++) {
		const struct top_process *p = h->process[i];

		for (size_t k = 0; k < p->count; k++)
			add(rows, count, (struct top_row){ p, &p->qp[k] }, view);
		if (!p->count)
			add(rows, count, (struct top_row){ p, NULL }, view);
	}
	if (*count)
		qsort_r(rows, *count, sizeof(*rows), compare, (void *)view);
	return rows;
}

/* ---- lines ---- */

static int put_cell(const struct top_column *c, const char *text, char *out, size_t size)
{
	return snprintf(out, size, c->left ? "%-*.*s " : "%*.*s ", c->width, c->width, text);
}

int top_line(const struct top_row *row, size_t first, char *out, size_t size)
{
	char text[TOP_CELL];
	int n = 0;

	for (size_t i = first; i < top_column_count && (size_t)n + TOP_CELL < size; i++) {
		snprintf(text, sizeof(text), "%s", top_columns[i].title);
		if (row)
			top_columns[i].text(row, text);
		n += put_cell(&top_columns[i], text, out + n, size - (size_t)n);
	}
	while (n && out[n - 1] == ' ')
		out[--n] = 0;
	return n;
}

/* ---- above the rows ---- */

void top_summary(const struct top_host *h, char *out, size_t size)
{
	size_t qps = 0, stopped = 0, silent = 0;
	int n;

	for (size_t i = 0; i < h->count; i++) {
		qps += h->process[i]->count;
		stopped += h->process[i]->health == TOP_STOPPED;
		silent += h->process[i]->health == TOP_SILENT;
	}
	n = snprintf(out, size, "%zu process%s, %zu queue pair%s", h->count,
		     h->count == 1 ? "" : "es", qps, qps == 1 ? "" : "s");
	if (stopped && (size_t)n < size)
		n += snprintf(out + n, size - (size_t)n, ", %zu stopped", stopped);
	if (silent && (size_t)n < size)
		snprintf(out + n, size - (size_t)n, ", %zu silent", silent);
}

void top_sums(const struct top_row *rows, size_t count, char *out, size_t size)
{
	double sum[4] = { 0 };
	unsigned long long retried = 0, rnr = 0, errors = 0;
	char text[4][TOP_CELL];

	for (size_t i = 0; i < count; i++) {
		const struct top_qp *q = rows[i].qp;

		if (!q)
			continue;
		sum[0] += q->tx.messages_s;
		sum[1] += q->tx.bytes_s;
		sum[2] += q->rx.messages_s;
		sum[3] += q->rx.bytes_s;
		retried += q->retried;
		rnr += q->rnr;
		errors += q->errors;
	}
	for (int i = 0; i < 4; i++)
		top_short(sum[i], text[i]);
	snprintf(out, size,
		 "sent %s/s, %sB/s; received %s/s, %sB/s; new: %llu retries, %llu RNR, %llu errors",
		 text[0], text[1], text[2], text[3], retried, rnr, errors);
}
