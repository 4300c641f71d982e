/* SPDX-License-Identifier: BSD-2-Clause */
/* Forks, as the observer (observer.h) looks at them. */
#ifndef VERBS_FORK_H
#define VERBS_FORK_H

#include <stdbool.h>

#include "util/api.h"

/* The program has called ibv_fork_init() or ibv_is_fork_initialized(). */
VB_API bool verbena_fork_is_prepared(void);

#endif
