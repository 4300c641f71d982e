/* SPDX-License-Identifier: BSD-2-Clause */
/* One line of a program, split at blanks: a verb, then key=value words. */
#ifndef DIFFERENTIAL_WORDS_H
#define DIFFERENTIAL_WORDS_H

enum { MOST_WORDS = 160 };

struct words {
	int count;
	char *word[MOST_WORDS];
};

/* Splits `line` in place. */
void words_split(struct words *w, char *line);

/* Moves the words after the first "+" to `rest`, which is empty when there is none. */
void words_cut(struct words *w, struct words *rest);

/* The value of a key; NULL, or `otherwise`, if the line does not have it. */
const char *words_text(const struct words *w, const char *key);
long long words_number(const struct words *w, const char *key, long long otherwise);

#endif
