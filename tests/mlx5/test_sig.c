/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys with block signatures: inserted, checked, stripped and converted between memory and the wire,
 * in every direction, and what a program hears of wrong ones. The lower half of the region is [0]'s,
 * which has the key; the upper half is [1]'s, which sees the wire as it is.
 */
#include "pair.h"

#include <errno.h>
#include <isa-l/crc.h>
#include <poll.h>
#include <stdlib.h>

#define HALF (PAIR_BUF / 2)
#define OPS                                                                                        \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |              \
	 IBV_QP_EX_WITH_LOCAL_INV)
#define ALL_RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define REF        0x01234567u
#define APP        0xabcdu

static struct pair p;
static struct ibv_qp_ex *ex;
static struct mlx5dv_qp_ex *dv;
static struct mlx5dv_mkey *mkey;

static const struct mlx5dv_sig_t10dif dif = { .bg_type = MLX5DV_SIG_T10DIF_CRC,
					      .app_tag = APP,
					      .ref_tag = REF,
					      .flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP };
static const struct mlx5dv_sig_crc crc32c = { .type = MLX5DV_SIG_CRC_TYPE_CRC32C,
					      .seed = UINT32_MAX };
static const struct mlx5dv_sig_block_domain dif_512 = { .sig_type = MLX5DV_SIG_TYPE_T10DIF,
							.sig.dif = &dif,
							.block_size = MLX5DV_BLOCK_SIZE_512 };
static const struct mlx5dv_sig_block_domain dif_4096 = { .sig_type = MLX5DV_SIG_TYPE_T10DIF,
							 .sig.dif = &dif,
							 .block_size = MLX5DV_BLOCK_SIZE_4096 };
static const struct mlx5dv_sig_block_domain crc_512 = { .sig_type = MLX5DV_SIG_TYPE_CRC,
							.sig.crc = &crc32c,
							.block_size = MLX5DV_BLOCK_SIZE_512 };

/* ---- setting up ---- */

static struct ibv_qp *make_qp(int side, uint32_t flags)
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
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS |
			     MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = flags,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_RAW_WQE,
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
	struct mlx5dv_mkey *made = mlx5dv_create_mkey(&attr);

	assert_non_null(made);
	return made;
}

static void make_with(uint32_t flags)
{
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .unconnected = true });
	for (int side = 0; side < 2; side++) {
		assert_int_equal(ibv_destroy_qp(p.qp[side]), 0);
		p.qp[side] = make_qp(side, flags);
	}
	pair_connect(&p);
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	mkey = make_mkey(MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE);
	memset(p.buf, 0, PAIR_BUF);
}

static int make(void **state)
{
	make_with(0);
	return 0;
}

static int make_pipelining(void **state)
{
	make_with(MLX5DV_QP_CREATE_SIG_PIPELINING);
	return 0;
}

static int drop(void **state)
{
	assert_int_equal(mlx5dv_destroy_mkey(mkey), 0);
	pair_drop(&p);
	return 0;
}

static void begin(uint64_t wr_id)
{
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
}

/* The key is the first `length` bytes of the region, in two pieces. */
static void configure(const struct mlx5dv_sig_block_domain *memory,
		      const struct mlx5dv_sig_block_domain *wire, uint32_t length)
{
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct mlx5dv_sig_block_attr attr = { .mem = memory, .wire = wire, .check_mask = 0xff };
	struct ibv_sge sge[] = { pair_sge(&p, 0, 300), pair_sge(&p, 300, length - 300) };

	begin(1);
	mlx5dv_wr_mkey_configure(dv, mkey, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, ALL_RIGHTS);
	mlx5dv_wr_set_mkey_layout_list(dv, 2, sge);
	mlx5dv_wr_set_mkey_sig_block(dv, &attr);
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], IBV_WC_DRIVER1, 1);
}

/* ---- what it should look like ---- */

static void put_dif(uint8_t *at, const uint8_t *block, uint32_t size, uint32_t index)
{
	uint16_t words[] = { htobe16(crc16_t10dif(0, block, size)), htobe16(APP) };
	uint32_t ref = htobe32(REF + index);

	memcpy(at, words, 4);
	memcpy(at + 4, &ref, 4);
}

