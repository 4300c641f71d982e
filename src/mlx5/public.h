/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public header, with what it declares exported (libmlx5.map has the version nodes).
 */
#ifndef MLX5_PUBLIC_H
#define MLX5_PUBLIC_H

#include "verbs/public.h"

#pragma GCC visibility push(default)
#include <infiniband/mlx5dv.h>
#pragma GCC visibility pop

#endif
