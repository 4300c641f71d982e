/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct verbs for encryption.
 */
#ifndef MLX5_DV_CRYPTO_H
#define MLX5_DV_CRYPTO_H

#include "mlx5/objects.h"

struct hca_dek;
struct hca_login;

/* The public handles. */
struct mlx5dv_dek {
	struct hca_dek *hca;
};

struct mlx5dv_crypto_login_obj {
	struct hca_login *hca;
};

struct mlx5dv_crypto_caps mlx5_crypto_caps(const struct hca_adapter *adapter);
/* The context is being closed. */
void mlx5_crypto_fini(struct mlx5_context *ctx);

#endif
