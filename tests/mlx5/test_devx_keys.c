/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys made of pieces of other keys, by command; and completion queues that get another ring. */
#include <errno.h>
#include <stdlib.h>

#include "devx_rig.h"

enum { PIECES = 8, PIECE = 512, IOVA = 0x70000000 };

static struct rig rig;

struct two {
	struct rig_cq cq;
	struct rig_qp qp[2];
};

static void make(struct two *t, uint32_t log_cq)
{
	rig_cq(&rig, log_cq, rig.eqn, &t->cq);
	for (int i = 0; i < 2; i++)
		rig_qp(&rig, 5, 3, 0, &t->cq, &t->qp[i]);
	rig_connect(&t->qp[0], &t->qp[1]);
}

static void drop(struct two *t)
{
	for (int i = 0; i < 2; i++)
		rig_qp_drop(&t->qp[i]);
	rig_cq_drop(&t->cq);
}

/* ---- keys ---- */

#define KEY_LEN (IFC_LEN_create_mkey_in + 16 * PIECES)

/* Pieces from the end of the rig's memory backwards, so that order shows. */
static uint32_t piece_at(uint32_t i)
{
	return RIG_MEMORY - (i + 1) * 2 * PIECE;
}

static uint8_t *key_in(uint8_t *in, unsigned int mode, uint32_t pieces)
{
	uint8_t *mkc = ifc_ptr(in, create_mkey_in, memory_key_mkey_entry);
	uint8_t *at = ifc_ptr(in, create_mkey_in, klm_pas_mtt);

	memset(in, 0, KEY_LEN);
	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_MKEY);
	ifc_set(mkc, mkc, access_mode_1_0, mode);
	ifc_set(mkc, mkc, lr, 1);
	ifc_set(mkc, mkc, lw, 1);
	ifc_set(mkc, mkc, rr, 1);
	ifc_set(mkc, mkc, rw, 1);
	ifc_set(mkc, mkc, qpn, 0xffffff);
	ifc_set(mkc, mkc, mkey_7_0, 0x5a);
	ifc_set(mkc, mkc, pd, rig.pdn);
	ifc_set(mkc, mkc, start_addr, IOVA);
	ifc_set(mkc, mkc, len, (uint64_t)pieces * PIECE);
	ifc_set(mkc, mkc, log_page_size, 9); /* PIECE */
	ifc_set(mkc, mkc, translations_octword_size, PIECES);
	ifc_set(in, create_mkey_in, translations_octword_actual_size, PIECES);
	for (uint32_t i = 0; i < pieces; i++, at += 16) {
		if (mode == IFC_MKC_KLMS)
			ifc_set(at, klm, byte_count, PIECE);
		ifc_set(at, klm, mkey, rig.mr->lkey);
		ifc_set(at, klm, address, (uintptr_t)rig.memory + piece_at(i));
	}
	return mkc;
}

static struct mlx5dv_devx_obj *make_key(const uint8_t *in, uint32_t *key)
{
	uint8_t out[0x10] = { 0 };
	struct mlx5dv_devx_obj *obj =
		mlx5dv_devx_obj_create(rig.ctx, in, KEY_LEN, out, sizeof(out));

	assert_non_null(obj);
	*key = ifc_get(out, create_mkey_out, mkey_index) << 8 | 0x5a;
	return obj;
}

/* A request between the rig's start and the key's memory, and its completion. An atomic adds 1. */
static uint8_t request(struct two *t, uint8_t op, uint32_t rkey, uint64_t addr, uint32_t len)
{
	struct rig_qp *qp = &t->qp[0];
	uint8_t *at = qp->sq + 64 * (size_t)(qp->post & (qp->sq_size - 1)), opcode;
	struct mlx5_wqe_raddr_seg *raddr = (void *)(at + 16);
	struct mlx5_wqe_atomic_seg *atomic = (void *)(at + 32);
	bool adds = op == MLX5_OPCODE_ATOMIC_FA;

	raddr->raddr = htobe64(addr);
	raddr->rkey = htobe32(rkey);
	raddr->reserved = 0;
	if (adds)
		*atomic = (struct mlx5_wqe_atomic_seg){ .swap_add = htobe64(1) };
	mlx5dv_set_data_seg((void *)(at + (adds ? 48 : 32)), len, rig.mr->lkey,
			    (uintptr_t)rig.memory);
	mlx5dv_set_ctrl_seg((void *)at, qp->post++ & 0xffff, op, 0, qp->qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, adds ? 4 : 3, 0, 0);
	rig_ring(qp);
	opcode = rig_cq_wait(&t->cq)->op_own >> 4;
	rig_cq_take(&t->cq);
	return opcode;
}

