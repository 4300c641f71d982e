/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment of the program that is run.
 */
#ifndef VERBENA_ENV_H
#define VERBENA_ENV_H

#include <stdbool.h>

#include "place.h"

/* Can these libraries be named in LD_PRELOAD and LD_LIBRARY_PATH? An exit status. */
int env_check(const struct place *place);

/* Sets what the loader reads, and the preload library; `facade`, its tree, may be NULL for none. */
void env_set_libraries(const struct place *place, const char *facade);

/* Takes the preload facade of an outer run out of the environment; true when there was one. */
bool env_drop_facade(void);

#endif
