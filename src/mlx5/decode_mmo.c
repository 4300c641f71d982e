/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/decode_mmo.h"

#include "mlx5/wqe.h"

/* The control word of compression. */
#define WINDOW_SHIFT  12 /* log2 of the window, in units of 1 KiB */
#define BLOCK_SHIFT   16 /* log2 of the block, in bytes */
#define DYNAMIC_SHIFT 20 /* log2 of the longest block with codes of its own; 0: fixed codes */
#define NIBBLE        0xfu

#define LOG_WINDOW_LEAST 10
#define LOG_WINDOW_MOST  15

/* The control word of decompression. */
#define TYPE_SHIFT        8
#define TYPE_DEFLATE      0
#define TYPE_LZ4          2
#define LZ4_SHIFT         20
#define LZ4_DATA_ONLY     0
#define LZ4_NO_SUMS       1
#define LZ4_SUMS          2
#define INDEPENDENT_SHIFT 22

static bool decode_compress(uint32_t control, struct hca_mmo *out)
{
	uint32_t window = LOG_WINDOW_LEAST + (control >> WINDOW_SHIFT & NIBBLE);

	out->kind = HCA_MMO_DEFLATE;
	out->log_window = window < LOG_WINDOW_MOST ? window : LOG_WINDOW_MOST;
	out->log_block = control >> BLOCK_SHIFT & NIBBLE;
	out->dynamic = control >> DYNAMIC_SHIFT & NIBBLE;
	return true;
}

static bool decode_decompress(uint32_t control, struct hca_mmo *out)
{
	uint32_t type = control >> TYPE_SHIFT & NIBBLE, kind = control >> LZ4_SHIFT & 3;

	if (type == TYPE_DEFLATE) {
		out->kind = HCA_MMO_INFLATE;
		return true;
	}
	out->kind = HCA_MMO_UNLZ4;
	out->has_lengths = kind != LZ4_DATA_ONLY;
	out->has_sums = kind == LZ4_SUMS;
	out->independent = control >> INDEPENDENT_SHIFT & 1;
	return type == TYPE_LZ4 && kind <= LZ4_SUMS;
}

bool mlx5_mmo_decode(const struct hca_model *model, uint32_t modifier, uint32_t control,
		     struct hca_mmo *out)
{
	bool known = false;

	*out = (struct hca_mmo){ .kind = HCA_MMO_DMA };
	if (modifier == MLX5_MMO_DMA)
		known = true;
	else if (modifier == MLX5_MMO_COMPRESS)
		known = decode_compress(control, out);
	else if (modifier == MLX5_MMO_DECOMPRESS)
		known = decode_decompress(control, out);
	return known && model->mmo >> out->kind & 1;
}
