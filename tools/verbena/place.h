/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the libraries are, seen from the command's own executable: a build tree, a prefix, or a
 * package.
 */
#ifndef VERBENA_PLACE_H
#define VERBENA_PLACE_H

#include <limits.h>

struct place {
	char libdir[PATH_MAX];
};

/* 0 or an exit status, after saying where it looked. */
int place_find(struct place *out);

#endif
