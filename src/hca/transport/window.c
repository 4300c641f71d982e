/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int window_reserve(struct window *w)
{
	w->slots = calloc(QP_WINDOW, sizeof(*w->slots));
	return w->slots ? 0 : -ENOMEM;
}

void window_fini(struct window *w)
{
	free(w->slots);
}

void window_reset(struct window *w)
{
	*w = (struct window){ .slots = w->slots };
	/* A slot that has left tells how far its read came; the next connection may have the same numbers. */
	if (w->slots)
		memset(w->slots, 0, QP_WINDOW * sizeof(*w->slots));
}
