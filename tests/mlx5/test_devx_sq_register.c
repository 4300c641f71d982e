/* SPDX-License-Identifier: BSD-2-Clause */
/* Send queues without a doorbell record: the word in the page's register says what was posted. */
#include "devx_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct rig rig;

/* The first one, which sends, has no record. */
struct two {
	struct rig_cq cq[2];
	struct rig_qp qp[2];
};

static void make(struct two *t)
{
	for (int i = 0; i < 2; i++)
		rig_cq(&rig, 5, rig.eqn, &t->cq[i]);
	rig_qp_without_record(&rig, 4, 3, &t->cq[0], &t->qp[0]);
	rig_qp(&rig, 4, 3, 0, &t->cq[1], &t->qp[1]);
	rig_connect(&t->qp[0], &t->qp[1]);
}

static void drop(struct two *t)
{
	for (int i = 0; i < 2; i++) {
		rig_qp_drop(&t->qp[i]);
		rig_cq_drop(&t->cq[i]);
	}
}

static void expect(struct rig_cq *cq, uint8_t opcode, uint16_t counter)
{
	const struct mlx5_cqe64 *cqe = rig_cq_wait(cq);

	assert_int_equal(cqe->op_own >> 4, opcode);
	assert_int_equal(be16toh(cqe->wqe_counter), counter);
	rig_cq_take(cq);
}

static void store(uint32_t index, uint32_t qpn, uint32_t ds)
{
	uint64_t word = (uint64_t)(index & 0xffff) << 40 | qpn << 8 | ds;

	__atomic_store_n((uint64_t *)((uint8_t *)rig.uar->base_addr + IFC_UAR_SQ), htobe64(word),
			 __ATOMIC_RELEASE);
}

/* Writes an entry without telling the adapter. */
static void write_entry(struct rig_qp *qp, uint32_t remote_off)
{
	uint8_t *at = qp->sq + 64 * (size_t)(qp->post & (qp->sq_size - 1));
	struct mlx5_wqe_raddr_seg *raddr = (void *)(at + 16);

	*raddr = (struct mlx5_wqe_raddr_seg){ .raddr = htobe64((uintptr_t)rig.memory + remote_off),
					      .rkey = htobe32(rig.mr->rkey) };
	mlx5dv_set_data_seg((void *)(at + 32), 64, rig.mr->lkey, (uintptr_t)rig.memory);
	mlx5dv_set_ctrl_seg((void *)at, qp->post & 0xffff, MLX5_OPCODE_RDMA_WRITE, 0, qp->qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	qp->post++;
}

static void messages_go_around_the_ring_and_no_record_is_touched(void **state)
{
	struct two t;

	make(&t);
	t.qp[0].db[MLX5_SND_DBR] = 0x55aa55aa;
	for (uint32_t i = 0; i < 100; i++) {
		memset(rig.memory, (int)i, 64);
		rig_recv(&t.qp[1], 4096, 64);
		rig_send(&t.qp[0], MLX5_OPCODE_SEND, 0, 64, 0);
		expect(&t.cq[1], MLX5_CQE_RESP_SEND, (uint16_t)i);
		expect(&t.cq[0], MLX5_CQE_REQ, (uint16_t)i);
		assert_memory_equal(rig.memory + 4096, rig.memory, 64);
	}
	assert_int_equal(t.qp[0].db[MLX5_SND_DBR], 0x55aa55aa);
	drop(&t);
}

/* The peer's doorbells have the adapter look. */
static void write_from_the_peer(struct two *t, uint16_t count)
{
	for (uint16_t i = 0; i < count; i++) {
		uint16_t counter = (uint16_t)t->qp[1].post;

		rig_send(&t->qp[1], MLX5_OPCODE_RDMA_WRITE, 0, 64, 12288);
		expect(&t->cq[1], MLX5_CQE_REQ, counter);
	}
}

static void one_word_announces_several_entries(void **state)
{
	struct two t;

	make(&t);
	for (uint32_t i = 0; i < 3; i++)
		write_entry(&t.qp[0], 8192);
	store(2, t.qp[0].qpn, 3);
	for (uint16_t i = 0; i < 3; i++)
		expect(&t.cq[0], MLX5_CQE_REQ, i);
	/* The index of the next entry, and no length. */
	write_entry(&t.qp[0], 8192);
	write_entry(&t.qp[0], 8192);
	store(4, t.qp[0].qpn, 0);
	expect(&t.cq[0], MLX5_CQE_REQ, 3);
	write_from_the_peer(&t, 10);
	assert_false(rig_cq_ready(&t.cq[0]));
	store(5, t.qp[0].qpn, 0);
	expect(&t.cq[0], MLX5_CQE_REQ, 4);
	drop(&t);
}

static void words_for_other_queues_announce_nothing(void **state)
{
	struct two t;

	make(&t);
	write_entry(&t.qp[0], 8192);
	store(0, t.qp[0].qpn ^ 1, 3);
	write_from_the_peer(&t, 10);
	assert_false(rig_cq_ready(&t.cq[0]));
	store(0, t.qp[0].qpn, 3);
	expect(&t.cq[0], MLX5_CQE_REQ, 0);
	drop(&t);
}

static void a_reset_forgets_what_was_posted_before(void **state)
{
	uint8_t out[ifc_len(modify_qp_out)];
	struct two t;

	make(&t);
	for (uint16_t i = 0; i < 3; i++) {
		rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 16384);
		expect(&t.cq[0], MLX5_CQE_REQ, i);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(rig_modify(&t.qp[i], IFC_OP_2RST_QP, 0, out), 0);
	t.qp[0].post = t.qp[1].post = 0;
	rig_connect(&t.qp[0], &t.qp[1]);
	write_from_the_peer(&t, 10);
	assert_false(rig_cq_ready(&t.cq[0]));
	rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 16384);
	expect(&t.cq[0], MLX5_CQE_REQ, 0);
	drop(&t);
}

