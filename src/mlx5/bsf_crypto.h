/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The byte stream format (BSF) of encryption: how a UMR WQE tells a key to encrypt, behind the key's
 * layout and its BSF of signatures, if it has one. Drivers write it (wr_crypto.c, or a program's
 * own), the adapter reads it (decode.c).
 */
#ifndef MLX5_BSF_CRYPTO_H
#define MLX5_BSF_CRYPTO_H

#include <stdbool.h>

#include "hca/device/crypto.h"
#include "hca/device/model.h"
#include "mlx5/public.h"

struct mlx5_crypto_bsf {
	uint8_t size_type; /* size in bits 7:6, type in bits 1:0 */
	uint8_t order;
	uint8_t reserved;
	uint8_t standard;
	__be32 data_size;
	uint8_t unit; /* selector */
	uint8_t reserved_2[7];
	uint8_t tweak[16]; /* little or big endian, by engine */
	__be32 dek;
	uint8_t reserved_3[4];
	uint8_t keytag[HCA_KEYTAG_LEN];
	uint8_t reserved_4[16];
};

_Static_assert(sizeof(struct mlx5_crypto_bsf) == 64, "layout");

#define MLX5_BSF_TYPE_CRYPTO 1u

/* `with_sig`: a BSF of signatures is before it. */
void mlx5_crypto_bsf_encode(const struct hca_crypto_conf *conf, enum hca_crypto_engine engine,
			    bool with_sig, struct mlx5_crypto_bsf *out);
/* False: the BSF asks for what a ConnectX does not have. */
bool mlx5_crypto_bsf_decode(const struct mlx5_crypto_bsf *bsf, enum hca_crypto_engine engine,
			    struct hca_crypto_conf *out);

#endif
