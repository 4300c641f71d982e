/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that are built with sanitizers or run under valgrind: what these shall not report of our libraries.
 */
#ifndef VERBENA_CHECKERS_H
#define VERBENA_CHECKERS_H

#include "place.h"

/* Names the files of suppressions in the environment. `tree`, where a file may be written, may be NULL. */
void checkers_set(const struct place *place, const char *tree);

#endif
