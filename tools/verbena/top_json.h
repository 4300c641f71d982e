/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena top --json`. */
#ifndef VERBENA_TOP_JSON_H
#define VERBENA_TOP_JSON_H

#include "top_rows.h"

/* The rows, in their order, by process. */
void top_print_json(const struct top_host *h, const struct top_row *rows, size_t count);

#endif
