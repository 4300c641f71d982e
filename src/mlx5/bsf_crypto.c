/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/bsf_crypto.h"

#include <endian.h>
#include <string.h>

#include "mlx5/bsf.h"

#define DEK_MASK         0xffffffu
#define LOW_HALF         0xfu
#define STANDARD_AES_XTS 0u

static void copy_tweak(const uint8_t *in, uint8_t *out, enum hca_crypto_engine engine)
{
	for (int i = 0; i < 16; i++)
		out[i] = in[engine == HCA_CRYPTO_MULTI_BE ? 15 - i : i];
}

void mlx5_crypto_bsf_encode(const struct hca_crypto_conf *conf, enum hca_crypto_engine engine,
			    bool with_sig, struct mlx5_crypto_bsf *out)
{
	uint8_t size = with_sig ? MLX5_BSF_SIZE_WITH_CRYPTO : MLX5_BSF_SIZE_FULL;

	*out = (struct mlx5_crypto_bsf){
		.size_type = (uint8_t)(size << MLX5_BSF_SIZE_SHIFT | MLX5_BSF_TYPE_CRYPTO),
		.order = conf->order,
		.standard = STANDARD_AES_XTS,
		.data_size = htobe32(UINT32_MAX),
		.unit = mlx5_block_selector(conf->unit),
		.dek = htobe32(conf->dek & DEK_MASK),
	};
	copy_tweak(conf->tweak, out->tweak, engine);
	memcpy(out->keytag, conf->keytag, sizeof(out->keytag));
}

bool mlx5_crypto_bsf_decode(const struct mlx5_crypto_bsf *bsf, enum hca_crypto_engine engine,
			    struct hca_crypto_conf *out)
{
	*out = (struct hca_crypto_conf){
		.order = bsf->order & LOW_HALF,
		.unit = mlx5_block_bytes(bsf->unit),
		.dek = be32toh(bsf->dek) & DEK_MASK,
	};
	copy_tweak(bsf->tweak, out->tweak, engine);
	memcpy(out->keytag, bsf->keytag, sizeof(out->keytag));
	return out->order <= HCA_CRYPTO_RAW_MEMORY && out->unit &&
	       (bsf->standard & LOW_HALF) == STANDARD_AES_XTS;
}
