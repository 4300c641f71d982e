/* SPDX-License-Identifier: BSD-2-Clause */
/* The live view of `verbena top` on a terminal. */
#ifndef VERBENA_TOP_SCREEN_H
#define VERBENA_TOP_SCREEN_H

#include "top_rows.h"

/* Until a key ends it; an exit status. */
int top_screen_run(struct top_host *h, struct top_view *view, double seconds);

#endif