static uint8_t write_to(struct two *t, uint32_t rkey, uint64_t addr, uint32_t len)
{
	return request(t, MLX5_OPCODE_RDMA_WRITE, rkey, addr, len);
}

static void check_pieces(uint32_t count)
{
	uint8_t whole[PIECES * PIECE];

	for (uint32_t i = 0; i < count; i++)
		memcpy(whole + i * PIECE, rig.memory + piece_at(i), PIECE);
	assert_true(pair_is_pattern(whole, count * PIECE, 9));
}

static void a_key_of_pieces_spreads_what_is_written(void **state)
{
	static const unsigned int modes[] = { IFC_MKC_KLMS, IFC_MKC_KSM };
	struct two t;

	make(&t, 5);
	for (int m = 0; m < 2; m++) {
		uint8_t in[KEY_LEN];
		struct mlx5dv_devx_obj *obj;
		uint32_t key;

		memset(rig.memory, 0, RIG_MEMORY);
		pair_pattern(rig.memory, PIECES * PIECE, 9);
		key_in(in, modes[m], PIECES);
		obj = make_key(in, &key);
		assert_int_equal(write_to(&t, key, IOVA, PIECES * PIECE), MLX5_CQE_REQ);
		check_pieces(PIECES);
		/* from the middle of one to the middle of the next */
		assert_int_equal(write_to(&t, key, IOVA + PIECE / 2, PIECE), MLX5_CQE_REQ);
		assert_memory_equal(rig.memory + piece_at(0) + PIECE / 2, rig.memory, PIECE / 2);
		assert_memory_equal(rig.memory + piece_at(1), rig.memory + PIECE / 2, PIECE / 2);
		assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	}
	drop(&t);
}

static void a_key_of_pieces_ends_where_it_says(void **state)
{
	struct mlx5dv_devx_obj *obj;
	uint8_t in[KEY_LEN];
	struct two t;
	uint32_t key;

	make(&t, 5);
	/* fewer than the mailbox has room for */
	key_in(in, IFC_MKC_KLMS, 3);
	obj = make_key(in, &key);
	pair_pattern(rig.memory, 3 * PIECE, 9);
	assert_int_equal(write_to(&t, key, IOVA, 3 * PIECE), MLX5_CQE_REQ);
	check_pieces(3);
	assert_int_equal(write_to(&t, key, IOVA + 1, 3 * PIECE), MLX5_CQE_REQ_ERR);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	drop(&t);
}

/*
 * UCX makes keys of entries of 2 GiB, which begin before a region of a few pages and end behind it. Only
 * the bytes that are touched have to be memory.
 */
