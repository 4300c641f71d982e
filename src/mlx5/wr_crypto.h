/* SPDX-License-Identifier: BSD-2-Clause */
/* Encryption of memory keys, as the driver keeps it: the configuration of a key. */
#ifndef MLX5_WR_CRYPTO_H
#define MLX5_WR_CRYPTO_H

#include "mlx5/objects.h"

/* The key is one that encrypts. */
int mlx5_crypto_create(struct mlx5_mkey *mkey);
/* -EINVAL for what the adapter does not have, or a second setting in one request. */
int mlx5_crypto_set(struct mlx5_mkey *mkey, const struct mlx5dv_crypto_attr *attr);
/* 0, or -EINVAL when layout, signatures and encryption do not go together. */
int mlx5_crypto_check(const struct mlx5_mkey *mkey, enum hca_crypto_engine engine);

#endif
