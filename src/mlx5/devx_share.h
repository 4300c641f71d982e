/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DEVX objects and umems that several processes use, through contexts that share one (ibv_import_device).
 *
 * An object lives in the process that created it. An imported handle names that process and the number of the
 * export; commands sent for it are executed there, by a call between processes. An imported umem is the owner's
 * memory, mapped here, so that objects can be created on it here.
 *
 * An object that an importer destroys leaves its creator a handle without an object, which
 * mlx5dv_devx_obj_unimport() frees.
 */
#ifndef MLX5_DEVX_SHARE_H
#define MLX5_DEVX_SHARE_H

#include "mlx5/devx_types.h"

/* Runs a query or a modification for an object, wherever it is. 0 or -errno. */
int devx_share_exec(struct mlx5dv_devx_obj *obj, enum devx_verb verb, const void *in, size_t inlen,
		    void *out, size_t outlen);
/* Destroys the object, wherever it is, and the handle. 0 or -errno. */
int devx_share_destroy(struct mlx5dv_devx_obj *obj);

/* Lengths of what is exported. */
#define DEVX_OBJ_EXPORT_BYTES  24u
#define DEVX_UMEM_EXPORT_BYTES 24u

#endif
