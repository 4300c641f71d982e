/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter writes EQEs with the event queue's lock held. A program may read the EQE at any time,
 * and takes it when the owner bit is that of its lap: the word with the owner is written last.
 */
#include "mlx5/eqe.h"

#include <endian.h>
#include <string.h>

#include "hca/queue/eq.h"
#include "mlx5/ifc.h"

#define ENTRY_WORDS 16
#define DATA_WORD   (ifc_byte(eqe, data) / 4)

/* The XOR of the EQE's 64 bytes is 0xff. */
static uint8_t signature(const uint32_t *words, uint8_t owner)
{
	uint32_t sum = owner;

	for (int i = 0; i < ENTRY_WORDS - 1; i++)
		sum ^= words[i];
	sum ^= sum >> 16;
	return ~(sum ^ sum >> 8);
}

void mlx5_eqe_image(const struct hca_eqe *eqe, uint8_t owner, uint32_t out[16])
{
	memset(out, 0, ENTRY_WORDS * sizeof(*out));
	out[0] = htobe32((uint32_t)eqe->type << 16 | eqe->sub_type);
	for (int i = 0; i < 7; i++)
		out[DATA_WORD + i] = htobe32(eqe->data[i]);
	out[ENTRY_WORDS - 1] = htobe32((uint32_t)signature(out, owner) << 8 | owner);
}

void mlx5_eqe_write(struct hca_eq *eq, uint32_t pi, const struct hca_eqe *eqe)
{
	uint32_t *entry = (uint32_t *)eq->buf + (size_t)(pi & (eq->size - 1)) * ENTRY_WORDS;
	uint32_t image[ENTRY_WORDS];

	mlx5_eqe_image(eqe, !!(pi & eq->size), image);
	for (int i = 0; i < ENTRY_WORDS - 1; i++)
		__atomic_store_n(&entry[i], image[i], __ATOMIC_RELAXED);
	/* [M6] pairs with the program's polling: the EQE before its owner */
	__atomic_store_n(&entry[ENTRY_WORDS - 1], image[ENTRY_WORDS - 1], __ATOMIC_RELEASE);
}
