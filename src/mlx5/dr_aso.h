/* SPDX-License-Identifier: BSD-2-Clause */
/* Actions of direct rules on ASO objects, and meters. */
#ifndef MLX5_DR_ASO_H
#define MLX5_DR_ASO_H

#include "mlx5/dr_types.h"

/* Whether rules of the domain may use an action of another one. */
bool dr_aso_is_linked(struct mlx5dv_dr_domain *d, const struct mlx5dv_dr_action *a);

#endif
