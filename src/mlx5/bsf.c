/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/bsf.h"

#include <endian.h>
#include <string.h>

#include "util/api.h"

#define SAME_STRUCTURE (1u << 4)
#define FORMAT_SHIFT   24
#define PSV_MASK       0xffffffu

/* Formats of CRCs: the kind, a CRC of every block, and the start value 0 instead of all ones. */
#define FORMAT_KIND   0xf0u
#define FORMAT_CRC32  0x20u
#define FORMAT_CRC32C 0x40u
#define FORMAT_CRC64  0x50u
#define FORMAT_REPEAT 2u
#define FORMAT_ZERO   1u

/* struct mlx5_bsf_dif */
#define DIF_VALID      (1u << 15)
#define DIF_REFRESH    (1u << 14)
#define DIF_CRC        1u
#define DIF_CSUM       2u
#define DIF_REPEAT     (1u << 7)
#define DIF_ONES       (1u << 3)
#define DIF_COUNTS     (1u << 6)
#define DIF_ESCAPE_APP 1u
#define DIF_ESCAPE_REF 2u

/* mlx5_sig_bsf.whole: the signature of all the data starts here, and is checked or made. */
#define WHOLE_MEMORY_CHECK (1u << 24)
#define WHOLE_MEMORY_INIT  (1u << 25)
#define WHOLE_WIRE_CHECK   (1u << 28)
#define WHOLE_WIRE_INIT    (1u << 29)

static const uint32_t block_sizes[] = { 0, 512, 520, 4096, 4160, 1u << 20, 4048 };

uint32_t mlx5_block_bytes(uint8_t selector)
{
	return selector < array_size(block_sizes) ? block_sizes[selector] : 0;
}

uint8_t mlx5_block_selector(uint32_t bytes)
{
	for (size_t i = 1; i < array_size(block_sizes); i++)
		if (block_sizes[i] == bytes)
			return (uint8_t)i;
	return 0;
}

static bool is_dif(const struct hca_sig_domain *d)
{
	return d->kind == HCA_SIG_DIF_CRC || d->kind == HCA_SIG_DIF_CSUM;
}

/* ---- writing ---- */

static uint32_t crc_format(const struct hca_sig_domain *d)
{
	uint32_t format = d->kind == HCA_SIG_CRC32    ? FORMAT_CRC32
			  : d->kind == HCA_SIG_CRC32C ? FORMAT_CRC32C
						      : FORMAT_CRC64;

	return format | FORMAT_REPEAT | (d->ones ? 0 : FORMAT_ZERO);
}

static void put_domain(const struct hca_sig_domain *d, __be32 *format_psv, struct mlx5_bsf_dif *dif)
{
	if (!d->kind)
		return;
	*format_psv = htobe32(d->psv & PSV_MASK);
	if (!is_dif(d)) {
		*format_psv |= htobe32(crc_format(d) << FORMAT_SHIFT);
		return;
	}
	*dif = (struct mlx5_bsf_dif){
		.valid_refresh = htobe16(DIF_VALID | DIF_REFRESH),
		.app_tag = htobe16(d->app),
		.ref_tag = htobe32(d->ref),
		.type = d->kind == HCA_SIG_DIF_CRC ? DIF_CRC : DIF_CSUM,
		.repeat_seed = DIF_REPEAT | (d->ones ? DIF_ONES : 0),
		.checks = (d->counts ? DIF_COUNTS : 0) |
			  (d->escape == HCA_SIG_ESCAPE_APP       ? DIF_ESCAPE_APP
			   : d->escape == HCA_SIG_ESCAPE_APP_REF ? DIF_ESCAPE_REF
								 : 0),
		.app_mask = htobe16(d->app_mask),
	};
}

static bool same_structure(const struct hca_sig_domain *a, const struct hca_sig_domain *b)
{
	return a->kind && a->block == b->block && (a->kind == b->kind || (is_dif(a) && is_dif(b)));
}

void mlx5_sig_bsf_encode(const struct hca_sig_conf *conf, bool with_crypto,
			 struct mlx5_sig_bsf *out)
{
	uint8_t size = with_crypto ? MLX5_BSF_SIZE_WITH_CRYPTO : MLX5_BSF_SIZE_FULL;

