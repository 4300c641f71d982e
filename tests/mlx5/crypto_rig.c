/* SPDX-License-Identifier: BSD-2-Clause */
#include "crypto_rig.h"

#include <openssl/evp.h>
#include <stdio.h>

#define OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ)

const uint32_t crypto_rig_units[5] = { 512, 520, 4048, 4096, 4160 };
const uint8_t crypto_rig_tweak[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 };

void crypto_rig_adapters(void)
{
	const char *given = getenv("VERBENA_ADAPTERS"); /* mlx5_0 and an interface, on the wire */
	bool wire = given && *given;
	char adapters[256];

	snprintf(adapters, sizeof(adapters),
		 "%s,model=ConnectX-6-Dx;mlx5_2,model=ConnectX-5;mlx5_3%s,model=ConnectX-6",
		 wire ? given : "mlx5_0", wire ? given + strlen("mlx5_0") : "");
	setenv("VERBENA_ADAPTERS", adapters, 1);
}

static struct ibv_qp *make_qp(struct crypto_rig *r, int side)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = r->pair.cq[side],
		.recv_cq = r->pair.cq[side],
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = 300 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = r->pair.pd,
		.send_ops_flags = OPS,
	};
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE,
	};
	struct ibv_qp *qp = mlx5dv_create_qp(r->pair.ctx, &attr, &extra);

	assert_non_null(qp);
	return qp;
}

struct mlx5dv_mkey *crypto_rig_mkey(struct crypto_rig *r, uint32_t flags)
{
	struct mlx5dv_mkey_init_attr attr = {
		.pd = r->pair.pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
		.max_entries = 4,
	};
	struct mlx5dv_mkey *made = mlx5dv_create_mkey(&attr);

	assert_non_null(made);
	return made;
}

struct mlx5dv_dek *crypto_rig_dek(struct crypto_rig *r, const char *key)
{
	struct mlx5dv_dek_init_attr attr = {
		.pd = r->pair.pd,
		.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN,
	};
	size_t n = from_hex(key, attr.key);
	struct mlx5dv_dek *made;

	attr.key_size = n >= 64 ? MLX5DV_CRYPTO_KEY_SIZE_256 : MLX5DV_CRYPTO_KEY_SIZE_128;
	attr.has_keytag = n % 32;
	made = mlx5dv_dek_create(r->pair.ctx, &attr);
	assert_non_null(made);
	return made;
}

void crypto_rig_make(struct crypto_rig *r, uint32_t flags)
{
	struct pair *p = &r->pair;

	pair_make(p, &(struct pair_wish){ .type = IBV_QPT_RC, .unconnected = true });
	for (int side = 0; side < 2; side++) {
		assert_int_equal(ibv_destroy_qp(p->qp[side]), 0);
		p->qp[side] = make_qp(r, side);
	}
	pair_connect(p);
	r->ex = ibv_qp_to_qp_ex(p->qp[0]);
	r->dv = mlx5dv_qp_ex_from_ibv_qp_ex(r->ex);
	r->mkey = crypto_rig_mkey(r, flags);
	r->dek = crypto_rig_dek(r, DEK_128);
}

void crypto_rig_drop(struct crypto_rig *r)
{
	assert_int_equal(mlx5dv_destroy_mkey(r->mkey), 0);
	if (r->dek)
		assert_int_equal(mlx5dv_dek_destroy(r->dek), 0);
	pair_drop(&r->pair);
}

void crypto_rig_encrypt(const char *key, uint32_t unit, const uint8_t *in, uint8_t *out, size_t len)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	unsigned __int128 number;
	uint8_t bytes[64];
	size_t n = from_hex(key, bytes);

	memcpy(&number, crypto_rig_tweak, sizeof(number));
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

void crypto_rig_begin(struct crypto_rig *r, uint8_t setters, uint32_t len)
{
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct ibv_sge sge[3] = {
		pair_sge(&r->pair, RIG_KEY, len / 3 + 5),
		pair_sge(&r->pair, RIG_KEY + len / 3 + 5, 1),
		pair_sge(&r->pair, RIG_KEY + len / 3 + 6, len - len / 3 - 6),
	};

	ibv_wr_start(r->ex);
	r->ex->wr_id = 1;
	r->ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(r->dv, r->mkey, setters, &conf);
	mlx5dv_wr_set_mkey_access_flags(r->dv, RIG_RIGHTS);
	mlx5dv_wr_set_mkey_layout_list(r->dv, 3, sge);
}

struct mlx5dv_crypto_attr crypto_rig_attr(const struct crypto_rig *r, bool encrypt_on_tx, int size)
{
	struct mlx5dv_crypto_attr attr = {
		.crypto_standard = MLX5DV_CRYPTO_STANDARD_AES_XTS,
		.encrypt_on_tx = encrypt_on_tx,
		.data_unit_size = size,
		.dek = r->dek,
	};

	memcpy(attr.initial_tweak, crypto_rig_tweak, sizeof(attr.initial_tweak));
	return attr;
}

bool crypto_rig_is_to_key(enum crypto_way way)
{
	return way == RECV || way == LOCAL_READ || way == REMOTE_WRITE;
}

/* The receive of the peer or our own: in a key or in plain memory. */
static void post_recv(struct crypto_rig *r, int side, const struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = (struct ibv_sge *)sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_recv(r->pair.qp[side], &wr, &bad), 0);
}

/* Side 0 has the key; `way` decides which side posts, and which waits. */
struct ibv_wc crypto_rig_run(struct crypto_rig *r, enum crypto_way way, uint64_t offset,
			     uint32_t len)
{
	struct ibv_sge key = { .addr = offset, .length = len, .lkey = r->mkey->lkey },
		       plain = pair_sge(&r->pair, RIG_PLAIN + offset, len), *local = &plain;
	int side = way == SEND || way == LOCAL_WRITE || way == LOCAL_READ ? 0 : 1;
	struct ibv_send_wr wr = { .wr_id = 3, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (side == 0)
		local = &key;
	wr.sg_list = local;
	wr.wr.rdma.remote_addr = side == 0 ? plain.addr : offset;
	wr.wr.rdma.rkey = side == 0 ? r->pair.mr->rkey : r->mkey->rkey;
	switch (way) {
	case SEND:
		post_recv(r, 1, &plain);
		wr.opcode = IBV_WR_SEND;
		break;
	case RECV:
		post_recv(r, 0, &key);
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
	assert_int_equal(ibv_post_send(r->pair.qp[side], &wr, &bad), 0);
	wc = pair_wait(r->pair.cq[side]);
	if (wc.status == IBV_WC_SUCCESS && (way == SEND || way == RECV))
		assert_int_equal(pair_wait(r->pair.cq[!side]).status, IBV_WC_SUCCESS);
	return wc;
}
