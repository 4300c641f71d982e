/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of `verbena top`: which are shown, in which order, as lines of text. */
#ifndef VERBENA_TOP_ROWS_H
#define VERBENA_TOP_ROWS_H

#include "top_columns.h"

struct top_view {
	size_t sort; /* column */
	bool reverse;
	char filter[TOP_CELL]; /* "" shows all */
};

/* The column with the key; false: there is none. */
bool top_column_find(const char *key, size_t *out);
/* Rows that the view shows, sorted; the caller frees them. NULL: no memory. */
struct top_row *top_rows(const struct top_host *h, const struct top_view *view, size_t *count);
/* All cells of a row in one line, or the titles for NULL; from column `first` on. Returns its length. */
int top_line(const struct top_row *row, size_t first, char *out, size_t size);
/* What stands above the rows: how many there are, and sums. Without end of line. */
void top_summary(const struct top_host *h, char *out, size_t size);
void top_sums(const struct top_row *rows, size_t count, char *out, size_t size);

#endif
