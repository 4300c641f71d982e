/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ACCESS_ASO: an ASO control segment of 48 bytes, and 64 bytes of data unless the access only reads. The
 * segments are copied first: the program may write to the ring meanwhile.
 */
#include "mlx5/decode_aso.h"

#include <endian.h>
#include <string.h>

#include "driver/recv_wqe.h"
#include "mlx5/ifc.h"
#include "mlx5/wqe.h"

#define READ_ONLY_UNITS 4u
#define WHOLE_UNITS     8u

enum { MASK_BITWISE_64BIT = 0, MASK_BYTEWISE_64BYTE = 1 };

static void copy_segments(const struct hca_qp *qp, uint32_t index, uint32_t ds, uint8_t *to)
{
	const uint8_t *ring = qp->sq.buf;
	uint32_t size = qp->sq.size << MLX5_SEND_WQE_SHIFT;
	uint32_t at = (index & (qp->sq.size - 1)) << MLX5_SEND_WQE_SHIFT;

	for (uint32_t i = 1; i < ds; i++)
		memcpy(to + (i - 1) * MLX5_DS, ring + (at + i * MLX5_DS) % size, MLX5_DS);
}

static bool kind_of(uint8_t opmod, uint8_t *kind)
{
	static const uint8_t kinds[] = {
		[MLX5_ASO_OPMOD_CT] = ASO_CT,
		[MLX5_ASO_OPMOD_METER] = ASO_METER,
		[MLX5_ASO_OPMOD_FIRST_HIT] = ASO_FIRST_HIT,
	};

	if (opmod != MLX5_ASO_OPMOD_CT && opmod != MLX5_ASO_OPMOD_METER &&
	    opmod != MLX5_ASO_OPMOD_FIRST_HIT)
		return false;
	*kind = kinds[opmod];
	return true;
}

static void take_conditions(const uint8_t *seg, struct aso_change *change)
{
	for (unsigned int i = 0; i < 2; i++) {
		change->condition[i].op = i ? ifc_get(seg, aso_ctrl_seg, condition_1_operand)
					    : ifc_get(seg, aso_ctrl_seg, condition_0_operand);
		change->condition[i].word = i ? ifc_get(seg, aso_ctrl_seg, condition_1_offset)
					      : ifc_get(seg, aso_ctrl_seg, condition_0_offset);
		change->condition[i].value = i ? ifc_get(seg, aso_ctrl_seg, condition_1_data)
					       : ifc_get(seg, aso_ctrl_seg, condition_0_data);
		change->condition[i].mask = i ? ifc_get(seg, aso_ctrl_seg, condition_1_mask)
					      : ifc_get(seg, aso_ctrl_seg, condition_0_mask);
	}
	change->any = ifc_get(seg, aso_ctrl_seg, condition_operand);
}

/* Bytes of the data segment, a bit of the mask each, the highest first; or 64 bits at a word. */
static bool take_data(const uint8_t *seg, bool has_data, struct aso_change *change)
{
	uint64_t mask = ifc_get(seg, aso_ctrl_seg, data_mask);
	unsigned int at = 4 * ifc_get(seg, aso_ctrl_seg, data_offset);

	switch (ifc_get(seg, aso_ctrl_seg, data_mask_mode)) {
	case MASK_BYTEWISE_64BYTE:
		if (!has_data)
			return true;
		memcpy(change->data, seg + IFC_LEN_aso_ctrl_seg, ASO_BYTES);
		for (unsigned int i = 0; i < ASO_BYTES; i++)
			change->mask[i] = mask >> (63 - i) & 1 ? 0xff : 0;
		return true;
	case MASK_BITWISE_64BIT:
		if (at > ASO_BYTES - sizeof(mask))
			return false;
		memcpy(change->data + at, seg + ifc_byte(aso_ctrl_seg, bitwise_data), 8);
		memcpy(change->mask + at, seg + ifc_byte(aso_ctrl_seg, data_mask), 8);
		return true;
	default:
		return false;
	}
}

bool mlx5_decode_aso(const struct hca_qp *qp, uint32_t index, uint32_t ds, uint8_t opmod,
		     struct hca_send *out)
{
	_Alignas(8) uint8_t seg[(WHOLE_UNITS - 1) * MLX5_DS];
	uint64_t va;

	if ((ds != READ_ONLY_UNITS && ds != WHOLE_UNITS) || !kind_of(opmod, &out->aso.kind))
		return false;
	copy_segments(qp, index, ds, seg);
	out->aso.number = be32toh(out->imm);
	memset(&out->aso.change, 0, sizeof(out->aso.change));
	take_conditions(seg, &out->aso.change);
	va = ifc_get(seg, aso_ctrl_seg, va);
	if (va & 1) { /* the context is written there as it was before */
		out->sge[0] = (struct hca_sge){ .addr = va & ~1ull,
						.len = ASO_BYTES,
						.key = drv_load_key(
							seg + ifc_byte(aso_ctrl_seg, l_key)) };
		out->sge_count = 1;
	}
	return take_data(seg, ds == WHOLE_UNITS, &out->aso.change);
}
