/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data through memory keys that encrypt: every operation, local and remote, against libcrypto. Keys
 * are lists of pieces that end anywhere; messages are longer than a packet.
 */
#include "crypto_rig.h"

#include <errno.h>

static struct crypto_rig r;

static int make(void **state)
{
	crypto_rig_make(&r, MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO);
	return 0;
}

static int drop(void **state)
{
	crypto_rig_drop(&r);
	return 0;
}

static int configure_by(const struct mlx5dv_crypto_attr *attr, uint32_t len)
{
	crypto_rig_begin(&r, 3, len);
	mlx5dv_wr_set_mkey_crypto(r.dv, attr);
	return ibv_wr_complete(r.ex);
}

static void expect_configured(void)
{
	pair_expect(r.pair.cq[0], (enum ibv_wc_opcode)MLX5DV_WC_UMR, 1);
}

static void configure(bool encrypt_on_tx, int size, uint32_t len)
{
	struct mlx5dv_crypto_attr attr = crypto_rig_attr(&r, encrypt_on_tx, size);

	assert_int_equal(configure_by(&attr, len), 0);
	expect_configured();
}

#define LEN 33280u /* 65 units of 512 bytes, 64 of 520 */

static uint8_t clear[LEN], coded[LEN];

static void prepare(const char *key, uint32_t unit, uint32_t len)
{
	pair_pattern(clear, len, 3);
	crypto_rig_encrypt(key, unit, clear, coded, len);
}

static void check(enum crypto_way way, bool encrypt_on_tx, uint32_t offset, uint32_t len)
{
	const uint8_t *memory = encrypt_on_tx ? clear : coded,
		      *wire = encrypt_on_tx ? coded : clear;

	memset(r.pair.buf + RIG_KEY, 0x11, LEN + 16);
	memset(r.pair.buf + RIG_PLAIN, 0x22, LEN);
	if (crypto_rig_is_to_key(way))
		memcpy(r.pair.buf + RIG_PLAIN + offset, wire + offset, len);
	else
		memcpy(r.pair.buf + RIG_KEY, memory, LEN);
	assert_int_equal(crypto_rig_run(&r, way, offset, len).status, IBV_WC_SUCCESS);
	assert_memory_equal(r.pair.buf + RIG_PLAIN + offset, wire + offset, len);
	assert_memory_equal(r.pair.buf + RIG_KEY + offset, memory + offset, len);
	if (crypto_rig_is_to_key(way)) {
		assert_int_equal(r.pair.buf[RIG_KEY + offset + len], 0x11);
		assert_int_equal(r.pair.buf[RIG_PLAIN - 1], 0);
	}
}

static void every_operation_encrypts_or_decrypts(void **state)
{
	for (int size = 0; size < 5; size++) {
		uint32_t len = LEN / crypto_rig_units[size] * crypto_rig_units[size];

		prepare(DEK_128, crypto_rig_units[size], len);
		for (int on_tx = 0; on_tx < 2; on_tx++) {
			configure(on_tx, size, len);
			for (enum crypto_way way = 0; way < WAYS; way++)
				check(way, on_tx, 0, len);
		}
	}
}

static void keys_of_256_bits_encrypt(void **state)
{
	assert_int_equal(mlx5dv_dek_destroy(r.dek), 0);
	r.dek = crypto_rig_dek(&r, DEK_256);
	prepare(DEK_256, 512, LEN);
	configure(true, MLX5DV_BLOCK_SIZE_512, LEN);
	for (enum crypto_way way = 0; way < WAYS; way++)
		check(way, true, 0, LEN);
}

/* From the middle of a data unit to the middle of another, at any byte. */
static void a_message_may_begin_and_end_inside_a_data_unit(void **state)
{
	prepare(DEK_128, 520, LEN);
	for (int on_tx = 0; on_tx < 2; on_tx++) {
		configure(on_tx, MLX5DV_BLOCK_SIZE_520, LEN);
		for (enum crypto_way way = 0; way < WAYS; way++) {
			if (crypto_rig_is_to_key(way)) {
				check(way, on_tx, 16, 5 * 520);
				check(way, on_tx, 520, 496);
				continue;
			}
			check(way, on_tx, 7, 9000);
			check(way, on_tx, 519, 2);
		}
	}
}

