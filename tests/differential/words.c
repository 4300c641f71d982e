/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "words.h"

void words_split(struct words *w, char *line)
{
	char *rest, *word;

	w->count = 0;
	for (word = strtok_r(line, " \n", &rest); word && w->count < MOST_WORDS;
	     word = strtok_r(NULL, " \n", &rest))
		w->word[w->count++] = word;
}

void words_cut(struct words *w, struct words *rest)
{
	int i, j;

	rest->count = 0;
	for (i = 0; i < w->count && strcmp(w->word[i], "+") != 0; i++)
		;
	for (j = i + 1; j < w->count; j++)
		rest->word[rest->count++] = w->word[j];
	w->count = i;
}

const char *words_text(const struct words *w, const char *key)
{
	size_t length = strlen(key);
	int i;

	for (i = 0; i < w->count; i++)
		if (strncmp(w->word[i], key, length) == 0 && w->word[i][length] == '=')
			return w->word[i] + length + 1;
	return NULL;
}

long long words_number(const struct words *w, const char *key, long long otherwise)
{
	const char *text = words_text(w, key);

	return text ? strtoll(text, NULL, 0) : otherwise;
}
