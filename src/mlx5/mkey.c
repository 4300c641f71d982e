/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Indirect memory keys. UMR WQEs write their layout (wr_dv.c); the adapter resolves them
 * (hca/memory/mkey.c).
 */
#include "hca/memory/mkey.h"

#include <errno.h>
#include <stdlib.h>

#include "mlx5/dv.h"
#include "mlx5/objects.h"
#include "mlx5/sig.h"
#include "mlx5/wr_crypto.h"
#include "util/explain.h"

#define OFFERED                                                                                    \
	(MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | MLX5DV_MKEY_INIT_ATTR_FLAGS_UPDATE_TAG |           \
	 MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE |                                           \
	 MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE | MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO)

/* The number of entries is rounded up to a multiple of this. */
#define STEP 4u

static int create(struct mlx5dv_mkey_init_attr *attr, struct mlx5_mkey **out)
{
	uint32_t entries = ((uint32_t)attr->max_entries + STEP - 1) / STEP * STEP;
	struct mlx5_mkey *mkey;
	int err;

	if (attr->create_flags & ~OFFERED || !(attr->create_flags & OFFERED))
		return explain(EOPNOTSUPP,
			       "mlx5dv_create_mkey: create_flags 0x%x; indirect keys are offered, "
			       "with bits 0x%x",
			       attr->create_flags, OFFERED);
	if (attr->create_flags & MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO &&
	    !to_context(attr->pd->context)->adapter->model->crypto)
		return explain(EOPNOTSUPP, "mlx5dv_create_mkey: a %s does not encrypt",
			       to_context(attr->pd->context)->adapter->model->name);
	if (!entries || entries > UINT16_MAX)
		return explain(EINVAL, "mlx5dv_create_mkey: max_entries %u; 1 to %u can be had",
			       attr->max_entries, UINT16_MAX / STEP * STEP);
	mkey = calloc(1, sizeof(*mkey));
	if (!mkey)
		return -ENOMEM;
	err = hca_mkey_create(to_pd(attr->pd)->hca, entries,
			      attr->create_flags & MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE,
			      &mkey->hca);
	if (err)
		goto free_mkey;
	if (attr->create_flags & MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE) {
		err = mlx5_sig_create(mlx5_ctx_of(attr->pd->context), to_pd(attr->pd)->hca,
				      mkey->hca->key, &mkey->sig);
		if (err)
			goto destroy_hca;
		mkey->hca->may_transform = true;
	}
	if (attr->create_flags & MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO) {
		err = mlx5_crypto_create(mkey);
		if (err)
			goto destroy_sig;
	}
	attr->max_entries = entries;
	mkey->dv.lkey = mkey->dv.rkey = mkey->hca->key;
	*out = mkey;
	return 0;
destroy_sig:
	if (mkey->sig)
		mlx5_sig_destroy(mkey->sig);
destroy_hca:
	hca_mkey_destroy(mkey->hca);
free_mkey:
	free(mkey);
	return err;
}

struct mlx5dv_mkey *mlx5dv_create_mkey(struct mlx5dv_mkey_init_attr *attr)
{
	struct mlx5_mkey *mkey;
	int err;

	if (!mlx5_dv_context(attr->pd->context, __func__))
		return NULL;
	err = create(attr, &mkey);
	if (err) {
		errno = -err;
		return NULL;
	}
	return &mkey->dv;
}

int mlx5dv_destroy_mkey(struct mlx5dv_mkey *dv)
{
	struct mlx5_mkey *mkey = to_mkey(dv);

	if (mkey->sig)
		mlx5_sig_destroy(mkey->sig);
	free(mkey->crypto);
	hca_mkey_destroy(mkey->hca);
	free(mkey);
	return 0;
}

int _mlx5dv_mkey_check(struct mlx5dv_mkey *dv, struct mlx5dv_mkey_err *info, size_t size)
{
	struct mlx5_mkey *mkey = to_mkey(dv);

	(void)size; /* there has been one version of the struct */
	if (!mkey->sig)
		return errno = -explain(EINVAL,
					"mlx5dv_mkey_check: key 0x%x was created without "
					"MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE",
					dv->lkey);
	mlx5_sig_take_error(mkey->sig, info);
	return 0;
}
