/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tag matching by hand: an XRQ that a device command made, changes of its list as WQEs of a queue pair that receives
 * through it, and CQEs as the adapter writes them.
 */
#include "devx_frames.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum {
	SLOTS = 8,
	STRIDE = 32,
	RECORD = SLOTS * STRIDE,
	PIECE = 256,
	PLAIN = 4096,
	TAGGED = 16384,
	INDEX = 0x4321,
	LOG_LIST = 4,
};

/* Bits of the tag matching segment. */
enum { OP_NOP = 0x00, OP_APPEND = 0x10, OP_REMOVE = 0x20 };
enum { SW_CNT = 1 << 6, CQE_REQ = 1 << 7 };
/* app_op of CQEs. */
enum { UNEXPECTED = 3, NO_TAG = 4, APPENDED = 5, REMOVED = 6, NOOP = 7, CONSUMED_MSG = 0xa };

static struct rig rig;

struct xrq {
	struct rig_umem umem;
	struct mlx5dv_devx_obj *obj;
	uint32_t number, posted;
	struct rig_cq cq;
	struct rig_qp qp; /* sends to itself, and changes the list */
};

static void fill_command(struct xrq *x, uint8_t *in, unsigned int type)
{
	uint8_t *ctx = ifc_ptr(in, create_xrq_in, xrq_context), *wq = ifc_ptr(ctx, xrqc, wq);
	uint8_t *tm = ifc_ptr(ctx, xrqc, tag_matching_topology_context);

	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_XRQ);
	ifc_set(ctx, xrqc, topology, IFC_XRQ_TAG_MATCHING);
	ifc_set(ctx, xrqc, offload, 1);
	ifc_set(ctx, xrqc, user_index, INDEX);
	ifc_set(ctx, xrqc, cqn, x->cq.cqn);
	ifc_set(tm, tag_matching_topology_context, log_matching_list_sz, LOG_LIST);
	ifc_set(wq, wq, wq_type, type);
	ifc_set(wq, wq, log_wq_stride, 5);
	ifc_set(wq, wq, log_wq_sz, 3);
	ifc_set(wq, wq, pd, rig.pdn);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, x->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, x->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, RECORD);
}

static void make(struct xrq *x, unsigned int type)
{
	uint8_t in[ifc_len(create_xrq_in)] = { 0 };

	*x = (struct xrq){ .umem = rig_umem(&rig, RECORD + 64) };
	rig_cq(&rig, 6, rig.eqn, &x->cq);
	fill_command(x, in, type);
	x->obj = frames_create(&rig, in, sizeof(in), &x->number);
	for (unsigned int i = 0; i < SLOTS; i++) {
		struct mlx5_wqe_srq_next_seg *link = (void *)(x->umem.addr + STRIDE * i);

		link->next_wqe_index = htobe16((i + 1) & (SLOTS - 1));
	}
	rig_qp(&rig, 4, 3, x->number, &x->cq, &x->qp);
	rig_connect(&x->qp, &x->qp);
}

static void drop(struct xrq *x)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(x->obj), EBUSY);
	rig_qp_drop(&x->qp);
	assert_int_equal(mlx5dv_devx_obj_destroy(x->obj), 0);
	rig_cq_drop(&x->cq);
	rig_umem_drop(&x->umem);
}

static void post_plain(struct xrq *x)
{
	uint32_t slot = x->posted++ % SLOTS;

	mlx5dv_set_data_seg((void *)(x->umem.addr + STRIDE * (size_t)slot + 16), PIECE,
			    rig.mr->lkey, (uintptr_t)rig.memory + PLAIN + PIECE * (size_t)slot);
	__atomic_store_n((uint32_t *)(x->umem.addr + RECORD), htobe32(x->posted & 0xffff),
			 __ATOMIC_RELEASE);
}

/* A change of the list; an append is of a buffer for `tag`, and names the entry after it. */
static void change(struct xrq *x, uint8_t op, uint8_t flags, uint16_t index, uint16_t count,
		   uint64_t tag)
{
	struct rig_qp *qp = &x->qp;
	uint8_t *at = qp->sq + 64 * (size_t)(qp->post & (qp->sq_size - 1));
	struct mlx5_wqe_tm_seg *tm = (void *)(at + 16);

	memset(at, 0, 64);
	tm->opcode = op;
	tm->flags = flags;
	tm->index = htobe16(index);
	tm->sw_cnt = htobe16(count);
	tm->append_tag = htobe64(tag);
	tm->append_mask = htobe64(UINT64_MAX);
	mlx5dv_set_data_seg((void *)(at + 48), PIECE, rig.mr->lkey,
			    (uintptr_t)rig.memory + TAGGED + PIECE * (size_t)tag);
	mlx5dv_set_ctrl_seg((void *)at, qp->post & 0xffff, MLX5_OPCODE_TAG_MATCHING, 0, qp->qpn, 0,
			    op == OP_APPEND ? 4 : 3, 0, 0);
	qp->post++;
	rig_ring(qp);
}

