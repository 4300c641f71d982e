/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signatures by hand: contexts and keys by command, and entries that a program writes into a ring of its
 * own, with the formats of signatures (BSF) behind a key's layout.
 */
#include <errno.h>
#include <isa-l/crc.h>
#include <stdlib.h>

#include "devx_rig.h"

enum {
	DATA = 0,      /* of the key, in the rig's memory */
	WIRE = 0x8000, /* what the peer sees */
	TAG = 0x42,
	OPCODE_GET_PSV = 0x21,
	REF = 0x100,
	APP = 0x77,
};

static struct rig rig;

static struct {
	struct rig_cq cq;
	struct rig_qp qp[2];
	struct mlx5dv_devx_obj *key_obj, *psv_obj;
	uint32_t key;
	uint32_t psv[4];
} t;

/* ---- objects ---- */

static void make_key(bool signatures)
{
	RIG_IN(in, IFC_LEN_create_mkey_in, CREATE_MKEY);
	uint8_t out[0x10] = { 0 }, *mkc = ifc_ptr(in, create_mkey_in, memory_key_mkey_entry);

	ifc_set(mkc, mkc, access_mode_1_0, IFC_MKC_KLMS);
	ifc_set(mkc, mkc, free, 1);
	ifc_set(mkc, mkc, umr_en, 1);
	ifc_set(mkc, mkc, lr, 1);
	ifc_set(mkc, mkc, lw, 1);
	ifc_set(mkc, mkc, rr, 1);
	ifc_set(mkc, mkc, rw, 1);
	ifc_set(mkc, mkc, qpn, 0xffffff);
	ifc_set(mkc, mkc, mkey_7_0, TAG);
	ifc_set(mkc, mkc, pd, rig.pdn);
	ifc_set(mkc, mkc, translations_octword_size, 4);
	if (signatures) {
		ifc_set(mkc, mkc, bsf_en, 1);
		ifc_set(mkc, mkc, bsf_octword_size, 4);
	}
	t.key_obj = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(t.key_obj);
	t.key = ifc_get(out, create_mkey_out, mkey_index) << 8 | TAG;
}

static void make_psvs(void)
{
	RIG_IN(in, IFC_LEN_create_psv_in, CREATE_PSV);
	uint8_t out[IFC_LEN_create_psv_out] = { 0 };

	ifc_set(in, create_psv_in, pd, rig.pdn);
	ifc_set(in, create_psv_in, num_psv, 4);
	t.psv_obj = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(t.psv_obj);
	t.psv[0] = ifc_get(out, create_psv_out, psv0_index);
	t.psv[1] = ifc_get(out, create_psv_out, psv1_index);
	t.psv[2] = ifc_get(out, create_psv_out, psv2_index);
	t.psv[3] = ifc_get(out, create_psv_out, psv3_index);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < i; k++)
			assert_int_not_equal(t.psv[i], t.psv[k]);
}

static int setup_with(bool signatures)
{
	rig_open(&rig);
	rig_cq(&rig, 5, rig.eqn, &t.cq);
	for (int i = 0; i < 2; i++)
		rig_qp(&rig, 4, 3, 0, &t.cq, &t.qp[i]);
	rig_connect(&t.qp[0], &t.qp[1]);
	make_key(signatures);
	make_psvs();
	return 0;
}

static int setup(void **state)
{
	return setup_with(true);
}

static int setup_plain(void **state)
{
	return setup_with(false);
}

static int teardown(void **state)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(t.psv_obj), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(t.key_obj), 0);
	for (int i = 0; i < 2; i++)
		rig_qp_drop(&t.qp[i]);
	rig_cq_drop(&t.cq);
	rig_close(&rig);
	return 0;
}

/* ---- entries ---- */