static void the_last_data_unit_may_be_short(void **state)
{
	prepare(DEK_128, 4096, 4096 + 128);
	configure(true, MLX5DV_BLOCK_SIZE_4096, 4096 + 128);
	for (enum crypto_way way = 0; way < WAYS; way++)
		check(way, true, 0, 4096 + 128);
}

static int make_on_single(void **state)
{
	pair_device = "mlx5_3";
	return make(state);
}

static int drop_on_single(void **state)
{
	pair_device = "mlx5_0";
	return drop(state);
}

/* The first engines: one data unit, and another tweak in the BSF. */
static void an_old_engine_encrypts_a_single_data_unit(void **state)
{
	struct mlx5dv_crypto_attr attr = crypto_rig_attr(&r, true, MLX5DV_BLOCK_SIZE_4160);

	prepare(DEK_128, 4160, 4160);
	configure(true, MLX5DV_BLOCK_SIZE_4160, 4160);
	for (enum crypto_way way = 0; way < WAYS; way++)
		check(way, true, 0, 4160);
	assert_int_equal(configure_by(&attr, 4161), EINVAL);
}

static void a_new_configuration_replaces_the_old_one(void **state)
{
	configure(true, MLX5DV_BLOCK_SIZE_512, LEN);
	prepare(DEK_128, 4096, 8 * 4096);
	configure(false, MLX5DV_BLOCK_SIZE_4096, 8 * 4096);
	check(SEND, false, 0, 8 * 4096);
}

/* A request that changes something else leaves encryption as it is. */
static void a_new_layout_keeps_the_encryption(void **state)
{
	configure(true, MLX5DV_BLOCK_SIZE_512, 512);
	crypto_rig_begin(&r, 2, LEN);
	assert_int_equal(ibv_wr_complete(r.ex), 0);
	expect_configured();
	prepare(DEK_128, 512, LEN);
	check(SEND, true, 0, LEN);
	check(REMOTE_READ, true, 0, LEN);
}

/* ---- mistakes ---- */

static void wrong_settings_are_refused(void **state)
{
	struct mlx5dv_crypto_attr good = crypto_rig_attr(&r, true, MLX5DV_BLOCK_SIZE_512), attr;

	attr = good;
	attr.comp_mask = 1;
	assert_int_equal(configure_by(&attr, 512), EINVAL);
	attr = good;
	attr.crypto_standard = 1;
	assert_int_equal(configure_by(&attr, 512), EINVAL);
	attr = good;
	attr.data_unit_size = 5;
	assert_int_equal(configure_by(&attr, 512), EINVAL);
	attr = good;
	attr.signature_crypto_order = 2;
	assert_int_equal(configure_by(&attr, 512), EINVAL);
	assert_int_equal(configure_by(&good, 512), 0);
	expect_configured();
}

static void a_key_that_was_not_made_for_it_does_not_encrypt(void **state)
{
	struct mlx5dv_crypto_attr attr = crypto_rig_attr(&r, true, MLX5DV_BLOCK_SIZE_512);

	assert_int_equal(mlx5dv_destroy_mkey(r.mkey), 0);
	r.mkey = crypto_rig_mkey(&r, 0);
	assert_int_equal(configure_by(&attr, 512), EINVAL);
}

