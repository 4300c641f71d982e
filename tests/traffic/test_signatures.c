/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys with block signatures, used by another process: it sees the wire, the owner's memory stays without
 * signatures. The owner configures the key by a queue pair of its own, connected with itself.
 */
#include "rig.h"

#include <isa-l/crc.h>
#include <infiniband/mlx5dv.h>

#define BLOCKS 300u
#define DATA   (512u * BLOCKS)
#define WIRE   (520u * BLOCKS)
#define APP    0x1234u
#define REF    77u

static void need_mlx5(void)
{
	if (!rig_is_mlx5())
		rig_skip("a ConnectX-3 has no signatures");
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
	struct mlx5dv_mkey *key;
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
	const struct mlx5dv_sig_t10dif dif = { .bg_type = MLX5DV_SIG_T10DIF_CRC,
					       .app_tag = APP,
					       .ref_tag = REF,
					       .flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP };
	const struct mlx5dv_sig_block_domain wire = { .sig_type = MLX5DV_SIG_TYPE_T10DIF,
						      .sig.dif = &dif };
	const struct mlx5dv_sig_block_attr attr = { .wire = &wire, .check_mask = 0xff };
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(o->qp);
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct ibv_sge sge = { (uintptr_t)o->e->buf, DATA, o->e->mr->lkey };

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(dv, o->key, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
						    IBV_ACCESS_REMOTE_READ);
	mlx5dv_wr_set_mkey_layout_list(dv, 1, &sge);
	mlx5dv_wr_set_mkey_sig_block(dv, &attr);
	check_ok(ibv_wr_complete(ex));
	expect_ok(o->cq, 1);
}

static void open_owner(struct owner *o, int fd)
{
	struct options wish = options();
	struct mlx5dv_mkey_init_attr attr = {
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
		.max_entries = 1,
	};

	o->e = end_open(&wish);
	end_meet(o->e, fd);
	o->cq = must(ibv_create_cq(o->e->ctx, 16, NULL, NULL, 0));
	o->qp = make_configurer(o->e, o->cq);
	attr.pd = o->e->pd;
	o->key = must(mlx5dv_create_mkey(&attr));
	configure(o);
	tell(fd, &o->key->rkey, sizeof(o->key->rkey));
}

static void close_owner(struct owner *o)
{
	check_ok(mlx5dv_destroy_mkey(o->key));
	check_ok(ibv_destroy_qp(o->qp));
	check_ok(ibv_destroy_cq(o->cq));
	end_close(o->e);
}

static struct mlx5dv_mkey_err error_of(struct owner *o)
{
	struct mlx5dv_mkey_err err;

	check_empty(o->e->rcq); /* and so takes in what is for the driver */
	check_ok(mlx5dv_mkey_check(o->key, &err));
	return err;
}

/* The peer reads what was filled here, writes, sends, and at last writes a wrong block. */
static void own(int fd)
{
	struct mlx5dv_mkey_err err;
	struct ibv_sge into = { 0, WIRE, 0 };
	struct ibv_recv_wr recv = { .wr_id = 5, .sg_list = &into, .num_sge = 1 }, *bad;
	struct owner o;

	open_owner(&o, fd);
	fill(o.e->buf, DATA, 1);
	tell_mark(fd, 'f');
	hear_mark(fd, 'w');
	check_filled(o.e->buf, DATA, 2);
	into.lkey = o.key->lkey;
	check_ok(ibv_post_recv(o.e->qp, &recv, &bad));
	tell_mark(fd, 'r');
	check_equal(expect_ok(o.e->rcq, 5).byte_len, WIRE);
	check_filled(o.e->buf, DATA, 3);
	check_equal(error_of(&o).err_type, MLX5DV_MKEY_NO_ERR);
	tell_mark(fd, 'g');
	hear_mark(fd, 'b');
	err = error_of(&o);
	check_equal(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	check_equal(err.err.sig.offset, 520 * 100);
	tell_mark(fd, 'E');
	close_owner(&o);
}

/* ---- the other process ---- */

static void sign(char *wire, unsigned int seed)
{
	char *data = must(malloc(DATA));

	fill(data, DATA, seed);
	for (uint32_t i = 0; i < BLOCKS; i++, wire += 520) {
		uint16_t words[2];
		uint32_t ref = htobe32(REF + i);

		memcpy(wire, data + 512 * i, 512);
		words[0] = htobe16(crc16_t10dif(0, (uint8_t *)wire, 512));
		words[1] = htobe16(APP);
		memcpy(wire + 512, words, sizeof(words));
		memcpy(wire + 516, &ref, sizeof(ref));
	}
	free(data);
}

static void move(struct end *e, uint64_t id, enum ibv_wr_opcode op, uint32_t rkey)
{
	post(e,
	     &(struct work){
		     .id = id, .op = op, .flags = IBV_SEND_SIGNALED, .len = WIRE, .rkey = rkey });
	expect_ok(e->scq, id);
}

static void use_the_key(void)
{
	struct peer peer = peer_start(own);
	struct options o = options();
	struct end *e = end_open(&o);
	char *want = must(malloc(WIRE));
	uint32_t rkey;

	end_meet(e, peer.fd);
	hear(peer.fd, &rkey, sizeof(rkey));
	hear_mark(peer.fd, 'f');
	sign(want, 1);
	move(e, 1, IBV_WR_RDMA_READ, rkey);
	check(!memcmp(e->buf, want, WIRE));
	sign(e->buf, 2);
	move(e, 2, IBV_WR_RDMA_WRITE, rkey);
	tell_mark(peer.fd, 'w');
	hear_mark(peer.fd, 'r');
	sign(e->buf, 3);
	move(e, 3, IBV_WR_SEND, 0);
	hear_mark(peer.fd, 'g');
	e->buf[520 * 100 + 9] ^= 1;
	move(e, 4, IBV_WR_RDMA_WRITE, rkey);
	tell_mark(peer.fd, 'b');
	hear_mark(peer.fd, 'E');
	free(want);
	end_close(e);
	peer_join(&peer);
}

static void another_process_sees_signatures_and_has_its_own_checked(void)
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
		TEST(another_process_sees_signatures_and_has_its_own_checked),
		TEST(packets_that_are_sent_again_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