static void a_page_may_be_freed_before_its_queue(void **state)
{
	struct mlx5dv_devx_uar *first = rig.uar;
	struct rig_cq cq;
	struct rig_qp qp;

	rig_cq(&rig, 5, rig.eqn, &cq);
	rig.uar = mlx5dv_devx_alloc_uar(rig.ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	assert_non_null(rig.uar);
	rig_qp_without_record(&rig, 4, 3, &cq, &qp);
	mlx5dv_devx_free_uar(rig.uar);
	rig.uar = first;
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
}

/* The status that a command for another queue on this page gets. */
static uint8_t try_mode(const struct two *t, uint8_t mode)
{
	uint8_t out[ifc_len(create_qp_out)] = { 0 };
	struct rig_umem umem = rig_umem(&rig, 16384);
	RIG_IN(in, ifc_len(create_qp_in), CREATE_QP);
	uint8_t *qpc = ifc_ptr(in, create_qp_in, qpc);
	struct mlx5dv_devx_obj *obj;

	ifc_set(qpc, qpc, st, IFC_QP_ST_RC);
	ifc_set(qpc, qpc, pd, rig.pdn);
	ifc_set(qpc, qpc, uar_page, rig.uar->page_id);
	ifc_set(qpc, qpc, cqn_snd, t->cq[0].cqn);
	ifc_set(qpc, qpc, cqn_rcv, t->cq[0].cqn);
	ifc_set(qpc, qpc, log_sq_size, 4);
	ifc_set(qpc, qpc, log_rq_size, 3);
	ifc_set(qpc, qpc, dbr_umem_valid, 1);
	ifc_set(qpc, qpc, dbr_umem_id, umem.umem->umem_id);
	ifc_set(qpc, qpc, dbr_addr, 8192);
	ifc_set(qpc, qpc, send_dbr_mode, mode);
	ifc_set(in, create_qp_in, wq_umem_valid, 1);
	ifc_set(in, create_qp_in, wq_umem_id, umem.umem->umem_id);
	obj = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out));
	if (obj)
		assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	rig_umem_drop(&umem);
	return ifc_get(out, cmd_out, status);
}

/* The capability that tells whether records can be left out. */
static bool is_offered(void)
{
	uint8_t out[ifc_len(query_hca_cap_out)];
	RIG_IN(in, ifc_len(query_hca_cap_in), QUERY_HCA_CAP);
	const void *cap = ifc_cptr(out, query_hca_cap_out, capability);

	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(IFC_CAP_GENERAL_2, true));
	assert_int_equal(mlx5dv_devx_general_cmd(rig.ctx, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(cap, cmd_hca_cap_2, send_dbr_mode_no_dbr_int), 0);
	return ifc_get(cap, cmd_hca_cap_2, send_dbr_mode_no_dbr_ext);
}

static void a_page_has_one_such_queue(void **state)
{
	struct two t;

	assert_true(is_offered());
	make(&t);
	assert_int_equal(try_mode(&t, IFC_DBR_VALID), 0);
	assert_int_equal(try_mode(&t, IFC_DBR_NONE_EXT), IFC_STATUS_RES_BUSY);
	rig_qp_drop(&t.qp[0]);
	assert_int_equal(try_mode(&t, IFC_DBR_NONE_EXT), 0);
	assert_int_equal(try_mode(&t, IFC_DBR_NONE_INT), IFC_STATUS_BAD_PARAM);
	assert_int_equal(try_mode(&t, 3), IFC_STATUS_BAD_PARAM);
	rig_qp_drop(&t.qp[1]);
	rig_cq_drop(&t.cq[0]);
	rig_cq_drop(&t.cq[1]);
}

static int setup(void **state)
{
	rig_open(&rig);
	return 0;
}

static int setup_older(void **state)
{
	rig_open_device(&rig, "mlx5_1");
	return 0;
}

static int teardown(void **state)
{
	rig_close(&rig);
	return 0;
}

static void older_models_need_a_record(void **state)
{
	struct two t;

	assert_false(is_offered());
	rig_cq(&rig, 5, rig.eqn, &t.cq[0]);
	assert_int_equal(try_mode(&t, IFC_DBR_VALID), 0);
	assert_int_equal(try_mode(&t, IFC_DBR_NONE_EXT), IFC_STATUS_BAD_PARAM);
	rig_cq_drop(&t.cq[0]);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(messages_go_around_the_ring_and_no_record_is_touched),
		T(one_word_announces_several_entries),
		T(words_for_other_queues_announce_nothing),
		T(a_reset_forgets_what_was_posted_before),
		T(a_page_may_be_freed_before_its_queue),
		T(a_page_has_one_such_queue),
		cmocka_unit_test_setup_teardown(older_models_need_a_record, setup_older, teardown),
	};

	setenv("VERBENA_ADAPTERS", "mlx5_0,model=ConnectX-7;mlx5_1,model=ConnectX-6-Dx", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
