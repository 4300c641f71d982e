/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/window.h"

#include <errno.h>
#include <stdlib.h>

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
}