/* `count` blocks with their signatures, of a pattern. */
static void make_dif(uint8_t *to, uint32_t size, uint32_t count, uint8_t seed)
{
	uint8_t *raw = malloc((size_t)size * count);

	assert_non_null(raw);
	pair_pattern(raw, (size_t)size * count, seed);
	for (uint32_t i = 0; i < count; i++, to += size + 8) {
		memcpy(to, raw + (size_t)i * size, size);
		put_dif(to + size, to, size, i);
	}
	free(raw);
}

static void make_crc32c(uint8_t *to, uint32_t count, uint8_t seed)
{
	uint8_t raw[512 * 64];

	pair_pattern(raw, 512u * count, seed);
	for (uint32_t i = 0; i < count; i++, to += 516) {
		uint32_t crc;

		memcpy(to, raw + 512 * i, 512);
		crc = htole32(~crc32_iscsi(to, 512, UINT32_MAX));
		memcpy(to + 512, &crc, 4);
	}
}

/* ---- moving data by the key ---- */

static void move(enum ibv_wr_opcode opcode, uint32_t length)
{
	struct ibv_sge sge = { .addr = 0, .length = length, .lkey = mkey->lkey };
	struct ibv_send_wr wr = { .wr_id = 7,
				  .opcode = opcode,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };

	if (opcode == IBV_WR_SEND)
		pair_post_recv(&p, 1, 8, HALF, length);
	pair_fill_wr(&p, &wr, HALF);
	pair_post(&p, &wr);
	pair_expect(p.cq[0],
		    opcode == IBV_WR_SEND         ? IBV_WC_SEND
		    : opcode == IBV_WR_RDMA_WRITE ? IBV_WC_RDMA_WRITE
						  : IBV_WC_RDMA_READ,
		    7);
	if (opcode == IBV_WR_SEND)
		assert_int_equal(pair_expect(p.cq[1], IBV_WC_RECV, 8).byte_len, length);
}

