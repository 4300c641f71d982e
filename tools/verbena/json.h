/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON on standard output. */
#ifndef VERBENA_JSON_H
#define VERBENA_JSON_H

/* With its quotes. */
void json_print_string(const char *text);

#endif