	*out = (struct mlx5_sig_bsf){
		.size_same = (uint8_t)(size << MLX5_BSF_SIZE_SHIFT),
		.check_mask = conf->check,
		.data_size = htobe32(UINT32_MAX),
	};
	if (conf->memory.kind)
		out->memory_block = mlx5_block_selector(conf->memory.block);
	if (same_structure(&conf->memory, &conf->wire)) {
		out->size_same |= SAME_STRUCTURE;
		out->wire_block = conf->copy;
	} else if (conf->wire.kind) {
		out->wire_block = mlx5_block_selector(conf->wire.block);
	}
	put_domain(&conf->memory, &out->memory_format_psv, &out->memory);
	put_domain(&conf->wire, &out->wire_format_psv, &out->wire);
}

/* ---- reading ---- */

static bool get_crc(uint8_t format, struct hca_sig_domain *out)
{
	switch (format & FORMAT_KIND) {
	case FORMAT_CRC32:
		out->kind = HCA_SIG_CRC32;
		break;
	case FORMAT_CRC32C:
		out->kind = HCA_SIG_CRC32C;
		break;
	case FORMAT_CRC64:
		out->kind = HCA_SIG_CRC64;
		break;
	default:
		return false;
	}
	out->ones = !(format & FORMAT_ZERO);
	return true;
}

static bool get_dif(const struct mlx5_bsf_dif *dif, struct hca_sig_domain *out)
{
	if (dif->type != DIF_CRC && dif->type != DIF_CSUM)
		return false;
	out->kind = dif->type == DIF_CRC ? HCA_SIG_DIF_CRC : HCA_SIG_DIF_CSUM;
	out->ones = dif->repeat_seed & DIF_ONES;
	out->counts = dif->checks & DIF_COUNTS;
	out->escape = dif->checks & DIF_ESCAPE_REF   ? HCA_SIG_ESCAPE_APP_REF
		      : dif->checks & DIF_ESCAPE_APP ? HCA_SIG_ESCAPE_APP
						     : HCA_SIG_ESCAPE_NONE;
	out->app = be16toh(dif->app_tag);
	out->app_mask = be16toh(dif->app_mask);
	out->ref = be32toh(dif->ref_tag);
	return dif->repeat_seed & DIF_REPEAT;
}

/* A domain without format and without T10-DIF has no signatures. */
static bool get_domain(uint32_t format_psv, const struct mlx5_bsf_dif *dif, uint8_t block,
		       struct hca_sig_domain *out)
{
	uint8_t format = (uint8_t)(format_psv >> FORMAT_SHIFT);

	out->psv = format_psv & PSV_MASK;
	out->block = mlx5_block_bytes(block);
	if (format)
		return format & FORMAT_REPEAT && get_crc(format, out) && out->block;
	if (!(be16toh(dif->valid_refresh) & DIF_VALID))
		return true;
	return get_dif(dif, out) && out->block;
}

/*
 * The signature of all the data is that of one block, which has all the data. It may go on over several
 * keys, whose configurations share a context.
 */
static bool get_whole(uint32_t format_psv, bool starts, bool ends, uint32_t data,
		      struct hca_sig_domain *out)
{
	if (!format_psv)
		return true;
	if (out->kind || !get_crc((uint8_t)(format_psv >> FORMAT_SHIFT), out))
		return false;
	out->resumes = !starts;
	out->leaves = !ends;
	out->psv = format_psv & PSV_MASK;
	out->block = data;
	return data;
}

bool mlx5_sig_bsf_decode(const struct mlx5_sig_bsf *bsf, struct hca_sig_conf *out)
{
	static const struct mlx5_bsf_dif none;
	bool same = bsf->size_same & SAME_STRUCTURE;
	bool full = bsf->size_same >> MLX5_BSF_SIZE_SHIFT >= MLX5_BSF_SIZE_FULL;
	uint32_t whole = be32toh(bsf->whole), data = be32toh(bsf->data_size);

	*out = (struct hca_sig_conf){ .check = bsf->check_mask,
				      .copy = same ? bsf->wire_block : 0 };
	if (!get_domain(be32toh(bsf->memory_format_psv), full ? &bsf->memory : &none,
			bsf->memory_block, &out->memory) ||
	    !get_domain(be32toh(bsf->wire_format_psv), full ? &bsf->wire : &none,
			same ? bsf->memory_block : bsf->wire_block, &out->wire))
		return false;
	return get_whole(be32toh(bsf->memory_whole_psv), whole & WHOLE_MEMORY_INIT,
			 whole & WHOLE_MEMORY_CHECK, data, &out->memory) &&
	       get_whole(be32toh(bsf->wire_whole_psv), whole & WHOLE_WIRE_INIT,
			 whole & WHOLE_WIRE_CHECK, data, &out->wire);
}