static void entries_may_reach_beyond_their_region(void **state)
{
	const uint64_t entry = 1ull << 31, start = (uintptr_t)rig.memory & ~(entry - 1);
	const uint64_t first = (uintptr_t)rig.memory - start;
	static const uint8_t ops[] = { MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_READ,
				       MLX5_OPCODE_ATOMIC_FA };
	uint8_t in[KEY_LEN], *mkc, *at = ifc_ptr(in, create_mkey_in, klm_pas_mtt);
	struct mlx5dv_devx_obj *obj;
	uint64_t count = 41;
	struct two t;
	uint32_t key;

	mkc = key_in(in, IFC_MKC_KSM, 2);
	ifc_set(mkc, mkc, log_page_size, 31);
	ifc_set(mkc, mkc, a, 1);
	ifc_set(mkc, mkc, len, first + RIG_MEMORY + 4096);
	for (int i = 0; i < 2; i++)
		ifc_set(at + 16 * (size_t)i, klm, address, start + i * entry);
	obj = make_key(in, &key);
	make(&t, 5);
	memset(rig.memory, 0, RIG_MEMORY);
	pair_pattern(rig.memory, PIECE, 9);
	assert_int_equal(write_to(&t, key, IOVA + first + RIG_MEMORY - PIECE, PIECE), MLX5_CQE_REQ);
	assert_true(pair_is_pattern(rig.memory + RIG_MEMORY - PIECE, PIECE, 9));
	memset(rig.memory, 0, PIECE);
	assert_int_equal(
		request(&t, MLX5_OPCODE_RDMA_READ, key, IOVA + first + RIG_MEMORY - PIECE, PIECE),
		MLX5_CQE_REQ);
	assert_true(pair_is_pattern(rig.memory, PIECE, 9));
	memcpy(rig.memory + 64, &count, 8);
	assert_int_equal(request(&t, MLX5_OPCODE_ATOMIC_FA, key, IOVA + first + 64, 8),
			 MLX5_CQE_REQ);
	memcpy(&count, rig.memory + 64, 8);
	assert_int_equal(count, 42);
	drop(&t);
	/* the key's bytes before and behind the region are none */
	for (size_t i = 0; i < sizeof(ops); i++) {
		uint64_t off = i == 1 ? first - 8 : first + RIG_MEMORY;

		make(&t, 5);
		assert_int_equal(request(&t, ops[i], key, IOVA + off, 8), MLX5_CQE_REQ_ERR);
		drop(&t);
	}
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

static void a_key_that_is_gone_is_of_no_use(void **state)
{
	struct mlx5dv_devx_obj *obj;
	uint8_t in[KEY_LEN];
	struct two t;
	uint32_t key;

	make(&t, 5);
	key_in(in, IFC_MKC_KSM, 2);
	obj = make_key(in, &key);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	assert_int_equal(write_to(&t, key, IOVA, 16), MLX5_CQE_REQ_ERR);
	drop(&t);
}

static void a_free_key_waits_for_a_request(void **state)
{
	RIG_IN(query, 0x10, QUERY_MKEY);
	uint8_t in[KEY_LEN], out[IFC_LEN_query_mkey_out + 16] = { 0 }, *mkc;
	struct mlx5dv_devx_obj *obj;
	struct two t;
	uint32_t key;

	make(&t, 5);
	mkc = key_in(in, IFC_MKC_KLMS, 0);
	ifc_set(mkc, mkc, free, 1);
	ifc_set(mkc, mkc, umr_en, 1);
	ifc_set(mkc, mkc, len, 0);
	ifc_set(in, create_mkey_in, translations_octword_actual_size, 0);
	obj = make_key(in, &key);
	ifc_set(query, query_mkey_in, mkey_index, key >> 8);
	assert_int_equal(mlx5dv_devx_obj_query(obj, query, sizeof(query), out, sizeof(out)), 0);
	mkc = ifc_ptr(out, query_mkey_out, memory_key_mkey_entry);
	assert_int_equal(ifc_get(mkc, mkc, umr_en), 1);
	assert_int_equal(write_to(&t, key, IOVA, 16), MLX5_CQE_REQ_ERR);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	drop(&t);
}

static uint8_t refused(const uint8_t *in, size_t len)
{
	uint8_t out[0x10] = { 0 };

	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, len, out, sizeof(out)));
	assert_int_equal(errno, EREMOTEIO);
	return ifc_get(out, cmd_out, status);
}

static void keys_that_cannot_be_are_refused(void **state)
{
	uint8_t in[KEY_LEN], *mkc;

	/* modes that are not there */
	key_in(in, IFC_MKC_PA, PIECES);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	mkc = key_in(in, 0, PIECES);
	ifc_set(mkc, mkc, access_mode_4_2, IFC_MKC_MEMIC >> 2);
	ifc_set(mkc, mkc, access_mode_1_0, IFC_MKC_MEMIC);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	/* more pieces than room, than the mailbox has, and fewer bytes than the key */
	mkc = key_in(in, IFC_MKC_KLMS, PIECES);
	ifc_set(mkc, mkc, translations_octword_size, 2);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	key_in(in, IFC_MKC_KLMS, PIECES);
	assert_int_equal(refused(in, sizeof(in) - 16), IFC_STATUS_BAD_INPUT_LEN);
	mkc = key_in(in, IFC_MKC_KSM, PIECES);
	ifc_set(mkc, mkc, len, PIECES * PIECE + 1);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	/* bytes without pieces, and a domain that does not exist */
	mkc = key_in(in, IFC_MKC_KLMS, PIECES);
	ifc_set(in, create_mkey_in, translations_octword_actual_size, 0);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	mkc = key_in(in, IFC_MKC_KLMS, PIECES);
	ifc_set(mkc, mkc, pd, 0xabcdef);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_RES);
}

/* ---- rings ---- */

