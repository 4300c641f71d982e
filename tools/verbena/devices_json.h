/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapters as JSON on standard output: an array with one object for each. Members may be
 * added; those that are there keep their names and meanings.
 */
#ifndef VERBENA_DEVICES_JSON_H
#define VERBENA_DEVICES_JSON_H

#include "facts.h"

void devices_print_json(const struct facts *facts);

#endif