static void a_model_without_encryption_has_no_such_keys(void **state)
{
	struct ibv_context *ctx = pair_open("mlx5_2");
	struct mlx5dv_mkey_init_attr attr = {
		.pd = ibv_alloc_pd(ctx),
		.create_flags =
			MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO,
		.max_entries = 4,
	};

	assert_non_null(attr.pd);
	assert_null(mlx5dv_create_mkey(&attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_dealloc_pd(attr.pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void a_request_has_one_setting(void **state)
{
	struct mlx5dv_crypto_attr attr = crypto_rig_attr(&r, true, MLX5DV_BLOCK_SIZE_512);
	crypto_rig_begin(&r, 4, 512);
	mlx5dv_wr_set_mkey_crypto(r.dv, &attr);
	mlx5dv_wr_set_mkey_crypto(r.dv, &attr);
	assert_int_equal(ibv_wr_complete(r.ex), EINVAL);
}

static void an_unknown_dek_fails_the_request(void **state)
{
	struct mlx5dv_crypto_attr attr = crypto_rig_attr(&r, true, MLX5DV_BLOCK_SIZE_512);
	struct ibv_pd *mine = r.pair.pd;

	assert_int_equal(mlx5dv_dek_destroy(r.dek), 0);
	/* A DEK of another domain, which the key's cannot use. */
	r.pair.pd = ibv_alloc_pd(r.pair.ctx);
	attr.dek = r.dek = crypto_rig_dek(&r, DEK_128);
	assert_int_equal(configure_by(&attr, 512), 0);
	assert_int_not_equal(pair_wait(r.pair.cq[0]).status, IBV_WC_SUCCESS);
	assert_int_equal(mlx5dv_dek_destroy(r.dek), 0);
	r.dek = NULL;
	assert_int_equal(ibv_dealloc_pd(r.pair.pd), 0);
	r.pair.pd = mine;
}

static void a_key_without_configuration_cannot_be_used(void **state)
{
	crypto_rig_begin(&r, 2, 512);
	assert_int_equal(ibv_wr_complete(r.ex), 0);
	expect_configured();
	assert_int_equal(crypto_rig_run(&r, SEND, 0, 512).status, IBV_WC_LOC_PROT_ERR);
}

static void a_destroyed_dek_cannot_be_used(void **state)
{
	configure(true, MLX5DV_BLOCK_SIZE_512, 512);
	assert_int_equal(mlx5dv_dek_destroy(r.dek), 0);
	r.dek = NULL;
	assert_int_equal(crypto_rig_run(&r, LOCAL_WRITE, 0, 512).status, IBV_WC_LOC_PROT_ERR);
}

static void a_remote_access_by_a_destroyed_dek_fails(void **state)
{
	configure(true, MLX5DV_BLOCK_SIZE_512, 512);
	assert_int_equal(mlx5dv_dek_destroy(r.dek), 0);
	r.dek = NULL;
	assert_in_range(crypto_rig_run(&r, REMOTE_READ, 0, 512).status, IBV_WC_REM_INV_REQ_ERR,
			IBV_WC_REM_OP_ERR);
}

static void the_key_tag_must_be_the_deks(void **state)
{
	struct mlx5dv_crypto_attr attr;

	assert_int_equal(mlx5dv_dek_destroy(r.dek), 0);
	r.dek = crypto_rig_dek(&r, DEK_128 KEYTAG);
	attr = crypto_rig_attr(&r, true, MLX5DV_BLOCK_SIZE_512);
	from_hex(KEYTAG, attr.keytag);
	assert_int_equal(configure_by(&attr, LEN), 0);
	expect_configured();
	prepare(DEK_128, 512, LEN);
	check(SEND, true, 0, LEN);
	attr.keytag[0] ^= 1;
	assert_int_equal(configure_by(&attr, LEN), 0);
	expect_configured();
	assert_int_equal(crypto_rig_run(&r, SEND, 0, 512).status, IBV_WC_LOC_PROT_ERR);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_operation_encrypts_or_decrypts),
		T(keys_of_256_bits_encrypt),
		T(a_message_may_begin_and_end_inside_a_data_unit),
		T(the_last_data_unit_may_be_short),
		cmocka_unit_test_setup_teardown(an_old_engine_encrypts_a_single_data_unit,
						make_on_single, drop_on_single),
		T(a_new_configuration_replaces_the_old_one),
		T(a_new_layout_keeps_the_encryption),
		T(wrong_settings_are_refused),
		T(a_key_that_was_not_made_for_it_does_not_encrypt),
		T(a_model_without_encryption_has_no_such_keys),
		T(a_request_has_one_setting),
		T(an_unknown_dek_fails_the_request),
		T(a_key_without_configuration_cannot_be_used),
		T(a_destroyed_dek_cannot_be_used),
		T(a_remote_access_by_a_destroyed_dek_fails),
		T(the_key_tag_must_be_the_deks),
	};

	crypto_rig_adapters();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
