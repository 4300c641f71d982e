/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public header, with what it declares exported (libmlx4.map has the version nodes).
 */
#ifndef MLX4_PUBLIC_H
#define MLX4_PUBLIC_H

#include "verbs/public.h"

#pragma GCC visibility push(default)
#include <infiniband/mlx4dv.h>
#pragma GCC visibility pop

#endif
