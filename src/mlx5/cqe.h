/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CQEs as the adapter writes them.
 */
#ifndef MLX5_CQE_H
#define MLX5_CQE_H

#include "hca/device/format.h"
#include "mlx5/public.h"

/* Byte offsets of the RSS hash of a received frame, which struct mlx5_cqe64 does not name. */
#define MLX5_CQE_RSS_HASH 12
/* Byte of an error CQE with the MMO engine's own syndrome. */
#define MLX5_CQE_MMO_SYNDROME 52
#define MLX5_CQE_RSS_TYPE     16

/* A CQE of opcode MLX5_CQE_SIG_ERR: a wrong signature. */
struct mlx5_sig_err_cqe {
	uint8_t reserved0[16];
	__be32 expected_guard_app;
	__be32 actual_guard_app;
	__be32 expected_ref;
	__be32 actual_ref;
	__be16 syndrome;
	uint8_t sig_type; /* 0: of a block */
	uint8_t domain;
	__be32 mkey;
	__be64 offset;
	uint8_t reserved1[14];
	uint8_t signature;
	uint8_t op_own;
};

_Static_assert(sizeof(struct mlx5_sig_err_cqe) == 64, "layout");

enum {
	MLX5_SIG_ERR_REF = 1 << 11,
	MLX5_SIG_ERR_APP = 1 << 12,
	MLX5_SIG_ERR_GUARD = 1 << 13,
};

enum {
	MLX5_SIG_ERR_WIRE = 0,
	MLX5_SIG_ERR_MEMORY = 1,
};

/* The CQE's format in op_own; a title stands for several (cqe_comp.h). */
#define MLX5_CQE_FORMAT_MASK 0x0cu
#define MLX5_CQE_COMPRESSED  0x0cu

void mlx5_cqe_write(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe);
/* Writes a title that stands for `count` completions of frames (cqe_comp.h). */
void mlx5_cqe_write_title(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe,
			  uint32_t count);

#endif