/* Puts an entry of whole blocks into the ring, which it may wrap around. */
static void put(uint8_t opcode, const uint8_t *body, uint32_t bytes, uint32_t imm)
{
	struct rig_qp *qp = &t.qp[0];
	uint32_t blocks = (16 + bytes + 63) / 64;
	uint8_t wqe[320] = { 0 };

	memcpy(wqe + 16, body, bytes);
	mlx5dv_set_ctrl_seg((void *)wqe, qp->post & 0xffff, opcode, 0, qp->qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, (16 + bytes) / 16, 0, htobe32(imm));
	for (uint32_t i = 0; i < blocks; i++)
		memcpy(qp->sq + 64 * (size_t)((qp->post + i) & (qp->sq_size - 1)), wqe + 64 * i,
		       64);
	qp->post += blocks;
	rig_ring(qp);
}

static uint8_t next_opcode(void)
{
	uint8_t opcode = rig_cq_wait(&t.cq)->op_own >> 4;

	rig_cq_take(&t.cq);
	return opcode;
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, 4);
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, 8);
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return be32toh(value);
}

/* The key becomes `len` bytes at DATA, with these signatures. Does not touch whether they are in use. */
static void configure(const uint8_t *bsf, uint32_t len)
{
	uint8_t body[240] = { 0 }, *umr = body, *context = body + 48, *klm = body + 112;

	umr[0] = MLX5_WQE_UMR_CTRL_FLAG_INLINE;
	umr[5] = 4; /* units of the layout */
	umr[7] = 4; /* units of the BSF */
	put64(umr + 8, MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN |
			       MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR);
	put64(context + 24, len);
	put32(klm, len);
	put32(klm + 4, rig.mr->lkey);
	put64(klm + 8, (uintptr_t)rig.memory + DATA);
	memcpy(body + 176, bsf, 64);
	put(MLX5_OPCODE_UMR, body, sizeof(body), t.key);
}

/* A T10-DIF domain as a BSF has it. */
static void put_dif(uint8_t *at)
{
	put32(at, 0xc000u << 16 | APP);
	put32(at + 4, REF);
	at[8] = 1;     /* CRC */
	at[9] = 0x80;  /* every block, from 0 */
	at[13] = 0x40; /* counting */
	at[14] = at[15] = 0xff;
}

/* RDMA WRITE of the key's first bytes to WIRE, or of WIRE to the key. */
static void write_data(bool from_key, uint32_t len)
{
	uint8_t body[32] = { 0 };

	put64(body, from_key ? (uintptr_t)rig.memory + WIRE : 0);
	put32(body + 8, from_key ? rig.mr->rkey : t.key);
	put32(body + 16, len);
	put32(body + 20, from_key ? t.key : rig.mr->lkey);
	put64(body + 24, from_key ? 0 : (uintptr_t)rig.memory + WIRE);
	put(MLX5_OPCODE_RDMA_WRITE, body, sizeof(body), 0);
}

/* ---- tests ---- */

static void a_format_written_by_hand_inserts_signatures(void **state)
{
	uint8_t bsf[64] = { [0] = 2 << 6, [1] = 0xff, [2] = 1 /* 512 */ };

	put32(bsf + 4, 2048);
	put32(bsf + 8, t.psv[0]);
	put_dif(bsf + 32);
	/* Several times, so that entries wrap around the end of the ring. */
	for (uint8_t seed = 1; seed < 12; seed++) {
		pair_pattern(rig.memory + DATA, 2048, seed);
		configure(bsf, 2048);
		assert_int_equal(next_opcode(), MLX5_CQE_REQ);
		write_data(true, 2080);
		assert_int_equal(next_opcode(), MLX5_CQE_REQ);
		for (uint32_t i = 0; i < 4; i++) {
			uint8_t *block = rig.memory + WIRE + 520 * i;

			assert_memory_equal(block, rig.memory + DATA + 512 * i, 512);
			assert_int_equal(get32(block + 512),
					 (uint32_t)crc16_t10dif(0, block, 512) << 16 | APP);
			assert_int_equal(get32(block + 516), REF + i);
		}
	}
}

