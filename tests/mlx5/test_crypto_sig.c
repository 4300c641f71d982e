/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys that encrypt and have signatures: each combination of what memory and wire look like that a
 * ConnectX offers, in every operation. Letters are those of mlx5dv_wr_set_mkey_crypto(3).
 */
#include "crypto_rig.h"

#include <errno.h>
#include <isa-l/crc.h>

#define BLOCK  512u
#define COUNT  16u
#define LEN    (BLOCK * COUNT)
#define LONGER (LEN + 8 * COUNT)

static struct crypto_rig r;

static int make(void **state)
{
	crypto_rig_make(&r, MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO |
				    MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE);
	return 0;
}

static int drop(void **state)
{
	crypto_rig_drop(&r);
	return 0;
}

/* ---- what data looks like ---- */

/* A side has signatures or not; it may be encrypted, with its signatures or between them. */
enum sig { NONE, DIF, CRC };

static const uint32_t sig_bytes[] = { [NONE] = 0, [DIF] = 8, [CRC] = 4 };
static const int unit_sizes[] = { [NONE] = MLX5DV_BLOCK_SIZE_512, [DIF] = MLX5DV_BLOCK_SIZE_520 };

static const struct row {
	char name;
	enum sig memory, wire;
	bool encrypt_on_tx, sig_before;
	enum { DATA, WITH_SIG } what; /* is encrypted */
} rows[] = {
	/* A key keeps its signatures: rows without come first. */
	{ 'A', NONE, NONE, true, false, DATA },     { 'A', NONE, NONE, true, true, DATA },
	{ 'F', NONE, NONE, false, false, DATA },    { 'B', NONE, DIF, true, false, DATA },
	{ 'C', NONE, DIF, true, true, WITH_SIG },   { 'D', DIF, NONE, true, true, WITH_SIG },
	{ 'E', CRC, DIF, true, true, WITH_SIG },    { 'G', NONE, DIF, false, false, WITH_SIG },
	{ 'H', DIF, NONE, false, false, WITH_SIG }, { 'I', DIF, CRC, false, false, WITH_SIG },
	{ 'J', DIF, NONE, false, true, DATA },
};

static enum sig encrypted_sig(const struct row *row)
{
	return row->encrypt_on_tx ? row->wire : row->memory;
}

static void put_sig(uint8_t *at, const uint8_t *block, enum sig sig, uint32_t i)
{
	uint64_t dif = htobe64((uint64_t)crc16_t10dif(0, block, BLOCK) << 48 | i);
	uint32_t crc = htole32(~crc32_iscsi((uint8_t *)(uintptr_t)block, BLOCK, UINT32_MAX));

	memcpy(at, sig == DIF ? (void *)&dif : (void *)&crc, sig_bytes[sig]);
}

/* Signatures of the blocks of `data`, which are as they stand there. Returns the length. */
static uint32_t with_sigs(const uint8_t *data, enum sig sig, uint8_t *out)
{
	uint32_t step = BLOCK + sig_bytes[sig];

	for (uint32_t i = 0; i < COUNT; i++) {
		memcpy(out + i * step, data + i * BLOCK, BLOCK);
		put_sig(out + i * step + BLOCK, data + i * BLOCK, sig, i);
	}
	return step * COUNT;
}

/* A data unit is a block, with its signature if that is encrypted, too. */
static uint32_t make_side(const struct row *row, enum sig sig, bool encrypted, const uint8_t *data,
			  uint8_t *out)
{
	uint8_t coded[LEN], plain[LONGER];
	uint32_t len;

	if (!encrypted)
		return with_sigs(data, sig, out);
	if (row->what == DATA) {
		crypto_rig_encrypt(DEK_128, BLOCK, data, coded, LEN);
		return with_sigs(coded, sig, out);
	}
	len = with_sigs(data, sig, plain);
	crypto_rig_encrypt(DEK_128, BLOCK + sig_bytes[sig], plain, out, len);
	return len;
}

/* ---- configuration ---- */

static const struct mlx5dv_sig_t10dif dif = { .bg_type = MLX5DV_SIG_T10DIF_CRC,
					      .flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP };
static const struct mlx5dv_sig_crc crc = { .type = MLX5DV_SIG_CRC_TYPE_CRC32C, .seed = UINT32_MAX };
static const struct mlx5dv_sig_block_domain domains[] = {
	[DIF] = { .sig_type = MLX5DV_SIG_TYPE_T10DIF, .sig.dif = &dif },
	[CRC] = { .sig_type = MLX5DV_SIG_TYPE_CRC, .sig.crc = &crc },
};

static const struct mlx5dv_sig_block_domain *domain(enum sig sig)
{
	return sig == NONE ? NULL : &domains[sig];
}

