/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encryption by a memory key against OpenSSL alone: bytes per second of processor time, AES-128-XTS.
 *
 *	crypto encrypt|decrypt|xts UNIT BYTES	RDMA WRITE that encrypts, RDMA WRITE that decrypts;
 *						EVP_EncryptUpdate() of each data unit
 */
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "loopback.h"

enum { MOST = 1 << 20, TOTAL = 1 << 30 };

static struct {
	struct loopback loop;
	struct ibv_mr *mr;
	struct mlx5dv_mkey *mkey;
	struct mlx5dv_dek *dek;
	EVP_CIPHER_CTX *alone;
	uint8_t *from, *to;
	uint32_t unit, len;
} b;

static const char key[32] = "two keys of sixteen bytes, each.";

static void open_keys(struct ibv_pd *pd)
{
	struct mlx5dv_mkey_init_attr mkey = {
		.pd = pd,
		.create_flags =
			MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO,
		.max_entries = 4,
	};
	struct mlx5dv_dek_init_attr dek = { .pd = pd,
					    .comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN };

	memcpy(dek.key, key, sizeof(key));
	MUST(b.dek = mlx5dv_dek_create(b.loop.ctx, &dek));
	MUST(b.mkey = mlx5dv_create_mkey(&mkey));
}

static void open_adapter(void)
{
	loopback_open(&b.loop, IBV_QP_EX_WITH_RDMA_WRITE, MLX5DV_QP_EX_WITH_MKEY_CONFIGURE);
	MUST(b.mr = ibv_reg_mr(b.loop.pd, b.from, 2 * MOST, LOOPBACK_RIGHTS));
	open_keys(b.loop.pd);
}

static void configure(bool encrypt)
{
	struct mlx5dv_crypto_attr attr = {
		.encrypt_on_tx = encrypt,
		.data_unit_size = b.unit == 512 ? MLX5DV_BLOCK_SIZE_512 : MLX5DV_BLOCK_SIZE_4096,
		.dek = b.dek,
	};
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct ibv_sge sge = { (uintptr_t)b.from, b.len, b.mr->lkey };

	ibv_wr_start(b.loop.ex);
	b.loop.ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(b.loop.dv, b.mkey, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(b.loop.dv, IBV_ACCESS_LOCAL_WRITE);
	mlx5dv_wr_set_mkey_layout_list(b.loop.dv, 1, &sge);
	mlx5dv_wr_set_mkey_crypto(b.loop.dv, &attr);
	loopback_complete(&b.loop);
}

static void write_key(void)
{
	ibv_wr_start(b.loop.ex);
	b.loop.ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(b.loop.ex, b.mr->rkey, (uintptr_t)b.to);
	ibv_wr_set_sge(b.loop.ex, b.mkey->lkey, 0, b.len);
	loopback_complete(&b.loop);
}

static void encrypt_alone(void)
{
	uint64_t tweak[2] = { 0 };
	int done;

	for (uint32_t i = 0; i < b.len; i += b.unit, tweak[0]++)
		MUST(EVP_EncryptInit_ex2(b.alone, NULL, NULL, (uint8_t *)tweak, NULL) == 1 &&
		     EVP_EncryptUpdate(b.alone, b.to + i, &done, b.from + i, (int)b.unit) == 1);
}

int main(int argc, char **argv)
{
	bool alone = argc == 4 && !strcmp(argv[1], "xts");
	bool encrypt = argc == 4 && !strcmp(argv[1], "encrypt");
	uint32_t rounds;
	double begin;

	b.unit = argc == 4 ? (uint32_t)atoi(argv[2]) : 0;
	b.len = argc == 4 ? (uint32_t)atoi(argv[3]) : 0;
	if ((b.unit != 512 && b.unit != 4096) || b.len < b.unit || b.len > MOST || b.len % b.unit ||
	    (!alone && !encrypt && strcmp(argv[1], "decrypt"))) {
		fprintf(stderr, "usage: crypto encrypt|decrypt|xts 512|4096 BYTES (up to %d)\n",
			MOST);
		return 2;
	}
	MUST(b.from = aligned_alloc(4096, 2 * MOST));
	b.to = b.from + MOST;
	for (uint32_t i = 0; i < MOST; i++)
		b.from[i] = (uint8_t)(i * 31 + i / 251);
	setenv("VERBENA_ADAPTERS", "mlx5_0,model=ConnectX-6-Dx", 1);
	open_adapter();
	configure(encrypt);
	MUST(b.alone = EVP_CIPHER_CTX_new());
	MUST(EVP_EncryptInit_ex2(b.alone, EVP_aes_128_xts(), (const uint8_t *)key, NULL, NULL) ==
	     1);
	rounds = TOTAL / b.len;
	begin = cpu_s();
	for (uint32_t i = 0; i < rounds; i++)
		alone ? encrypt_alone() : write_key();
	printf("%.0f\n", (double)rounds * b.len / (cpu_s() - begin));
	return 0;
}
