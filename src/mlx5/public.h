/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The direct verbs header as this library includes it: what it declares is exported (the version
 * script says under which node), everything else stays hidden.
 */
#ifndef MLX5_PUBLIC_H
#define MLX5_PUBLIC_H

#include "verbs/public.h"

#pragma GCC visibility push(default)
#include <infiniband/mlx5dv.h>
#pragma GCC visibility pop

#endif
