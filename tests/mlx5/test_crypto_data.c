/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data through memory keys that encrypt: every operation, local and remote, against libcrypto. Keys
 * are lists of pieces that end anywhere; messages are longer than a packet.
 */
#include "crypto_keys.h"
#include "pair.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>

#define ALL_RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define OPS        (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ)

/* Places in the buffer: the key's memory, and plain memory of the peer. */
#define MEMORY 100u
#define PLAIN  (PAIR_BUF / 2)

static struct pair p;
static struct ibv_qp_ex *ex;
static struct mlx5dv_qp_ex *dv;
static struct mlx5dv_dek *dek;
static struct mlx5dv_mkey *mkey;

static struct ibv_qp *make_qp(int side)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = p.cq[side],
		.recv_cq = p.cq[side],
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = 300 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = p.pd,
		.send_ops_flags = OPS,
	};
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE,
	};
	struct ibv_qp *qp = mlx5dv_create_qp(p.ctx, &attr, &extra);

	assert_non_null(qp);
	return qp;
}

static struct mlx5dv_mkey *make_mkey(uint32_t flags)
{
	struct mlx5dv_mkey_init_attr attr = {
		.pd = p.pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
		.max_entries = 4,
	};

	return mlx5dv_create_mkey(&attr);
}

static struct mlx5dv_dek *make_dek(const char *key)
{
	struct mlx5dv_dek_init_attr attr = {
		.pd = p.pd,
		.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN,
	};
	size_t n = from_hex(key, attr.key);
	struct mlx5dv_dek *made;

	attr.key_size = n >= 64 ? MLX5DV_CRYPTO_KEY_SIZE_256 : MLX5DV_CRYPTO_KEY_SIZE_128;
	attr.has_keytag = n % 32;
	made = mlx5dv_dek_create(p.ctx, &attr);
	assert_non_null(made);
	return made;
}

static int make(void **state)
{
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .unconnected = true });
	for (int side = 0; side < 2; side++) {
		assert_int_equal(ibv_destroy_qp(p.qp[side]), 0);
		p.qp[side] = make_qp(side);
	}
	pair_connect(&p);
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	mkey = make_mkey(MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO);
	assert_non_null(mkey);
	dek = make_dek(DEK_128);
	return 0;
}

static int drop(void **state)
{
	assert_int_equal(mlx5dv_destroy_mkey(mkey), 0);
	if (dek)
		assert_int_equal(mlx5dv_dek_destroy(dek), 0);
	pair_drop(&p);
	return 0;
}

/* ---- a reference ---- */

static const uint32_t sizes[] = { 512, 520, 4048, 4096, 4160 };
static const uint8_t tweak[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 };

static void encrypt(const char *key, uint32_t unit, const uint8_t *in, uint8_t *out, size_t len)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	unsigned __int128 number;
	uint8_t bytes[64];
	size_t n = from_hex(key, bytes);

	memcpy(&number, tweak, sizeof(number));
	for (size_t at = 0; at < len; at += unit, number++) {
		int done, part = (int)(len - at < unit ? len - at : unit);

		assert_int_equal(EVP_CipherInit_ex(ctx,
						   n == 64 ? EVP_aes_256_xts() : EVP_aes_128_xts(),
						   NULL, bytes, (const uint8_t *)&number, 1),
				 1);
		assert_int_equal(EVP_CipherUpdate(ctx, out + at, &done, in + at, part), 1);
	}
	EVP_CIPHER_CTX_free(ctx);
}

/* ---- keys ---- */

/* `len` bytes from MEMORY on, in three pieces. */
static void set_layout(uint32_t len)
{
	struct ibv_sge sge[3] = {
		pair_sge(&p, MEMORY, len / 3 + 5),
		pair_sge(&p, MEMORY + len / 3 + 5, 1),
		pair_sge(&p, MEMORY + len / 3 + 6, len - len / 3 - 6),
	};

	mlx5dv_wr_set_mkey_layout_list(dv, 3, sge);
}

static struct mlx5dv_crypto_attr crypto_attr(bool encrypt_on_tx, int size)
{
	struct mlx5dv_crypto_attr attr = {
		.crypto_standard = MLX5DV_CRYPTO_STANDARD_AES_XTS,
		.encrypt_on_tx = encrypt_on_tx,
		.data_unit_size = size,
		.dek = dek,
	};

	memcpy(attr.initial_tweak, tweak, sizeof(tweak));
	return attr;
}

static void begin(void)
{
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
}

static int configure_by(const struct mlx5dv_crypto_attr *attr, uint32_t len)
{
	struct mlx5dv_mkey_conf_attr conf = { 0 };

	begin();
	mlx5dv_wr_mkey_configure(dv, mkey, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, ALL_RIGHTS);
	set_layout(len);
	mlx5dv_wr_set_mkey_crypto(dv, attr);
	return ibv_wr_complete(ex);
}