/* [1] uses the key: as the remote one of an RDMA operation, or as that of [0]'s receive. */
static void move_remotely(enum ibv_wr_opcode opcode, uint32_t length)
{
	struct ibv_sge sge = pair_sge(&p, HALF, length);
	struct ibv_sge into = { .addr = 0, .length = length, .lkey = mkey->lkey };
	struct ibv_recv_wr recv = { .wr_id = 8, .sg_list = &into, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = { .wr_id = 7,
				  .opcode = opcode,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = 0, .rkey = mkey->rkey } },
			   *bad;

	if (opcode == IBV_WR_SEND)
		assert_int_equal(ibv_post_recv(p.qp[0], &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(p.qp[1], &wr, &bad), 0);
	pair_wait(p.cq[1]);
	if (opcode == IBV_WR_SEND)
		assert_int_equal(pair_expect(p.cq[0], IBV_WC_RECV, 8).byte_len, length);
}

static struct mlx5dv_mkey_err check(void)
{
	struct mlx5dv_mkey_err err = { 0 };
	struct ibv_wc wc;

	/* Errors that a peer's access found have no completion of ours behind them. */
	assert_int_equal(ibv_poll_cq(p.cq[0], 1, &wc), 0);
	assert_int_equal(mlx5dv_mkey_check(mkey, &err), 0);
	return err;
}

static void expect_no_error(void)
{
	assert_int_equal(check().err_type, MLX5DV_MKEY_NO_ERR);
}

/* ---- directions ---- */

#define COUNT 40u

static void signatures_are_inserted_into_what_leaves(void **state)
{
	static const enum ibv_wr_opcode ways[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE };
	uint8_t *want = malloc(520 * COUNT);

	assert_non_null(want);
	make_dif(want, 512, COUNT, 3);
	pair_pattern(p.buf, 512 * COUNT, 3);
	configure(NULL, &dif_512, 512 * COUNT);
	for (size_t i = 0; i < 2; i++) {
		memset(p.buf + HALF, 0, 520 * COUNT + 1);
		move(ways[i], 520 * COUNT);
		assert_memory_equal(p.buf + HALF, want, 520 * COUNT);
	}
	memset(p.buf + HALF, 0, 520 * COUNT + 1);
	move_remotely(IBV_WR_RDMA_READ, 520 * COUNT);
	assert_memory_equal(p.buf + HALF, want, 520 * COUNT);
	expect_no_error();
	free(want);
}

static void signatures_are_checked_and_stripped_of_what_leaves(void **state)
{
	make_dif(p.buf, 4096, COUNT / 8, 5);
	configure(&dif_4096, NULL, 4104 * (COUNT / 8));
	move(IBV_WR_SEND, 512 * COUNT);
	assert_true(pair_is_pattern(p.buf + HALF, 512 * COUNT, 5));
	move(IBV_WR_RDMA_WRITE, 512 * COUNT);
	assert_true(pair_is_pattern(p.buf + HALF, 512 * COUNT, 5));
	move_remotely(IBV_WR_RDMA_READ, 512 * COUNT);
	assert_true(pair_is_pattern(p.buf + HALF, 512 * COUNT, 5));
	expect_no_error();
}

static void signatures_are_checked_and_stripped_of_what_arrives(void **state)
{
	make_dif(p.buf + HALF, 512, COUNT, 6);
	configure(NULL, &dif_512, 512 * COUNT);
	move(IBV_WR_RDMA_READ, 520 * COUNT);
	assert_true(pair_is_pattern(p.buf, 512 * COUNT, 6));
	memset(p.buf, 0, 512 * COUNT);
	move_remotely(IBV_WR_RDMA_WRITE, 520 * COUNT);
	assert_true(pair_is_pattern(p.buf, 512 * COUNT, 6));
	memset(p.buf, 0, 512 * COUNT);
	move_remotely(IBV_WR_SEND, 520 * COUNT);
	assert_true(pair_is_pattern(p.buf, 512 * COUNT, 6));
	expect_no_error();
}

static void signatures_are_inserted_into_memory(void **state)
{
	uint8_t *want = malloc(516 * COUNT);

	assert_non_null(want);
	make_crc32c(want, COUNT, 7);
	pair_pattern(p.buf + HALF, 512 * COUNT, 7);
	configure(&crc_512, NULL, 516 * COUNT);
	move(IBV_WR_RDMA_READ, 512 * COUNT);
	assert_memory_equal(p.buf, want, 516 * COUNT);
	memset(p.buf, 0, 516 * COUNT);
	move_remotely(IBV_WR_SEND, 512 * COUNT);
	assert_memory_equal(p.buf, want, 516 * COUNT);
	expect_no_error();
	free(want);
}

static void one_kind_becomes_another(void **state)
{
	uint8_t *want = malloc(4104 * (COUNT / 8));

	assert_non_null(want);
	make_dif(want, 4096, COUNT / 8, 8);
	make_crc32c(p.buf, COUNT, 8);
	configure(&crc_512, &dif_4096, 516 * COUNT);
	move(IBV_WR_SEND, 4104 * (COUNT / 8));
	assert_memory_equal(p.buf + HALF, want, 4104 * (COUNT / 8));
	expect_no_error();
	free(want);
}

static void data_that_does_not_fill_a_block_passes_without_signature(void **state)
{
	pair_pattern(p.buf, 1024, 9);
	configure(NULL, &dif_512, 1024);
	move(IBV_WR_SEND, 512);
	assert_true(pair_is_pattern(p.buf + HALF, 512, 9));
	expect_no_error();
}

static void the_key_reaches_as_far_as_the_wire_does(void **state)
{
	struct ibv_sge sge = { .length = 1041, .lkey = mkey->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 7, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1
	};

	configure(NULL, &dif_512, 1024);
	pair_fill_wr(&p, &wr, HALF);
	pair_post(&p, &wr);
	assert_int_equal(pair_wait(p.cq[0]).status, IBV_WC_LOC_PROT_ERR);
}

#define USERS 4u

/* Users of one key at the same time, each in blocks of its own; over a wire their packets alternate. */
static void use_at_once(enum ibv_wr_opcode opcode, struct pair *user)
{
	for (uint32_t i = 0; i < USERS; i++) {
		struct ibv_sge sge = pair_sge(&p, HALF + (size_t)i * 520 * COUNT, 520 * COUNT);
		struct ibv_send_wr wr = { .wr_id = i,
					  .opcode = opcode,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .send_flags = IBV_SEND_SIGNALED,
					  .wr.rdma = { .remote_addr = (uint64_t)i * 520 * COUNT,
						       .rkey = mkey->rkey } },
				   *bad;

		assert_int_equal(ibv_post_send(user[i].qp[1], &wr, &bad), 0);
	}
	for (uint32_t i = 0; i < USERS; i++)
		assert_int_equal(pair_wait(p.cq[1]).status, IBV_WC_SUCCESS);
}

static void several_queue_pairs_use_a_key_at_once(void **state)
{
	const uint32_t blocks = USERS * COUNT;
	uint8_t *want = malloc(520 * blocks);
	struct pair user[USERS];
	struct mlx5dv_mkey_err err;

	assert_non_null(want);
	for (uint32_t i = 0; i < USERS; i++) {
		user[i] = p;
		for (int side = 0; side < 2; side++)
			user[i].qp[side] = make_qp(side, 0);
		pair_connect(&user[i]);
	}
	make_dif(want, 512, blocks, 19);
	configure(NULL, &dif_512, 512 * blocks);
	memcpy(p.buf + HALF, want, 520 * blocks);
	use_at_once(IBV_WR_RDMA_WRITE, user);
	assert_true(pair_is_pattern(p.buf, 512 * blocks, 19));
	memset(p.buf + HALF, 0, 520 * blocks);
	use_at_once(IBV_WR_RDMA_READ, user);
	assert_memory_equal(p.buf + HALF, want, 520 * blocks);
	expect_no_error();
	p.buf[HALF + 520 * (COUNT + 7) + 512] ^= 1;
	use_at_once(IBV_WR_RDMA_WRITE, user);
	err = check();
	assert_int_equal(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	assert_int_equal(err.err.sig.offset, 520 * (COUNT + 7));
	for (uint32_t i = 0; i < USERS; i++)
		for (int side = 0; side < 2; side++)
			assert_int_equal(ibv_destroy_qp(user[i].qp[side]), 0);
	free(want);
}

/* ---- errors ---- */

static void a_wrong_signature_in_memory_is_told(void **state)
{
	struct mlx5dv_mkey_err err;

	make_dif(p.buf, 512, COUNT, 10);
	p.buf[520 * 9 + 17] ^= 0x40;
	configure(&dif_512, NULL, 520 * COUNT);
	move(IBV_WR_SEND, 512 * COUNT);
	err = check();
	assert_int_equal(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	assert_int_equal(err.err.sig.offset, 520 * 9);
	assert_int_equal(err.err.sig.actual_value, crc16_t10dif(0, p.buf + 520 * 9, 512));
	assert_int_equal(err.err.sig.expected_value,
			 p.buf[520 * 9 + 512] << 8 | p.buf[520 * 9 + 513]);
	expect_no_error(); /* it was asked for */
}

static void a_wrong_signature_on_the_wire_is_told(void **state)
{
	struct mlx5dv_mkey_err err;

	make_dif(p.buf + HALF, 512, COUNT, 11);
	p.buf[HALF + 520 * 30 + 519] ^= 0x40;
	configure(NULL, &dif_512, 512 * COUNT);
	move(IBV_WR_RDMA_READ, 520 * COUNT);
	err = check();
	assert_int_equal(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG);
	assert_int_equal(err.err.sig.offset, 520 * 30);
	assert_int_equal(err.err.sig.actual_value, REF + 30);
	assert_int_equal(err.err.sig.expected_value, (REF + 30) ^ 0x40);
}

static void a_wrong_signature_of_a_peers_access_is_told(void **state)
{
	struct mlx5dv_mkey_err err;

	make_dif(p.buf + HALF, 512, COUNT, 12);
	p.buf[HALF + 515] ^= 1;
	configure(NULL, &dif_512, 512 * COUNT);
	move_remotely(IBV_WR_RDMA_WRITE, 520 * COUNT);
	err = check();
	assert_int_equal(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG);
	assert_int_equal(err.err.sig.offset, 0);
	assert_int_equal(err.err.sig.actual_value, APP);
	assert_int_equal(err.err.sig.expected_value, APP ^ 1);

	make_crc32c(p.buf, COUNT, 12);
	p.buf[516 + 512] ^= 1;
	configure(&crc_512, NULL, 516 * COUNT);
	move_remotely(IBV_WR_RDMA_READ, 512 * COUNT);
	err = check();
	assert_int_equal(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	assert_int_equal(err.err.sig.offset, 516);
	assert_int_equal(err.err.sig.expected_value ^ err.err.sig.actual_value, 1);
}

/* Two queue pairs for datagrams, with completion queues of their own. */
static struct pair make_datagrams(void)
{
	struct pair u = p;

	for (int side = 0; side < 2; side++) {
		struct ibv_qp_init_attr attr = {
			.qp_type = IBV_QPT_UD,
			.cap = { .max_send_wr = 4,
				 .max_recv_wr = 4,
				 .max_send_sge = 1,
				 .max_recv_sge = 1 },
		};

		u.cq[side] = ibv_create_cq(p.ctx, 8, NULL, NULL, 0);
		assert_non_null(u.cq[side]);
		attr.send_cq = attr.recv_cq = u.cq[side];
		u.qp[side] = ibv_create_qp(p.pd, &attr);
		assert_non_null(u.qp[side]);
	}
	pair_connect(&u);
	return u;
}

static void errors_of_datagrams_are_reported_to_their_queue_pair(void **state)
{
	struct pair u = make_datagrams();
	struct ibv_sge sge = { .length = 512, .lkey = mkey->lkey };
	struct ibv_send_wr wr = { .wr_id = 7,
				  .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };
	struct mlx5dv_mkey_err err = { 0 };

	make_dif(p.buf, 512, 1, 18);
	p.buf[99] ^= 1;
	configure(&dif_512, NULL, 520);
	pair_post_recv(&u, 1, 8, HALF, 40 + 512);
	pair_fill_wr(&u, &wr, 0);
	pair_post(&u, &wr);
	pair_expect(u.cq[0], IBV_WC_SEND, 7);
	pair_expect(u.cq[1], IBV_WC_RECV, 8);
	assert_int_equal(mlx5dv_mkey_check(mkey, &err), 0);
	assert_int_equal(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	/* The next queue pair of this thread hears nothing of it. */
	p.buf[99] ^= 1;
	configure(&dif_512, NULL, 520);
	move(IBV_WR_RDMA_WRITE, 512);
	expect_no_error();
	for (int side = 0; side < 2; side++) {
		assert_int_equal(ibv_destroy_qp(u.qp[side]), 0);
		assert_int_equal(ibv_destroy_cq(u.cq[side]), 0);
	}
}

static void after_an_error_the_key_serves_again_once_configured(void **state)
{
	make_dif(p.buf, 512, 2, 13);
	p.buf[0] ^= 1;
	configure(&dif_512, NULL, 1040);
	for (int i = 0; i < 3; i++) {
		move(IBV_WR_RDMA_WRITE, 1024);
		assert_int_equal(check().err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
		configure(&dif_512, NULL, 1040);
	}
	p.buf[0] ^= 1;
	move(IBV_WR_RDMA_WRITE, 1024);
	expect_no_error();
}

static void a_cq_polled_by_hand_has_errors_of_its_own_kind(void **state)
{
	const struct mlx5_cqe64 *cqe;
	struct mlx5dv_cq ring = { 0 };
	struct mlx5dv_obj obj = { .cq = { p.cq[0], &ring } };
	struct ibv_sge sge = { .length = 512, .lkey = mkey->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };
	const uint8_t *bytes;
	uint32_t at;

	make_dif(p.buf, 512, 1, 14);
	p.buf[3] ^= 1;
	configure(&dif_512, NULL, 520);
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	at = be32toh(ring.dbrec[0]) & 0xffffff;
	pair_fill_wr(&p, &wr, HALF);
	pair_post(&p, &wr);
	bytes = (const uint8_t *)ring.buf + (size_t)(at & (ring.cqe_cnt - 1)) * ring.cqe_size;
	cqe = (const void *)(bytes + ring.cqe_size - 64);
	while (__atomic_load_n(&cqe->op_own, __ATOMIC_ACQUIRE) >> 4 == MLX5_CQE_INVALID ||
	       (cqe->op_own & 1) != !!(at & ring.cqe_cnt))
		;
	assert_int_equal(cqe->op_own >> 4, MLX5_CQE_SIG_ERR);
	bytes = (const uint8_t *)cqe;
	assert_int_equal(bytes[32] << 8 | bytes[33], 1 << 13); /* guard */
	assert_int_equal(bytes[35], 1);                        /* of memory */
	assert_int_equal((uint32_t)bytes[36] << 24 | bytes[37] << 16 | bytes[38] << 8 | bytes[39],
			 mkey->lkey);
}

/* ---- configuration ---- */

static void a_key_keeps_its_signatures_until_they_are_reset(void **state)
{
	struct mlx5dv_mkey_conf_attr keep = { 0 },
				     reset = { .conf_flags = MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR };
	struct ibv_sge sge = pair_sge(&p, 1024, 512);
	uint8_t want[520];

	configure(NULL, &dif_512, 1024);
	make_dif(want, 512, 1, 15);
	pair_pattern(p.buf + 1024, 512, 15);
	begin(2);
	mlx5dv_wr_mkey_configure(dv, mkey, 1, &keep);
	mlx5dv_wr_set_mkey_layout_list(dv, 1, &sge);
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], IBV_WC_DRIVER1, 2);
	move(IBV_WR_SEND, 520);
	assert_memory_equal(p.buf + HALF, want, 520);

	begin(3);
	mlx5dv_wr_mkey_configure(dv, mkey, 0, &reset);
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], IBV_WC_DRIVER1, 3);
	move(IBV_WR_SEND, 512);
	assert_true(pair_is_pattern(p.buf + HALF, 512, 15));
	expect_no_error();
}

static void set(const struct mlx5dv_sig_block_attr *attr)
{
	struct mlx5dv_mkey_conf_attr conf = { 0 };

	begin(1);
	mlx5dv_wr_mkey_configure(dv, mkey, 1, &conf);
	mlx5dv_wr_set_mkey_sig_block(dv, attr);
}

static void refuse(const struct mlx5dv_sig_block_attr *attr)
{
	set(attr);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
}

static void signatures_that_the_adapter_does_not_have_are_refused(void **state)
{
	struct mlx5dv_sig_t10dif bad_dif = dif;
	struct mlx5dv_sig_crc bad_crc = crc32c;
	struct mlx5dv_sig_block_domain d = dif_512;
	struct mlx5dv_mkey *plain = make_mkey(0);
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct mlx5dv_mkey_err err;

	refuse(&(struct mlx5dv_sig_block_attr){ 0 });
	refuse(&(struct mlx5dv_sig_block_attr){ .wire = &dif_512, .comp_mask = 1 });
	refuse(&(struct mlx5dv_sig_block_attr){ .wire = &dif_512, .flags = 2 });
	refuse(&(struct mlx5dv_sig_block_attr){ .mem = &dif_4096,
						.wire = &dif_512,
						.flags = MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK });
	d.sig.dif = &bad_dif;
	bad_dif.bg = 5;
	refuse(&(struct mlx5dv_sig_block_attr){ .wire = &d });
	bad_dif = dif;
	bad_dif.flags = 8;
	refuse(&(struct mlx5dv_sig_block_attr){ .mem = &d });
	d = crc_512;
	d.sig.crc = &bad_crc;
	bad_crc.seed = 1;
	refuse(&(struct mlx5dv_sig_block_attr){ .mem = &d });
	bad_crc.seed = 0;
	bad_crc.type = 3;
	refuse(&(struct mlx5dv_sig_block_attr){ .mem = &d });
	d = crc_512;
	d.block_size = 5;
	refuse(&(struct mlx5dv_sig_block_attr){ .mem = &d });
	d.block_size = 0;
	d.comp_mask = 1;
	refuse(&(struct mlx5dv_sig_block_attr){ .mem = &d });

	begin(1);
	mlx5dv_wr_mkey_configure(dv, plain, 1, &conf);
	mlx5dv_wr_set_mkey_sig_block(dv, &(struct mlx5dv_sig_block_attr){ .wire = &dif_512 });
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	assert_int_equal(mlx5dv_mkey_check(plain, &err), EINVAL);
	begin(1);
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_sig_block(dv, &(struct mlx5dv_sig_block_attr){ .wire = &dif_512 });
	mlx5dv_wr_set_mkey_sig_block(dv, &(struct mlx5dv_sig_block_attr){ .wire = &dif_512 });
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	assert_int_equal(mlx5dv_destroy_mkey(plain), 0);

	configure(NULL, &dif_512, 1024); /* the queue pair is none the worse */
	move(IBV_WR_SEND, 1040);
}

static void the_capabilities_say_so(void **state)
{
	struct mlx5dv_context caps = { .comp_mask = MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD };

	assert_int_equal(mlx5dv_query_device(p.ctx, &caps), 0);
	assert_int_equal(caps.comp_mask, MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD);
	assert_int_equal(caps.sig_caps.block_prot,
			 MLX5DV_SIG_PROT_CAP_T10DIF | MLX5DV_SIG_PROT_CAP_CRC);
	assert_int_equal(caps.sig_caps.t10dif_bg,
			 MLX5DV_SIG_T10DIF_BG_CAP_CRC | MLX5DV_SIG_T10DIF_BG_CAP_CSUM);
	assert_true(caps.sig_caps.crc_type & MLX5DV_SIG_CRC_TYPE_CAP_CRC32);
	assert_true(caps.sig_caps.block_size & MLX5DV_BLOCK_SIZE_CAP_4160);
}

/* ---- pipelining ---- */

static void post_with_response(void)
{
	struct ibv_sge data = { .length = 512, .lkey = mkey->lkey };
	struct ibv_sge response = pair_sge(&p, 10000, 16);
	struct ibv_send_wr second = { .wr_id = 21,
				      .opcode = IBV_WR_SEND,
				      .sg_list = &response,
				      .num_sge = 1,
				      .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE };
	struct ibv_send_wr first = { .wr_id = 20,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .sg_list = &data,
				     .num_sge = 1,
				     .next = &second };

	pair_post_recv(&p, 1, 30, HALF + 20000, 16);
	pair_fill_wr(&p, &first, HALF);
	pair_fill_wr(&p, &second, HALF);
	first.next = &second;
	pair_post(&p, &first);
}

static void a_response_follows_good_data(void **state)
{
	make_dif(p.buf, 512, 1, 16);
	configure(&dif_512, NULL, 520);
	post_with_response();
	pair_expect(p.cq[0], IBV_WC_SEND, 21);
	pair_expect(p.cq[1], IBV_WC_RECV, 30);
	expect_no_error();
}

static void a_response_to_bad_data_can_be_cancelled(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQD };
	struct ibv_async_event event;
	struct ibv_wc wc;

	make_dif(p.buf, 512, 1, 17);
	p.buf[100] ^= 1;
	configure(&dif_512, NULL, 520);
	post_with_response();
	do {
		struct pollfd fd = { .fd = p.ctx->async_fd, .events = POLLIN };

		/* A response over the wire comes in by polling. */
		while (!poll(&fd, 1, 0))
			assert_int_equal(ibv_poll_cq(p.cq[0], 1, &wc), 0);
		assert_int_equal(ibv_get_async_event(p.ctx, &event), 0);
		ibv_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_COMM_EST);
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	assert_ptr_equal(event.element.qp, p.qp[0]);
	assert_int_equal(check().err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	assert_int_equal(ibv_poll_cq(p.cq[1], 1, &wc), 0);

	assert_int_equal(mlx5dv_qp_cancel_posted_send_wrs(dv, 21), 1);
	assert_int_equal(ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
	assert_int_equal(pair_wait(p.cq[0]).wr_id, 21);
	assert_int_equal(ibv_poll_cq(p.cq[1], 1, &wc), 0);

	p.buf[100] ^= 1;
	configure(&dif_512, NULL, 520);
	move(IBV_WR_RDMA_WRITE, 512); /* the receive is still there for the next response */
	expect_no_error();
}

#define TEST(name)     cmocka_unit_test_setup_teardown(name, make, drop)
#define PIPELINE(name) cmocka_unit_test_setup_teardown(name, make_pipelining, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(signatures_are_inserted_into_what_leaves),
		TEST(signatures_are_checked_and_stripped_of_what_leaves),
		TEST(signatures_are_checked_and_stripped_of_what_arrives),
		TEST(signatures_are_inserted_into_memory),
		TEST(one_kind_becomes_another),
		TEST(data_that_does_not_fill_a_block_passes_without_signature),
		TEST(the_key_reaches_as_far_as_the_wire_does),
		TEST(several_queue_pairs_use_a_key_at_once),
		TEST(a_wrong_signature_in_memory_is_told),
		TEST(a_wrong_signature_on_the_wire_is_told),
		TEST(a_wrong_signature_of_a_peers_access_is_told),
		TEST(errors_of_datagrams_are_reported_to_their_queue_pair),
		TEST(after_an_error_the_key_serves_again_once_configured),
		TEST(a_cq_polled_by_hand_has_errors_of_its_own_kind),
		TEST(a_key_keeps_its_signatures_until_they_are_reset),
		TEST(signatures_that_the_adapter_does_not_have_are_refused),
		TEST(the_capabilities_say_so),
		PIPELINE(a_response_follows_good_data),
		PIPELINE(a_response_to_bad_data_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
