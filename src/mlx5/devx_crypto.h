/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * General objects for encryption: data encryption keys, logins, import KEKs and credentials. The
 * adapter's part is in hca/memory/dek.h and login.h.
 */
#ifndef MLX5_DEVX_CRYPTO_H
#define MLX5_DEVX_CRYPTO_H

#include "mlx5/devx_types.h"

/* Whether the adapter encrypts, and whether it imports keys wrapped, by a login. */
bool devx_has_crypto(const struct hca_adapter *adapter);
bool devx_has_login(const struct hca_adapter *adapter);

/* Commands, by type of object. */
int devx_create_dek(struct devx_cmd *c);
int devx_query_dek(struct devx_cmd *c);
int devx_create_login(struct devx_cmd *c);
int devx_query_login(struct devx_cmd *c);
int devx_create_import_kek(struct devx_cmd *c);
int devx_create_credential(struct devx_cmd *c);
int devx_modify_crypto(struct devx_cmd *c);

int devx_destroy_dek(struct mlx5dv_devx_obj *obj);
int devx_destroy_login(struct mlx5dv_devx_obj *obj);
int devx_destroy_secret(struct mlx5dv_devx_obj *obj);

#endif