static void a_wrong_signature_of_a_peers_write_is_an_entry_of_its_own(void **state)
{
	uint8_t bsf[64] = { [0] = 2 << 6, [1] = 0xff, [2] = 1 };
	const uint8_t *cqe;

	put32(bsf + 8, t.psv[0]);
	put_dif(bsf + 32);
	configure(bsf, 1024);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ);
	memset(rig.memory + WIRE, 0, 1040); /* a guard of 0 is right, tags of 0 are not */
	write_data(false, 1040);
	cqe = (const uint8_t *)rig_cq_wait(&t.cq);
	assert_int_equal(cqe[63] >> 4, MLX5_CQE_SIG_ERR);
	assert_int_equal(get32(cqe + 16), 0);   /* expected guard and application tag */
	assert_int_equal(get32(cqe + 20), APP); /* actual ones */
	assert_int_equal(get32(cqe + 28), REF);
	assert_int_equal(get32(cqe + 32) >> 16, 1 << 12); /* the application tag */
	assert_int_equal(cqe[35], 0);                     /* on the wire */
	assert_int_equal(get32(cqe + 36), t.key);
	assert_int_equal(get32(cqe + 44), 0);
	assert_int_equal(get32(cqe + 56) & 0xffffff, t.qp[1].qpn);
	rig_cq_take(&t.cq);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ);
}

/* As storage software has the CRC of a whole buffer made: no blocks, and a signature in the end. */
static void one_signature_covers_all_of_the_data(void **state)
{
	uint8_t bsf[64] = { [0] = 1 << 6, [1] = 0xff };
	uint32_t crc, found;

	put32(bsf + 4, 3000);
	put32(bsf + 16, 1u << 28 | 1u << 29);
	put32(bsf + 24, 0x40u << 24 | t.psv[0]);
	pair_pattern(rig.memory + DATA, 3000, 5);
	configure(bsf, 3000);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ);
	write_data(true, 3004);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ);
	crc = ~crc32_iscsi(rig.memory + DATA, 3000, UINT32_MAX);
	memcpy(&found, rig.memory + WIRE + 3000, 4);
	assert_int_equal(le32toh(found), crc);

	/* and checked, on the way back */
	memset(rig.memory + DATA, 0, 3000);
	write_data(false, 3004);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ);
	assert_true(pair_is_pattern(rig.memory + DATA, 3000, 5));
	rig.memory[WIRE + 7] ^= 1;
	write_data(false, 3004);
	assert_int_equal(next_opcode(), MLX5_CQE_SIG_ERR);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ);
}

/* A buffer in parts: each has a configuration of its own, and the context carries the CRC on. */
static void one_signature_goes_on_over_several_keys(void **state)
{
	uint8_t first[64] = { [0] = 1 << 6, [1] = 0xff }, second[64], last[64], set[16] = { 0 };
	uint32_t crc = UINT32_MAX, found;

	put32(first + 4, 700);
	put32(first + 24, 0x40u << 24 | t.psv[1]);
	memcpy(second, first, sizeof(first));
	memcpy(last, first, sizeof(first));
	put32(first + 16, 1u << 29); /* starts */
	put32(last + 16, 1u << 28);  /* ends */
	put32(set, t.psv[1]);
	put64(set + 8, 0x1122334455667788);
	put(MLX5_OPCODE_SET_PSV, set, sizeof(set), 0);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ);
	pair_pattern(rig.memory + DATA, 700, 6);
	for (int i = 0; i < 3; i++) {
		crc = crc32_iscsi(rig.memory + DATA, 700, crc);
		configure(i == 0 ? first : i == 1 ? second : last, 700);
		assert_int_equal(next_opcode(), MLX5_CQE_REQ);
		write_data(true, i == 2 ? 704 : 700);
		assert_int_equal(next_opcode(), MLX5_CQE_REQ);
		assert_memory_equal(rig.memory + WIRE, rig.memory + DATA, 700);
		rig.memory[DATA + 50] ^= 0x80;
	}
	memcpy(&found, rig.memory + WIRE + 700, 4);
	assert_int_equal(le32toh(found), (uint32_t)~crc);
}

