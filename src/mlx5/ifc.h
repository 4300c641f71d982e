/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device-command mailboxes of the mlx5 family: where each field lies, and how to read and write it.
 * Used by the DEVX layer and by whatever decodes device contexts (QPC, CQC, MKC ...). No state, no
 * lock.
 *
 * A mailbox is a big-endian bit string: bit 0 is the most significant bit of byte 0. The ifc_*.def
 * tables name each field by layout, first bit and width in bits. A field may cross words, and a
 * buffer needs no alignment. Nested contexts are fields too: take ifc_ptr() of the outer one and
 * go on with the inner layout.
 *
 *	void *cqc = ifc_ptr(in, create_cq_in, cq_context);
 *	unsigned depth = 1u << ifc_get(cqc, cqc, log_cq_size);
 *
 * Every layout has its length in bytes, ifc_len(cqc); for one that ends in an array that is the
 * length before the first element, and the array's width is that of one element.
 *
 * Programs bring their own structs for the same bytes, which is why names follow the device's.
 */
#ifndef VB_MLX5_IFC_H
#define VB_MLX5_IFC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum ifc_field {
#define IFC_LEN(layout, bytes)
#define IFC(layout, field, bit, width) IFC_##layout##_##field = ((bit) << 16) | (width),
#include "mlx5/ifc_tables.def"
#undef IFC
#undef IFC_LEN
};

enum ifc_length {
#define IFC_LEN(layout, bytes) IFC_LEN_##layout = (bytes),
#define IFC(layout, field, bit, width)
#include "mlx5/ifc_tables.def"
#undef IFC
#undef IFC_LEN
};

#define IFC_BIT(layout, field)   ((size_t)((unsigned)IFC_##layout##_##field >> 16))
#define IFC_WIDTH(layout, field) ((unsigned)IFC_##layout##_##field & 0xffff)

/* width is 1 to 64; bits outside of the field keep their value. */
static inline uint64_t ifc_load(const void *mailbox, size_t bit, unsigned width)
{
	const uint8_t *at = (const uint8_t *)mailbox + bit / 8;
	unsigned skip = bit % 8;
	uint64_t value = 0;

	while (width) {
		unsigned take = 8 - skip < width ? 8 - skip : width;
		unsigned piece = (*at++ >> (8 - skip - take)) & ((1u << take) - 1);

		value = value << take | piece;
		width -= take;
		skip = 0;
	}
	return value;
}

static inline void ifc_store(void *mailbox, size_t bit, unsigned width, uint64_t value)
{
	uint8_t *at = (uint8_t *)mailbox + bit / 8;
	unsigned skip = bit % 8;

	while (width) {
		unsigned take = 8 - skip < width ? 8 - skip : width;
		unsigned shift = 8 - skip - take;
		unsigned mask = ((1u << take) - 1) << shift;
		unsigned piece = (unsigned)(value >> (width - take)) << shift;

		*at = (uint8_t)((*at & ~mask) | (piece & mask));
		at++;
		width -= take;
		skip = 0;
	}
}

/* Fails to compile for a field that does not fit into 64 bits. */
#define IFC_VALUE_WIDTH(layout, field)                                                             \
	(IFC_WIDTH(layout, field) + 0 * sizeof(struct {                                            \
					    _Static_assert(IFC_WIDTH(layout, field) <= 64,         \
							   "use ifc_ptr");                         \
					    int i;                                                 \
				    }))

#define ifc_get(mailbox, layout, field)                                                            \
	ifc_load(mailbox, IFC_BIT(layout, field), IFC_VALUE_WIDTH(layout, field))
#define ifc_set(mailbox, layout, field, value)                                                     \
	ifc_store(mailbox, IFC_BIT(layout, field), IFC_VALUE_WIDTH(layout, field), value)

/* Element i of an array whose elements follow each other without a gap. */
#define ifc_get_at(mailbox, layout, field, i)                                                      \
	ifc_load(mailbox, IFC_BIT(layout, field) + (size_t)(i)*IFC_WIDTH(layout, field),           \
		 IFC_VALUE_WIDTH(layout, field))
#define ifc_set_at(mailbox, layout, field, i, value)                                               \
	ifc_store(mailbox, IFC_BIT(layout, field) + (size_t)(i)*IFC_WIDTH(layout, field),          \
		  IFC_VALUE_WIDTH(layout, field), value)

/* Whether value survives a store. */
#define ifc_fits(layout, field, value)                                                             \
	(((uint64_t)(value) >> (IFC_VALUE_WIDTH(layout, field) - 1)) <= 1)

#define ifc_len(layout)         ((size_t)IFC_LEN_##layout)
#define ifc_byte(layout, field) (IFC_BIT(layout, field) / 8)
#define ifc_size(layout, field) ((size_t)IFC_WIDTH(layout, field) / 8)
#define ifc_end(layout, field)                                                                     \
	(ifc_byte(layout, field) + (IFC_BIT(layout, field) % 8 + IFC_WIDTH(layout, field) + 7) / 8)
#define ifc_ptr(mailbox, layout, field) ((void *)((uint8_t *)(mailbox) + ifc_byte(layout, field)))
#define ifc_cptr(mailbox, layout, field)                                                           \
	((const void *)((const uint8_t *)(mailbox) + ifc_byte(layout, field)))

/* Fills the output of a command: status, and a syndrome in the numbering of the firmware. */
static inline void ifc_answer(void *out, size_t outlen, uint8_t status, uint32_t syndrome)
{
	memset(out, 0, outlen < ifc_len(cmd_out) ? outlen : ifc_len(cmd_out));
	if (outlen >= ifc_end(cmd_out, status))
		ifc_set(out, cmd_out, status, status);
	if (outlen >= ifc_end(cmd_out, syndrome))
		ifc_set(out, cmd_out, syndrome, syndrome);
}

#endif
