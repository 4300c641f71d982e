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

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "bench.h"

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			die(#x);                                                                   \
	} while (0)

#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

enum { MOST = 1 << 20, TOTAL = 1 << 30 };

static struct {
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct mlx5dv_qp_ex *dv;
	struct ibv_mr *mr;
	struct mlx5dv_mkey *mkey;
	struct mlx5dv_dek *dek;
	EVP_CIPHER_CTX *alone;
	uint8_t *from, *to;
	uint32_t unit, len;
} b;

static const char key[32] = "two keys of sixteen bytes, each.";

static void connect_to_itself(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = RIGHTS };

	MUST(!ibv_modify_qp(b.qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_4096,
				     .dest_qp_num = b.qp->qp_num,
				     .ah_attr = { .is_global = 1, .port_num = 1 } };
	MUST(!ibv_query_gid(b.ctx, 1, 0, &attr.ah_attr.grh.dgid));
	MUST(!ibv_modify_qp(b.qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14 };
	MUST(!ibv_modify_qp(b.qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

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
	MUST(b.dek = mlx5dv_dek_create(b.ctx, &dek));
	MUST(b.mkey = mlx5dv_create_mkey(&mkey));
}

static void open_adapter(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_pd *pd;

	MUST(list && list[0]);
	MUST(b.ctx = ibv_open_device(list[0]));
	MUST(pd = ibv_alloc_pd(b.ctx));
	MUST(b.cq = ibv_create_cq(b.ctx, 16, NULL, NULL, 0));
	MUST(b.mr = ibv_reg_mr(pd, b.from, 2 * MOST, RIGHTS));
	open_keys(pd);
	MUST(b.qp = mlx5dv_create_qp(
		     b.ctx,
		     &(struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_RC,
						    .send_cq = b.cq,
						    .recv_cq = b.cq,
						    .cap = { .max_send_wr = 16,
							     .max_send_sge = 1,
							     .max_inline_data = 256 },
						    .comp_mask = IBV_QP_INIT_ATTR_PD |
								 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
						    .pd = pd,
						    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE },
		     &(struct mlx5dv_qp_init_attr){
			     .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
			     .send_ops_flags = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE }));
	b.ex = ibv_qp_to_qp_ex(b.qp);
	b.dv = mlx5dv_qp_ex_from_ibv_qp_ex(b.ex);
	connect_to_itself();
}

static void complete(void)
{
	struct ibv_wc wc;
	int n;

	MUST(!ibv_wr_complete(b.ex));
	while ((n = ibv_poll_cq(b.cq, 1, &wc)) == 0)
		;
	MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
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

	ibv_wr_start(b.ex);
	b.ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(b.dv, b.mkey, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(b.dv, IBV_ACCESS_LOCAL_WRITE);
	mlx5dv_wr_set_mkey_layout_list(b.dv, 1, &sge);
	mlx5dv_wr_set_mkey_crypto(b.dv, &attr);
	complete();
}

static void write_key(void)
{
	ibv_wr_start(b.ex);
	b.ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(b.ex, b.mr->rkey, (uintptr_t)b.to);
	ibv_wr_set_sge(b.ex, b.mkey->lkey, 0, b.len);
	complete();
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