static struct rig_umem new_ring(uint32_t size)
{
	struct rig_umem u = rig_umem(&rig, 64 * (size_t)size);

	for (uint32_t i = 0; i < size; i++)
		u.addr[64 * i + 63] = MLX5_CQE_INVALID << 4;
	return u;
}

static int resize(struct rig_cq *cq, const struct rig_umem *ring, uint32_t log_size, uint8_t *out)
{
	RIG_IN(in, ifc_len(modify_cq_in), MODIFY_CQ);
	uint8_t *cqc = ifc_ptr(in, modify_cq_in, cq_context);

	ifc_set(in, cmd_in, op_mod, IFC_MODIFY_CQ_RESIZE);
	ifc_set(in, modify_cq_in, cqn, cq->cqn);
	ifc_set(in, modify_cq_in, field_select,
		IFC_CQ_RESIZE_LOG_SIZE | IFC_CQ_RESIZE_PAGE_OFFSET | IFC_CQ_RESIZE_PAGE_SIZE);
	ifc_set(cqc, cqc, log_cq_size, log_size);
	ifc_set(in, modify_cq_in, cq_umem_valid, 1);
	ifc_set(in, modify_cq_in, cq_umem_id, ring->umem->umem_id);
	return mlx5dv_devx_obj_modify(cq->obj, in, sizeof(in), out, 0x10);
}

/* As a driver does it: takes along what comes before the mark, one place further on. */
static void change_ring(struct rig_cq *cq, uint8_t *to, uint32_t size)
{
	uint8_t *from = cq->umem.addr;
	uint32_t i = cq->ci;

	while (from[64 * (i & (cq->size - 1)) + 63] >> 4 != MLX5_CQE_RESIZE_CQ) {
		uint8_t *entry = to + 64 * ((i + 1) & (size - 1));

		memcpy(entry, from + 64 * (i & (cq->size - 1)), 64);
		entry[63] = (entry[63] & 0xf0) | !!((i + 1) & size);
		i++;
		assert_true(i - cq->ci <= cq->size);
	}
	cq->ci++;
	cq->size = size;
	cq->umem.addr = to;
}

static void a_queue_goes_on_in_a_ring_of_another_size(void **state)
{
	struct rig_umem old, ring = new_ring(64), small = new_ring(2);
	uint8_t out[0x10];
	uint16_t counter = 0;
	struct rig_cq last;
	struct two t;

	make(&t, 3);
	/* around the small one, then some that stay */
	for (int i = 0; i < 21; i++) {
		rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		assert_int_equal(be16toh(rig_cq_wait(&t.cq)->wqe_counter), counter++);
		rig_cq_take(&t.cq);
	}
	for (int i = 0; i < 5; i++)
		rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
	last = t.cq;
	last.ci += 4;
	rig_cq_wait(&last);
	assert_int_equal(resize(&t.cq, &small, 1, out), EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_CQ_SIZE);
	old = t.cq.umem;
	assert_int_equal(resize(&t.cq, &ring, 6, out), 0);
	change_ring(&t.cq, ring.addr, 64);
	for (int i = 0; i < 5; i++) {
		assert_true(rig_cq_ready(&t.cq));
		assert_int_equal(be16toh(rig_cq_wait(&t.cq)->wqe_counter), counter++);
		rig_cq_take(&t.cq);
	}
	for (int i = 0; i < 200; i++) {
		rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		assert_int_equal(be16toh(rig_cq_wait(&t.cq)->wqe_counter), counter++);
		rig_cq_take(&t.cq);
	}
	/* the ring is in use, and the old one holds the record still */
	assert_int_equal(mlx5dv_devx_umem_dereg(ring.umem), EBUSY);
	assert_int_equal(mlx5dv_devx_umem_dereg(old.umem), EBUSY);
	t.cq.umem = old;
	drop(&t);
	rig_umem_drop(&ring);
	rig_umem_drop(&small);
}

static int setup(void **state)
{
	rig_open(&rig);
	return 0;
}

static int teardown(void **state)
{
	rig_close(&rig);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_key_of_pieces_spreads_what_is_written),
		TEST(a_key_of_pieces_ends_where_it_says),
		TEST(entries_may_reach_beyond_their_region),
		TEST(a_key_that_is_gone_is_of_no_use),
		TEST(a_free_key_waits_for_a_request),
		TEST(keys_that_cannot_be_are_refused),
		TEST(a_queue_goes_on_in_a_ring_of_another_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
