/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of work requests. */
#ifndef DIFFERENTIAL_POST_H
#define DIFFERENTIAL_POST_H

#include <stdbool.h>

#include "words.h"

/* Carries out the line if its verb is post_send, post_recv, post_srq or bind_mw. */
bool post_do(const char *verb, struct words *w);

#endif