static void configure(bool encrypt_on_tx, int size, uint32_t len)
{
	struct mlx5dv_crypto_attr attr = crypto_attr(encrypt_on_tx, size);

	assert_int_equal(configure_by(&attr, len), 0);
	pair_expect(p.cq[0], (enum ibv_wc_opcode)MLX5DV_WC_UMR, 1);
}

/* ---- operations between the key and plain memory ---- */

enum way { SEND, RECV, LOCAL_WRITE, LOCAL_READ, REMOTE_WRITE, REMOTE_READ, WAYS };

static bool to_key(enum way way)
{
	return way == RECV || way == LOCAL_READ || way == REMOTE_WRITE;
}

/* The receive of the peer or our own: in a key or in plain memory. */
static void post_recv(int side, const struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = (struct ibv_sge *)sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_recv(p.qp[side], &wr, &bad), 0);
}

/* Who posts and who waits: side 0 has the key. */
static struct ibv_wc run(enum way way, uint64_t offset, uint32_t len)
{
	struct ibv_sge key = { .addr = offset, .length = len, .lkey = mkey->lkey },
		       plain = pair_sge(&p, PLAIN + offset, len), *local = &plain;
	int side = way == SEND || way == LOCAL_WRITE || way == LOCAL_READ ? 0 : 1;
	struct ibv_send_wr wr = { .wr_id = 3, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (side == 0)
		local = &key;
	wr.sg_list = local;
	wr.wr.rdma.remote_addr = side == 0 ? plain.addr : offset;
	wr.wr.rdma.rkey = side == 0 ? p.mr->rkey : mkey->rkey;
	switch (way) {
	case SEND:
		post_recv(1, &plain);
		wr.opcode = IBV_WR_SEND;
		break;
	case RECV:
		post_recv(0, &key);
		wr.opcode = IBV_WR_SEND;
		break;
	case LOCAL_WRITE:
	case REMOTE_WRITE:
		wr.opcode = IBV_WR_RDMA_WRITE;
		break;
	default:
		wr.opcode = IBV_WR_RDMA_READ;
		break;
	}
	assert_int_equal(ibv_post_send(p.qp[side], &wr, &bad), 0);
	wc = pair_wait(p.cq[side]);
	if (wc.status == IBV_WC_SUCCESS && (way == SEND || way == RECV))
		assert_int_equal(pair_wait(p.cq[!side]).status, IBV_WC_SUCCESS);
	return wc;
}

#define LEN 33280u /* 65 units of 512 bytes, 64 of 520 */

static uint8_t clear[LEN], coded[LEN];

static void prepare(const char *key, uint32_t unit, uint32_t len)
{
	pair_pattern(clear, len, 3);
	encrypt(key, unit, clear, coded, len);
}

static void check(enum way way, bool encrypt_on_tx, uint32_t offset, uint32_t len)
{
	const uint8_t *memory = encrypt_on_tx ? clear : coded,
		      *wire = encrypt_on_tx ? coded : clear;

	memset(p.buf + MEMORY, 0x11, LEN + 16);
	memset(p.buf + PLAIN, 0x22, LEN);
	if (to_key(way))
		memcpy(p.buf + PLAIN + offset, wire + offset, len);
	else
		memcpy(p.buf + MEMORY, memory, LEN);
	assert_int_equal(run(way, offset, len).status, IBV_WC_SUCCESS);
	assert_memory_equal(p.buf + PLAIN + offset, wire + offset, len);
	assert_memory_equal(p.buf + MEMORY + offset, memory + offset, len);
	if (to_key(way)) {
		assert_int_equal(p.buf[MEMORY + offset + len], 0x11);
		assert_int_equal(p.buf[PLAIN - 1], 0);
	}
}

static void every_operation_encrypts_or_decrypts(void **state)
{
	for (int size = 0; size < 5; size++) {
		uint32_t len = LEN / sizes[size] * sizes[size];

		prepare(DEK_128, sizes[size], len);
		for (int on_tx = 0; on_tx < 2; on_tx++) {
			configure(on_tx, size, len);
			for (enum way way = 0; way < WAYS; way++)
				check(way, on_tx, 0, len);
		}
	}
}

static void keys_of_256_bits_encrypt(void **state)
{
	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
	dek = make_dek(DEK_256);
	prepare(DEK_256, 512, LEN);
	configure(true, MLX5DV_BLOCK_SIZE_512, LEN);
	for (enum way way = 0; way < WAYS; way++)
		check(way, true, 0, LEN);
}

/* From the middle of a data unit to the middle of another, at any byte. */
static void a_message_may_begin_and_end_inside_a_data_unit(void **state)
{
	prepare(DEK_128, 520, LEN);
	for (int on_tx = 0; on_tx < 2; on_tx++) {
		configure(on_tx, MLX5DV_BLOCK_SIZE_520, LEN);
		for (enum way way = 0; way < WAYS; way++) {
			if (to_key(way)) {
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
	for (enum way way = 0; way < WAYS; way++)
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
	struct mlx5dv_crypto_attr attr = crypto_attr(true, MLX5DV_BLOCK_SIZE_4160);

	prepare(DEK_128, 4160, 4160);
	configure(true, MLX5DV_BLOCK_SIZE_4160, 4160);
	for (enum way way = 0; way < WAYS; way++)
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
	struct mlx5dv_mkey_conf_attr conf = { 0 };

	configure(true, MLX5DV_BLOCK_SIZE_512, 512);
	begin();
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, ALL_RIGHTS);
	set_layout(LEN);
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], (enum ibv_wc_opcode)MLX5DV_WC_UMR, 1);
	prepare(DEK_128, 512, LEN);
	check(SEND, true, 0, LEN);
	check(REMOTE_READ, true, 0, LEN);
}

/* ---- mistakes ---- */

static void wrong_settings_are_refused(void **state)
{
	struct mlx5dv_crypto_attr good = crypto_attr(true, MLX5DV_BLOCK_SIZE_512), attr;

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
	pair_expect(p.cq[0], (enum ibv_wc_opcode)MLX5DV_WC_UMR, 1);
}

static void a_key_that_was_not_made_for_it_does_not_encrypt(void **state)
{
	struct mlx5dv_crypto_attr attr = crypto_attr(true, MLX5DV_BLOCK_SIZE_512);

	assert_int_equal(mlx5dv_destroy_mkey(mkey), 0);
	mkey = make_mkey(0);
	assert_non_null(mkey);
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
	struct mlx5dv_crypto_attr attr = crypto_attr(true, MLX5DV_BLOCK_SIZE_512);
	struct mlx5dv_mkey_conf_attr conf = { 0 };

	begin();
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_crypto(dv, &attr);
	mlx5dv_wr_set_mkey_crypto(dv, &attr);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
}

static void an_unknown_dek_fails_the_request(void **state)
{
	struct mlx5dv_crypto_attr attr = crypto_attr(true, MLX5DV_BLOCK_SIZE_512);
	struct ibv_pd *mine = p.pd;

	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
	/* A DEK of another domain, which the key's cannot use. */
	p.pd = ibv_alloc_pd(p.ctx);
	attr.dek = dek = make_dek(DEK_128);
	assert_int_equal(configure_by(&attr, 512), 0);
	assert_int_not_equal(pair_wait(p.cq[0]).status, IBV_WC_SUCCESS);
	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
	dek = NULL;
	assert_int_equal(ibv_dealloc_pd(p.pd), 0);
	p.pd = mine;
}

static void a_key_without_configuration_cannot_be_used(void **state)
{
	struct mlx5dv_mkey_conf_attr conf = { 0 };

	begin();
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, ALL_RIGHTS);
	set_layout(512);
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], (enum ibv_wc_opcode)MLX5DV_WC_UMR, 1);
	assert_int_equal(run(SEND, 0, 512).status, IBV_WC_LOC_PROT_ERR);
}

