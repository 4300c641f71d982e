/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Byte stream formats (BSF): how a UMR WQE describes the signatures of a key, behind the key's
 * layout. Drivers write them (wr_sig.c, or a program's own), the adapter reads them (decode.c).
 */
#ifndef MLX5_BSF_H
#define MLX5_BSF_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/device/signature.h"
#include "mlx5/public.h"

/* The T10-DIF of a domain. */
struct mlx5_bsf_dif {
	__be16 valid_refresh;
	__be16 app_tag;
	__be32 ref_tag;
	uint8_t type;
	uint8_t repeat_seed;
	uint8_t reserved[3];
	uint8_t checks;
	__be16 app_mask;
};

struct mlx5_sig_bsf {
	uint8_t size_same; /* size in bits 7:6, both domains have the same structure in bit 4 */
	uint8_t check_mask;
	uint8_t wire_block; /* or, with the same structure, what is copied */
	uint8_t memory_block;
	__be32 data_size;
	__be32 wire_format_psv; /* format of a CRC in bits 31:24 */
	__be32 memory_format_psv;
	/* The signature of all the data, behind it. */
	__be32 whole;
	__be32 whole_epilogue;
	__be32 wire_whole_psv;
	__be32 memory_whole_psv;
	struct mlx5_bsf_dif wire, memory;
};

_Static_assert(sizeof(struct mlx5_sig_bsf) == 64, "layout");

/* The low bits of the first byte: the kind of a BSF. */
#define MLX5_BSF_TYPE_MASK 3u
#define MLX5_BSF_TYPE_SIG  0u

/* Size: with the T10-DIFs, or the same followed by a BSF of encryption. */
#define MLX5_BSF_SIZE_SHIFT       6
#define MLX5_BSF_SIZE_FULL        2u
#define MLX5_BSF_SIZE_WITH_CRYPTO 3u

/* `with_crypto`: a BSF of encryption follows. */
void mlx5_sig_bsf_encode(const struct hca_sig_conf *conf, bool with_crypto,
			 struct mlx5_sig_bsf *out);
/* False: the BSF asks for what a ConnectX does not have. */
bool mlx5_sig_bsf_decode(const struct mlx5_sig_bsf *bsf, struct hca_sig_conf *out);

/* Selectors of block sizes; 0: there is none. */
uint8_t mlx5_block_selector(uint32_t bytes);
uint32_t mlx5_block_bytes(uint8_t selector);

#endif
