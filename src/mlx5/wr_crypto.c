/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/wr_crypto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/memory/dek.h"
#include "hca/memory/mkey.h"
#include "mlx5/dv_crypto.h"
#include "util/explain.h"

static const uint32_t units[] = {
	[MLX5DV_BLOCK_SIZE_512] = 512,   [MLX5DV_BLOCK_SIZE_520] = 520,
	[MLX5DV_BLOCK_SIZE_4048] = 4048, [MLX5DV_BLOCK_SIZE_4096] = 4096,
	[MLX5DV_BLOCK_SIZE_4160] = 4160,
};

int mlx5_crypto_create(struct mlx5_mkey *mkey)
{
	mkey->crypto = calloc(1, sizeof(*mkey->crypto));
	if (!mkey->crypto)
		return -ENOMEM;
	mkey->hca->may_transform = mkey->hca->encrypts = true;
	return 0;
}

static uint8_t order_of(const struct mlx5dv_crypto_attr *attr)
{
	bool after = attr->signature_crypto_order ==
		     MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX;

	if (attr->encrypt_on_tx)
		return after ? HCA_CRYPTO_RAW_WIRE : HCA_CRYPTO_WIRE_SIGNATURE;
	return after ? HCA_CRYPTO_MEMORY_SIGNATURE : HCA_CRYPTO_RAW_MEMORY;
}

int mlx5_crypto_set(struct mlx5_mkey *mkey, const struct mlx5dv_crypto_attr *attr)
{
	const unsigned int order = attr->signature_crypto_order, size = attr->data_unit_size;
	struct mlx5_crypto *c = mkey->crypto;

	if (!c || c->is_set)
		return explain(EINVAL, "mlx5dv_wr_set_mkey_crypto: key 0x%x %s", mkey->dv.lkey,
			       c ? "is told twice in one request"
				 : "was created without MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO");
	if (attr->comp_mask || attr->crypto_standard != MLX5DV_CRYPTO_STANDARD_AES_XTS ||
	    order > MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX ||
	    size >= array_size(units) || !units[size] || !attr->dek)
		return explain(EINVAL,
			       "mlx5dv_wr_set_mkey_crypto: crypto_standard %d, "
			       "signature_crypto_order %u, data_unit_size %u, comp_mask 0x%llx: "
			       "one of them is unknown, or there is no DEK",
			       attr->crypto_standard, order, size,
			       (unsigned long long)attr->comp_mask);
	c->conf = (struct hca_crypto_conf){
		.order = order_of(attr),
		.unit = units[size],
		.dek = attr->dek->hca->number,
	};
	memcpy(c->conf.tweak, attr->initial_tweak, sizeof(c->conf.tweak));
	memcpy(c->conf.keytag, attr->keytag, sizeof(c->conf.keytag));
	c->configured = c->is_set = true;
	return 0;
}

int mlx5_crypto_check(const struct mlx5_mkey *mkey, enum hca_crypto_engine engine)
{
	const struct mlx5_crypto *c = mkey->crypto;
	const struct mlx5_sig *sig = mkey->sig;

	if (!c->configured)
		return 0;
	if (engine == HCA_CRYPTO_SINGLE_LE && mkey->length > c->conf.unit)
		return explain(EINVAL,
			       "key 0x%x of %llu bytes; the adapter encrypts a data unit, of %u "
			       "bytes (MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK is not set)",
			       mkey->dv.lkey, (unsigned long long)mkey->length, c->conf.unit);
	if (sig && sig->conf.memory.kind && sig->conf.wire.kind &&
	    (c->conf.order == HCA_CRYPTO_RAW_WIRE || c->conf.order == HCA_CRYPTO_RAW_MEMORY))
		return explain(
			EINVAL,
			"key 0x%x has signatures in memory and on the wire: they are encrypted "
			"with the data, which another signature_crypto_order says",
			mkey->dv.lkey);
	return 0;
}
