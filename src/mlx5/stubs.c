/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of libmlx5 that have no implementation yet, one line each. Delete the line of a call
 * together with writing the call; docs/support.py then counts it as working.
 */
#include "util/stub.h"

/* Direct rules */
STUB_PTR(mlx5dv_dr_action_create_aso)
STUB_PTR(mlx5dv_dr_action_create_flow_meter)
STUB_ERRNO(mlx5dv_dr_action_modify_aso)
STUB_ERRNO(mlx5dv_dr_action_modify_flow_meter)
STUB_ERRNO(mlx5dv_dr_aso_other_domain_link)
STUB_ERRNO(mlx5dv_dr_aso_other_domain_unlink)
