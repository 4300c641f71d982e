/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encryption of a key as a program configures it (a BSF in a request), and data that is moved in
 * pieces of any size, in any order. Whatever the pieces, the wire looks as if it was read at once,
 * what was written is read again, and nothing is touched beyond the key's memory.
 *
 * Input: a BSF of 64 bytes, two bytes of the key's length, a byte that fills memory and chooses the
 * engine, then three bytes for each access: where, how much and which way.
 */
#include <string.h>

#include "fuzz.h"
#include "hca/hca.h"
#include "hca/memory/crypt.h"
#include "hca/memory/xts.h"
#include "mlx5/bsf_crypto.h"
#include "util/api.h"

#define MOST  9000u
#define STEPS 64u

/* All that the transform knows of the adapter. */
struct hca hca = { .memory = { .crypto.load_lock = PTHREAD_MUTEX_INITIALIZER } };

static struct hca_dek dek;

void hca_dek_get(struct hca_dek *of)
{
	of->refs++;
}

void hca_dek_put(struct hca_dek *of)
{
	of->refs--;
}

struct flat {
	struct transform_space space;
	uint64_t length;
	uint8_t *bytes; /* exactly as long as it is, for the sanitizer's sake */
};

static uint8_t *at(const struct transform_space *space, uint64_t off, uint64_t len)
{
	const struct flat *flat = container_of(space, const struct flat, space);

	CHECK(off <= flat->length && len <= flat->length - off);
	return flat->bytes + off;
}

static bool read_flat(const struct transform_space *space, uint64_t off, void *to, uint64_t len)
{
	memcpy(to, at(space, off, len), len);
	return true;
}

static bool write_flat(const struct transform_space *space, uint64_t off, const void *from,
		       uint64_t len)
{
	memcpy(at(space, off, len), from, len);
	return true;
}

/* Places that cannot be mapped, so that both ways are taken. */
static void *map_flat(const struct transform_space *space, uint64_t off, uint64_t len, bool write)
{
	(void)write;
	return off & 16 ? NULL : at(space, off, len);
}

static const struct transform_space_ops flat_ops = { read_flat, write_flat, map_flat };

/* A last data unit that is shorter than a block can be neither read nor written. */
static uint64_t usable(const struct hca_crypto_conf *conf, uint64_t length)
{
	return length % conf->unit < XTS_BLOCK ? length - length % conf->unit : length;
}

static void access_piece(struct transform *t, const struct flat *flat, uint64_t wire,
			 const uint8_t *step)
{
	uint64_t off = step[0] * 67u % wire, len = (step[1] * 41u) % (wire - off) + 1;
	uint8_t *piece = malloc(len), *whole = malloc(wire);

	CHECK(piece && whole);
	if (step[2] & 1) {
		memset(piece, step[2], len);
		CHECK(t->ops->write(t, &flat->space, off, piece, len));
	} else {
		CHECK(t->ops->read(t, &flat->space, off, piece, len));
	}
	CHECK(t->ops->read(t, &flat->space, 0, whole, wire));
	CHECK(!memcmp(piece, whole + off, len));
	free(whole);
	free(piece);
}

static void check_again(const struct hca_crypto_conf *conf, enum hca_crypto_engine engine)
{
	struct mlx5_crypto_bsf again;
	struct hca_crypto_conf same;

	mlx5_crypto_bsf_encode(conf, engine, false, &again);
	CHECK(mlx5_crypto_bsf_decode(&again, engine, &same));
	CHECK(same.order == conf->order && same.unit == conf->unit && same.dek == conf->dek);
	CHECK(!memcmp(same.tweak, conf->tweak, sizeof(same.tweak)));
	CHECK(!memcmp(same.keytag, conf->keytag, sizeof(same.keytag)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[32] = { 1, 2, 3 };
	struct flat flat = { .space = { &flat_ops } };
	enum hca_crypto_engine engine;
	struct hca_crypto_conf conf;
	struct mlx5_crypto_bsf bsf;
	struct transform *t;
	uint64_t wire;

	if (size < sizeof(bsf) + 3 || (!dek.xts && xts_key_create(key, sizeof(key), &dek.xts)))
		return 0;
	memcpy(&bsf, data, sizeof(bsf));
	data += sizeof(bsf);
	engine = data[2] & 1 ? HCA_CRYPTO_MULTI_BE : HCA_CRYPTO_SINGLE_LE;
	if (!mlx5_crypto_bsf_decode(&bsf, engine, &conf))
		return 0;
	check_again(&conf, engine);
	flat.length = (data[0] << 8 | data[1]) % MOST + 1;
	flat.bytes = malloc(flat.length);
	t = crypt_create(&conf, &dek, flat.length, true);
	CHECK(flat.bytes && t && t->ops->length(t, flat.length) == flat.length);
	memset(flat.bytes, data[2], flat.length);
	wire = usable(&conf, flat.length);
	data += 3;
	size -= sizeof(bsf) + 3;
	for (unsigned int i = 0; wire && i < STEPS && size >= 3; i++, data += 3, size -= 3)
		access_piece(t, &flat, wire, data);
	t->ops->free(t);
	CHECK(!dek.refs);
	free(flat.bytes);
	return 0;
}
