/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signatures of a key as a program configures them (a BSF in a request), and data that is moved in
 * pieces of any size, in any order. Whatever the pieces, the wire looks as if it was read at once, and
 * nothing is touched beyond the key's memory.
 *
 * Input: a BSF of 64 bytes, a byte that fills memory, then three bytes for each access: where, how much
 * and which way.
 */
#include <string.h>

#include "fuzz.h"
#include "hca/hca.h"
#include "hca/memory/psv.h"
#include "hca/memory/signature.h"
#include "hca/memory/signature_error.h"
#include "mlx5/bsf.h"
#include "util/api.h"

#define MEMORY 9000u /* some blocks, and a part of one */
#define STEPS  64u

/* All that the transform knows of the adapter. */
struct hca hca = { .memory = { .signature.lock = PTHREAD_MUTEX_INITIALIZER } };

/* No contexts: a guard that goes on from one starts at 0. */
struct hca_psv *hca_psv_find(uint32_t index, uint32_t pdn)
{
	(void)index;
	(void)pdn;
	return NULL;
}

struct flat {
	struct transform_space space;
	uint8_t *bytes; /* exactly as long as it is, for the sanitizer's sake */
};

static uint8_t *at(const struct transform_space *space, uint64_t off, uint64_t len)
{
	const struct flat *flat = container_of(space, const struct flat, space);

	return off <= MEMORY && len <= MEMORY - off ? flat->bytes + off : NULL;
}

static bool read_flat(const struct transform_space *space, uint64_t off, void *to, uint64_t len)
{
	const uint8_t *from = at(space, off, len);

	if (from)
		memcpy(to, from, len);
	return from;
}

static bool write_flat(const struct transform_space *space, uint64_t off, const void *from,
		       uint64_t len)
{
	uint8_t *to = at(space, off, len);

	if (to)
		memcpy(to, from, len);
	return to;
}

/* Odd places cannot be mapped, so that both ways are taken. */
static void *map_flat(const struct transform_space *space, uint64_t off, uint64_t len, bool write)
{
	(void)write;
	return off & 1 ? NULL : at(space, off, len);
}

static const struct transform_space_ops flat_ops = { read_flat, write_flat, map_flat };

static void forget_errors(void)
{
	struct hca_sig_error error;

	while (signature_error_take(&error))
		CHECK(error.fault <= HCA_SIG_BAD_REF && error.key == 0x100);
	CHECK(!signature_has_errors());
}

static void read_whole(const struct hca_sig_conf *conf, const struct flat *flat, uint8_t *to,
		       uint64_t len)
{
	struct transform *t = signature_create(conf, 0x100, 1);

	CHECK(t && t->ops->read(t, &flat->space, 0, to, len));
	t->ops->free(t);
	forget_errors();
}

static bool can_read_whole(const struct hca_sig_conf *conf, const struct flat *flat, uint64_t len)
{
	struct transform *t = signature_create(conf, 0x100, 1);
	uint8_t *whole = malloc(len + 1);
	bool ok;

	CHECK(t && whole);
	ok = t->ops->read(t, &flat->space, 0, whole, len);
	t->ops->free(t);
	free(whole);
	forget_errors();
	return ok;
}

static void access_piece(struct transform *t, const struct hca_sig_conf *conf, struct flat *flat,
			 uint64_t wire, const uint8_t *step)
{
	uint64_t off = step[0] * 67u % wire, len = (step[1] * 41u + 1) % (wire - off) + 1;
	uint8_t *piece = malloc(len), *whole = malloc(wire);

	CHECK(piece && whole);
	if (step[2] & 1) {
		memset(piece, step[2], len);
		CHECK(t->ops->write(t, &flat->space, off, piece, len));
	} else {
		CHECK(t->ops->read(t, &flat->space, off, piece, len));
		read_whole(conf, flat, whole, wire);
		CHECK(!memcmp(piece, whole + off, len));
	}
	forget_errors();
	free(whole);
	free(piece);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mlx5_sig_bsf bsf, again;
	struct hca_sig_conf conf, same;
	struct flat flat = { .space = { &flat_ops } };
	struct transform *t;
	uint64_t wire;

	if (size < sizeof(bsf) + 1)
		return 0;
	memcpy(&bsf, data, sizeof(bsf));
	if (!mlx5_sig_bsf_decode(&bsf, &conf) || !signature_valid(&conf))
		return 0;
	flat.bytes = malloc(MEMORY);
	CHECK(flat.bytes);
	memset(flat.bytes, data[sizeof(bsf)], MEMORY);
	t = signature_create(&conf, 0x100, 1);
	CHECK(t);
	wire = t->ops->length(t, MEMORY);
	/* Memory that ends within a signature, or right before it, cannot be read to its end. */
	if (!can_read_whole(&conf, &flat, wire)) {
		CHECK(wire == t->ops->length(t, MEMORY - 1) ||
		      wire == t->ops->length(t, MEMORY + 1));
		wire = 0;
	}
	data += sizeof(bsf) + 1;
	size -= sizeof(bsf) + 1;
	for (unsigned int i = 0; wire && i < STEPS && size >= 3; i++, data += 3, size -= 3)
		access_piece(t, &conf, &flat, wire, data);
	t->ops->free(t);
	/* What the driver would write for the same signatures means the same. */
	if (mlx5_block_selector(conf.memory.block) && mlx5_block_selector(conf.wire.block)) {
		mlx5_sig_bsf_encode(&conf, false, &again);
		CHECK(mlx5_sig_bsf_decode(&again, &same));
		CHECK(same.memory.kind == conf.memory.kind && same.wire.kind == conf.wire.kind);
		CHECK(same.check == conf.check && same.memory.ref == conf.memory.ref);
	}
	free(flat.bytes);
	return 0;
}