static void send_tagged(struct xrq *x, uint8_t kind, uint64_t tag, uint32_t len)
{
	struct ibv_tmh *tmh = (void *)rig.memory;

	*tmh = (struct ibv_tmh){ .opcode = kind, .app_ctx = htobe32(9), .tag = htobe64(tag) };
	pair_pattern(rig.memory + sizeof(*tmh), len, (uint8_t)tag);
	rig_send(&x->qp, MLX5_OPCODE_SEND, 0, sizeof(*tmh) + len, 0);
}

/* The next CQE, which is of tag matching; a copy. */
static struct mlx5_cqe64 expect(struct xrq *x, uint8_t opcode, uint8_t app_op)
{
	struct mlx5_cqe64 cqe = *rig_cq_wait(&x->cq);

	assert_int_equal(mlx5dv_get_cqe_opcode(&cqe), opcode);
	assert_int_equal(cqe.app, 1);
	assert_int_equal(cqe.app_op, app_op);
	assert_int_equal(be32toh(cqe.srqn_uidx), INDEX);
	assert_int_equal(be32toh(cqe.sop_drop_qpn) & 0xffffff, x->qp.qpn);
	rig_cq_take(&x->cq);
	return cqe;
}

static void expect_sent(struct xrq *x)
{
	assert_int_equal(mlx5dv_get_cqe_opcode((void *)rig_cq_wait(&x->cq)), MLX5_CQE_REQ);
	rig_cq_take(&x->cq);
}

static void use(unsigned int type)
{
	uint8_t in[16] = { 0 }, out[ifc_len(query_xrq_out)] = { 0 };
	uint8_t *ctx = ifc_ptr(out, query_xrq_out, xrq_context);
	uint8_t *tm = ifc_ptr(ctx, xrqc, tag_matching_topology_context);
	struct mlx5_cqe64 cqe;
	struct xrq x;

	make(&x, type);
	for (uint16_t i = 0; i < 3; i++) {
		change(&x, OP_APPEND, CQE_REQ | SW_CNT, i + 1, 0, i);
		cqe = expect(&x, MLX5_CQE_NO_PACKET, APPENDED);
		assert_int_equal(be32toh(cqe.tm_cqe.success), MLX5_TMC_SUCCESS);
		assert_int_equal(be16toh(cqe.tm_cqe.hw_phase_cnt), 0);
	}
	send_tagged(&x, IBV_TMH_EAGER, 1, 100);
	cqe = expect(&x, MLX5_CQE_RESP_SEND, CONSUMED_MSG);
	assert_int_equal(be16toh(cqe.app_info), 1);
	assert_int_equal(be32toh(cqe.byte_cnt), 100);
	assert_memory_equal(&cqe.tmh, rig.memory, sizeof(cqe.tmh));
	assert_true(pair_is_pattern(rig.memory + TAGGED + PIECE, 100, 1));
	expect_sent(&x);

	post_plain(&x);
	send_tagged(&x, IBV_TMH_EAGER, 1, 100); /* once more: there is none for it */
	cqe = expect(&x, MLX5_CQE_RESP_SEND, UNEXPECTED);
	assert_int_equal(be32toh(cqe.byte_cnt), 116);
	assert_int_equal(be16toh(cqe.wqe_counter), 0);
	assert_memory_equal(rig.memory + PLAIN, rig.memory, 116);
	expect_sent(&x);
	post_plain(&x);
	send_tagged(&x, IBV_TMH_NO_TAG, 1, 10);
	assert_int_equal(be16toh(expect(&x, MLX5_CQE_RESP_SEND, NO_TAG).wqe_counter), 1);
	expect_sent(&x);

	change(&x, OP_REMOVE, CQE_REQ, 1, 0, 0); /* a message has taken it */
	cqe = expect(&x, MLX5_CQE_NO_PACKET, REMOVED);
	assert_int_equal(be32toh(cqe.tm_cqe.success), 0);
	assert_int_equal(be16toh(cqe.tm_cqe.hw_phase_cnt), 1);
	change(&x, OP_REMOVE, 0, 0, 0, 0); /* without a completion */
	change(&x, OP_NOP, CQE_REQ | SW_CNT, 0, 1, 0);
	expect(&x, MLX5_CQE_NO_PACKET, NOOP);
	ifc_set(in, cmd_in, opcode, IFC_OP_QUERY_XRQ);
	ifc_set(in, obj_in, number, x.number);
	assert_int_equal(mlx5dv_devx_obj_query(x.obj, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(tm, tag_matching_topology_context, append_next_index), 3);
	assert_int_equal(ifc_get(tm, tag_matching_topology_context, hw_phase_cnt), 1);
	assert_int_equal(ifc_get(tm, tag_matching_topology_context, sw_phase_cnt), 1);
	assert_int_equal(ifc_get(ctx, xrqc, user_index), INDEX);
	drop(&x);
}

static void changes_and_messages_complete_as_cqes(void **state)
{
	use(IFC_WQ_LINKED_LIST);
	use(IFC_WQ_CYCLIC);
}

static void a_change_that_means_nothing_fails_the_queue_pair(void **state)
{
	static const struct {
		uint8_t op;
		uint16_t index;
	} wrong[] = { { 0x30, 0 }, { OP_APPEND, 1 << LOG_LIST } };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct mlx5_err_cqe *err;
		struct xrq x;

		make(&x, IFC_WQ_LINKED_LIST);
		change(&x, wrong[i].op, CQE_REQ, wrong[i].index, 0, 0);
		err = (const void *)rig_cq_wait(&x.cq);
		assert_int_equal(mlx5dv_get_cqe_opcode((void *)err), MLX5_CQE_REQ_ERR);
		assert_int_equal(err->syndrome, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
		rig_cq_take(&x.cq);
		assert_int_equal(rig_qp_state(&x.qp), IFC_QP_ERR);
		drop(&x);
	}
}

static void expect_refused(uint8_t *in)
{
	uint8_t out[16] = { 0 };

	errno = 0;
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, ifc_len(create_xrq_in), out, sizeof(out)));
	assert_int_equal(errno, EREMOTEIO);
	assert_int_equal(out[0], IFC_STATUS_BAD_PARAM);
}