static void a_destroyed_dek_cannot_be_used(void **state)
{
	configure(true, MLX5DV_BLOCK_SIZE_512, 512);
	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
	dek = NULL;
	assert_int_equal(run(LOCAL_WRITE, 0, 512).status, IBV_WC_LOC_PROT_ERR);
}

static void a_remote_access_by_a_destroyed_dek_fails(void **state)
{
	configure(true, MLX5DV_BLOCK_SIZE_512, 512);
	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
	dek = NULL;
	assert_in_range(run(REMOTE_READ, 0, 512).status, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR);
}

static void the_key_tag_must_be_the_deks(void **state)
{
	struct mlx5dv_crypto_attr attr;

	assert_int_equal(mlx5dv_dek_destroy(dek), 0);
	dek = make_dek(DEK_128 KEYTAG);
	attr = crypto_attr(true, MLX5DV_BLOCK_SIZE_512);
	from_hex(KEYTAG, attr.keytag);
	assert_int_equal(configure_by(&attr, LEN), 0);
	pair_expect(p.cq[0], (enum ibv_wc_opcode)MLX5DV_WC_UMR, 1);
	prepare(DEK_128, 512, LEN);
	check(SEND, true, 0, LEN);
	attr.keytag[0] ^= 1;
	assert_int_equal(configure_by(&attr, LEN), 0);
	pair_expect(p.cq[0], (enum ibv_wc_opcode)MLX5DV_WC_UMR, 1);
	assert_int_equal(run(SEND, 0, 512).status, IBV_WC_LOC_PROT_ERR);
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

	const char *given = getenv("VERBENA_ADAPTERS"); /* on the wire */
	bool wire = given && *given;
	char adapters[256];

	snprintf(adapters, sizeof(adapters),
		 "%s,model=ConnectX-6-Dx;mlx5_2,model=ConnectX-5;mlx5_3%s,model=ConnectX-6",
		 wire ? given : "mlx5_0", wire ? given + strlen("mlx5_0") : "");
	setenv("VERBENA_ADAPTERS", adapters, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
