/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The direct verbs header as this library includes it: what it declares is exported (the version
 * script says under which node), everything else stays hidden.
 */
#ifndef MLX4_PUBLIC_H
#define MLX4_PUBLIC_H

#include "verbs/public.h"

#pragma GCC visibility push(default)
#include <infiniband/mlx4dv.h>
#pragma GCC visibility pop

#endif
