/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that make, change, query and destroy objects. */
#ifndef DIFFERENTIAL_CONTROL_H
#define DIFFERENTIAL_CONTROL_H

#include <stdbool.h>

#include "words.h"

/* Carries out the line if its verb is one of these. */
bool control_do(const char *verb, const struct words *w);

#endif