static void contexts_are_set_and_read(void **state)
{
	uint8_t set[16] = { 0 }, get[48] = { 0 };
	const uint8_t *out = rig.memory + WIRE;

	put32(set, t.psv[2]);
	set[4] = 0x20; /* syndrome */
	put64(set + 8, 0xffff007700000100ull);
	put(MLX5_OPCODE_SET_PSV, set, sizeof(set), 0);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ);
	get[19] = 2;
	put32(get + 20, rig.mr->lkey);
	put64(get + 24, (uintptr_t)out);
	put32(get + 32, t.psv[1]);
	put32(get + 36, t.psv[2]);
	memset(rig.memory + WIRE, 0xee, 48);
	put(OPCODE_GET_PSV, get, sizeof(get), 0);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ);
	assert_int_equal(get32(out), t.psv[1]);
	assert_int_equal(get32(out + 12), 0);
	assert_int_equal(get32(out + 16), t.psv[2]);
	assert_int_equal(get32(out + 20), 0x2000u << 16);
	assert_int_equal(get32(out + 24), 0xffff0077);
	assert_int_equal(get32(out + 28), 0x100);
	assert_int_equal(out[32], 0xee);
}

static void a_context_that_does_not_exist_cannot_be_set(void **state)
{
	uint8_t set[16] = { 0 };

	put32(set, 0xfffff);
	put(MLX5_OPCODE_SET_PSV, set, sizeof(set), 0);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ_ERR);
}

/* What each byte of a format must not be. */
static void formats_that_do_not_exist_are_refused(void **state)
{
	static const struct {
		uint8_t at, is;
	} bad[] = {
		{ 2, 9 },          /* a block size */
		{ 2, 0 },          /* none at all */
		{ 40, 7 },         /* a kind of guard */
		{ 41, 0 },         /* not for every block */
		{ 8, 0x90 },       /* a kind of CRC */
		{ 8, 0x20 },       /* a CRC, not for every block */
		{ 0, 2 << 6 | 2 }, /* a format of another kind */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t bsf[64] = { [0] = 2 << 6, [1] = 0xff, [2] = 1 };

		put_dif(bsf + 32);
		bsf[bad[i].at] = bad[i].is;
		configure(bsf, 512);
		assert_int_equal(next_opcode(), MLX5_CQE_REQ_ERR);
		teardown(state);
		setup(state);
	}
}

static void a_key_made_without_room_for_signatures_has_none(void **state)
{
	uint8_t bsf[64] = { [0] = 2 << 6, [1] = 0xff, [2] = 1 };

	put_dif(bsf + 32);
	configure(bsf, 512);
	assert_int_equal(next_opcode(), MLX5_CQE_REQ_ERR);
}

static uint8_t refused(uint32_t count, uint32_t pdn)
{
	RIG_IN(in, IFC_LEN_create_psv_in, CREATE_PSV);
	uint8_t out[IFC_LEN_create_psv_out] = { 0 };

	ifc_set(in, create_psv_in, pd, pdn);
	ifc_set(in, create_psv_in, num_psv, count);
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out)));
	assert_int_equal(errno, EREMOTEIO);
	return ifc_get(out, cmd_out, status);
}

static void one_to_four_contexts_are_made_by_a_command(void **state)
{
	assert_int_equal(refused(0, rig.pdn), IFC_STATUS_BAD_PARAM);
	assert_int_equal(refused(5, rig.pdn), IFC_STATUS_BAD_PARAM);
	assert_int_equal(refused(1, 0xabcdef), IFC_STATUS_BAD_RES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_format_written_by_hand_inserts_signatures),
		TEST(a_wrong_signature_of_a_peers_write_is_an_entry_of_its_own),
		TEST(one_signature_covers_all_of_the_data),
		TEST(one_signature_goes_on_over_several_keys),
		TEST(contexts_are_set_and_read),
		TEST(a_context_that_does_not_exist_cannot_be_set),
		TEST(formats_that_do_not_exist_are_refused),
		cmocka_unit_test_setup_teardown(a_key_made_without_room_for_signatures_has_none,
						setup_plain, teardown),
		TEST(one_to_four_contexts_are_made_by_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