static void shapes_that_are_not_offered_are_refused(void **state)
{
	uint8_t in[ifc_len(create_xrq_in)], *ctx = ifc_ptr(in, create_xrq_in, xrq_context);
	struct xrq x = { .umem = rig_umem(&rig, RECORD + 64) };

	rig_cq(&rig, 6, rig.eqn, &x.cq);
	memset(in, 0, sizeof(in));
	fill_command(&x, in, IFC_WQ_CYCLIC_STRIDING);
	expect_refused(in);
	memset(in, 0, sizeof(in));
	fill_command(&x, in, IFC_WQ_CYCLIC);
	ifc_set(ctx, xrqc, topology, 0);
	expect_refused(in);
	memset(in, 0, sizeof(in));
	fill_command(&x, in, IFC_WQ_CYCLIC);
	ifc_set(ifc_ptr(ctx, xrqc, tag_matching_topology_context), tag_matching_topology_context,
		log_matching_list_sz, 8);
	expect_refused(in);
	rig_cq_drop(&x.cq);
	rig_umem_drop(&x.umem);
}

/* UCX makes an XRQ with strides where a device has a few of them, without looking for more. */
static void strides_are_neither_offered_nor_told_of(void **state)
{
	static uint8_t out[ifc_len(query_hca_cap_out)];
	RIG_IN(query, ifc_len(query_hca_cap_in), QUERY_HCA_CAP);
	uint8_t in[ifc_len(create_xrq_in)] = { 0 };
	struct xrq x = { .umem = rig_umem(&rig, RECORD + 64) };

	ifc_set(query, cmd_in, op_mod, IFC_CAP_OP_MOD(IFC_CAP_GENERAL, true));
	assert_int_equal(mlx5dv_devx_general_cmd(rig.ctx, query, sizeof(query), out, sizeof(out)),
			 0);
	assert_int_equal(ifc_get(ifc_cptr(out, query_hca_cap_out, capability), cmd_hca_cap,
				 ext_stride_num_range),
			 0);
	rig_cq(&rig, 6, rig.eqn, &x.cq);
	for (unsigned int type = 2; type < 4; type++) {
		fill_command(&x, in, type);
		expect_refused(in);
	}
	rig_cq_drop(&x.cq);
	rig_umem_drop(&x.umem);
}

static void commands_that_change_an_xrq(void **state)
{
	uint8_t in[0x40] = { 0 }, out[16];
	struct xrq x;

	make(&x, IFC_WQ_CYCLIC);
	ifc_set(in, cmd_in, opcode, IFC_OP_ARM_XRQ);
	ifc_set(in, arm_xrq_in, xrqn, x.number);
	ifc_set(in, arm_xrq_in, lwm, 2);
	assert_int_equal(mlx5dv_devx_obj_modify(x.obj, in, 16, out, sizeof(out)), 0);
	memset(in, 0, sizeof(in));
	ifc_set(in, cmd_in, opcode, IFC_OP_SET_XRQ_DC_PARAMS_ENTRY);
	ifc_set(in, obj_in, number, x.number);
	assert_int_equal(mlx5dv_devx_obj_modify(x.obj, in, sizeof(in), out, sizeof(out)), 0);
	drop(&x);
}

static int open_all(void **state)
{
	rig_open(&rig);
	return 0;
}

static int close_all(void **state)
{
	rig_close(&rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_and_messages_complete_as_cqes),
		cmocka_unit_test(a_change_that_means_nothing_fails_the_queue_pair),
		cmocka_unit_test(shapes_that_are_not_offered_are_refused),
		cmocka_unit_test(strides_are_neither_offered_nor_told_of),
		cmocka_unit_test(commands_that_change_an_xrq),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