static int configure(const struct row *row, uint32_t len)
{
	struct mlx5dv_sig_block_attr sig = { .mem = domain(row->memory),
					     .wire = domain(row->wire),
					     .check_mask = 0xff };
	bool is_signed = row->memory != NONE || row->wire != NONE;
	enum sig unit = row->what == DATA ? NONE : encrypted_sig(row);
	struct mlx5dv_crypto_attr attr = crypto_rig_attr(&r, row->encrypt_on_tx, unit_sizes[unit]);

	attr.signature_crypto_order =
		row->sig_before ? MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX
				: MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX;
	crypto_rig_begin(&r, is_signed ? 4 : 3, len);
	if (is_signed)
		mlx5dv_wr_set_mkey_sig_block(r.dv, &sig);
	mlx5dv_wr_set_mkey_crypto(r.dv, &attr);
	return ibv_wr_complete(r.ex);
}

static void expect_configured(void)
{
	pair_expect(r.pair.cq[0], (enum ibv_wc_opcode)MLX5DV_WC_UMR, 1);
}

static uint8_t error_of_key(void)
{
	struct mlx5dv_mkey_err err;

	assert_int_equal(mlx5dv_mkey_check(r.mkey, &err), 0);
	return err.err_type;
}

/* ---- tests ---- */

static void check_row(const struct row *row)
{
	uint8_t data[LEN], memory[LONGER], wire[LONGER];
	uint32_t memory_len, wire_len;

	pair_pattern(data, LEN, (uint8_t)row->name);
	memory_len = make_side(row, row->memory, !row->encrypt_on_tx, data, memory);
	wire_len = make_side(row, row->wire, row->encrypt_on_tx, data, wire);
	for (enum crypto_way way = 0; way < WAYS; way++) {
		memset(r.pair.buf + RIG_KEY, 0x11, LONGER);
		memset(r.pair.buf + RIG_PLAIN, 0x22, LONGER);
		if (crypto_rig_is_to_key(way))
			memcpy(r.pair.buf + RIG_PLAIN, wire, wire_len);
		else
			memcpy(r.pair.buf + RIG_KEY, memory, memory_len);
		assert_int_equal(configure(row, memory_len), 0);
		expect_configured();
		assert_int_equal(crypto_rig_run(&r, way, 0, wire_len).status, IBV_WC_SUCCESS);
		assert_memory_equal(r.pair.buf + RIG_PLAIN, wire, wire_len);
		assert_memory_equal(r.pair.buf + RIG_KEY, memory, memory_len);
		assert_int_equal(error_of_key(), MLX5DV_MKEY_NO_ERR);
	}
}

static void every_combination_is_done_in_every_operation(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

/* Encrypted data is decrypted before its signature is checked. */
static void a_wrong_signature_is_told_behind_encryption(void **state)
{
	const struct row *row = &rows[4]; /* C */
	uint8_t data[LEN], wire[LONGER];
	uint32_t len;

	pair_pattern(data, LEN, 1);
	len = make_side(row, row->wire, true, data, wire);
	wire[700] ^= 1;
	memcpy(r.pair.buf + RIG_PLAIN, wire, len);
	assert_int_equal(configure(row, LEN), 0);
	expect_configured();
	crypto_rig_run(&r, LOCAL_READ, 0, len);
	assert_int_equal(error_of_key(), MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
}

static void signatures_on_both_sides_are_encrypted_with_the_data(void **state)
{
	struct row row = { 'x', CRC, DIF, true, false, DATA };

	assert_int_equal(configure(&row, LEN + 4 * COUNT), EINVAL);
	row = (struct row){ 'x', DIF, CRC, false, true, DATA };
	assert_int_equal(configure(&row, LONGER), EINVAL);
}

/* Signatures that are reset leave the encryption. */
static void encryption_outlives_the_signatures(void **state)
{
	struct mlx5dv_mkey_conf_attr reset = {
		.conf_flags = MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR,
	};
	uint8_t data[LEN], coded[LEN];

	assert_int_equal(configure(&rows[3], LEN), 0); /* B */
	expect_configured();
	ibv_wr_start(r.ex);
	r.ex->wr_id = 1;
	r.ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(r.dv, r.mkey, 0, &reset);
	assert_int_equal(ibv_wr_complete(r.ex), 0);
	expect_configured();
	pair_pattern(data, LEN, 9);
	crypto_rig_encrypt(DEK_128, BLOCK, data, coded, LEN);
	memcpy(r.pair.buf + RIG_KEY, data, LEN);
	assert_int_equal(crypto_rig_run(&r, SEND, 0, LEN).status, IBV_WC_SUCCESS);
	assert_memory_equal(r.pair.buf + RIG_PLAIN, coded, LEN);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_combination_is_done_in_every_operation),
		T(a_wrong_signature_is_told_behind_encryption),
		T(signatures_on_both_sides_are_encrypted_with_the_data),
		T(encryption_outlives_the_signatures),
	};

	crypto_rig_adapters();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
