/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys that encrypt, used by another process: it sees ciphertext, the owner's memory is plain. The owner
 * configures the key by a queue pair of its own, connected with itself. Data units are no multiple of
 * blocks and packets.
 */
#include "rig.h"

#include <openssl/evp.h>
#include <infiniband/mlx5dv.h>

#define UNIT  520u
#define BYTES (UNIT * 300u)

static const char key[32] = "two keys of sixteen bytes, each.";

static void need_mlx5(void)
{
	if (!rig_is_mlx5())
		rig_skip("a ConnectX-3 does not encrypt");
}

static struct options options(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = 1 << 20;
	return o;
}

/* ---- the owner ---- */

struct owner {
	struct end *e;
	struct ibv_qp *qp; /* configures */
	struct ibv_cq *cq;
	struct mlx5dv_mkey *mkey;
	struct mlx5dv_dek *dek;
};

static struct ibv_qp *make_configurer(struct end *e, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_send_sge = 1, .max_inline_data = 256 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = e->pd,
	};
	struct mlx5dv_qp_init_attr extra = { .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
					     .send_ops_flags = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE };
	struct ibv_qp *qp = must(mlx5dv_create_qp(e->ctx, &attr, &extra));
	struct end self = *e;
	struct address to;

	self.qp = qp;
	to = end_address(&self);
	end_connect(&self, &to);
	return qp;
}

static void configure(struct owner *o)
{
	const struct mlx5dv_crypto_attr attr = { .encrypt_on_tx = true,
						 .data_unit_size = MLX5DV_BLOCK_SIZE_520,
						 .initial_tweak = { 7 },
						 .dek = o->dek };
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(o->qp);
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct ibv_sge sge = { (uintptr_t)o->e->buf, BYTES, o->e->mr->lkey };

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(dv, o->mkey, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
						    IBV_ACCESS_REMOTE_READ);
	mlx5dv_wr_set_mkey_layout_list(dv, 1, &sge);
	mlx5dv_wr_set_mkey_crypto(dv, &attr);
	check_ok(ibv_wr_complete(ex));
	expect_ok(o->cq, 1);
}

static void open_owner(struct owner *o, int fd)
{
	struct options wish = options();
	struct mlx5dv_mkey_init_attr attr = {
		.create_flags =
			MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO,
		.max_entries = 1,
	};
	struct mlx5dv_dek_init_attr dek = { .comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN };

	o->e = end_open(&wish);
	end_meet(o->e, fd);
	o->cq = must(ibv_create_cq(o->e->ctx, 16, NULL, NULL, 0));
	o->qp = make_configurer(o->e, o->cq);
	attr.pd = dek.pd = o->e->pd;
	memcpy(dek.key, key, sizeof(key));
	o->dek = must(mlx5dv_dek_create(o->e->ctx, &dek));
	o->mkey = must(mlx5dv_create_mkey(&attr));
	configure(o);
	tell(fd, &o->mkey->rkey, sizeof(o->mkey->rkey));
}

static void close_owner(struct owner *o)
{
	check_ok(mlx5dv_destroy_mkey(o->mkey));
	check_ok(mlx5dv_dek_destroy(o->dek));
	check_ok(ibv_destroy_qp(o->qp));
	check_ok(ibv_destroy_cq(o->cq));
	end_close(o->e);
}

/* The peer reads what was filled here, writes, and sends. */
static void own(int fd)
{
	struct ibv_sge into = { 0, BYTES, 0 };
	struct ibv_recv_wr recv = { .wr_id = 5, .sg_list = &into, .num_sge = 1 }, *bad;
	struct owner o;

	open_owner(&o, fd);
	fill(o.e->buf, BYTES, 1);
	tell_mark(fd, 'f');
	hear_mark(fd, 'w');
	check_filled(o.e->buf, BYTES, 2);
	into.lkey = o.mkey->lkey;
	check_ok(ibv_post_recv(o.e->qp, &recv, &bad));
	tell_mark(fd, 'r');
	check_equal(expect_ok(o.e->rcq, 5).byte_len, BYTES);
	check_filled(o.e->buf, BYTES, 3);
	tell_mark(fd, 'E');
	close_owner(&o);
}

/* ---- the other process ---- */

/* What the wire shows of the pattern. */
static void encrypt(char *out, unsigned int seed)
{
	EVP_CIPHER_CTX *ctx = must(EVP_CIPHER_CTX_new());
	char *data = must(malloc(BYTES));
	uint64_t tweak[2] = { 7 };
	int done;

	fill(data, BYTES, seed);
	for (uint32_t i = 0; i < BYTES; i += UNIT, tweak[0]++) {
		check_equal(EVP_EncryptInit_ex(ctx, EVP_aes_128_xts(), NULL, (const uint8_t *)key,
					       (const uint8_t *)tweak),
			    1);
		check_equal(EVP_EncryptUpdate(ctx, (uint8_t *)out + i, &done, (uint8_t *)data + i,
					      UNIT),
			    1);
	}
	free(data);
	EVP_CIPHER_CTX_free(ctx);
}

static void move(struct end *e, uint64_t id, enum ibv_wr_opcode op, uint32_t rkey)
{
	post(e,
	     &(struct work){
		     .id = id, .op = op, .flags = IBV_SEND_SIGNALED, .len = BYTES, .rkey = rkey });
	expect_ok(e->scq, id);
}

static void use_the_key(void)
{
	struct peer peer = peer_start(own);
	struct options o = options();
	struct end *e = end_open(&o);
	char *want = must(malloc(BYTES));
	uint32_t rkey;

	end_meet(e, peer.fd);
	hear(peer.fd, &rkey, sizeof(rkey));
	hear_mark(peer.fd, 'f');
	encrypt(want, 1);
	move(e, 1, IBV_WR_RDMA_READ, rkey);
	check(!memcmp(e->buf, want, BYTES));
	encrypt(e->buf, 2);
	move(e, 2, IBV_WR_RDMA_WRITE, rkey);
	tell_mark(peer.fd, 'w');
	hear_mark(peer.fd, 'r');
	encrypt(e->buf, 3);
	move(e, 3, IBV_WR_SEND, 0);
	hear_mark(peer.fd, 'E');
	free(want);
	end_close(e);
	peer_join(&peer);
}

static void another_process_sees_ciphertext(void)
{
	need_mlx5();
	use_the_key();
}

static void packets_that_are_sent_again_change_nothing(void)
{
	need_mlx5();
	if (!getenv("VERBENA_PATH")) /* no device may be open before the peer starts */
		rig_skip("packets are lost on the wire only");
	setenv("VERBENA_FAULT", "drop p=2%; dup p=2%; reorder p=2%", 1);
	use_the_key();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(another_process_sees_ciphertext),
		TEST(packets_that_are_sent_again_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
