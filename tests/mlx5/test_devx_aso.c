/* SPDX-License-Identifier: BSD-2-Clause */
/* ASO objects made by commands, read and changed by requests of a send queue. */
#include "devx_frames.h"

#include <errno.h>

enum { LOG_SQ = 3, ACCESS_ASO = 0x2d, CT = 1, METER = 2, HITS = 4, READ = 1 };
enum { BITWISE = 0, BYTEWISE = 1, ALWAYS = 1, EQUAL = 2 };

static struct rig rig;

static struct {
	struct rig_cq cq;
	struct rig_qp qp;
} sq;

static void change_state(unsigned int from, unsigned int to)
{
	RIG_IN(in, ifc_len(modify_sq_in), MODIFY_SQ);
	uint8_t out[0x10];

	ifc_set(in, modify_sq_in, sqn, sq.qp.qpn);
	ifc_set(in, modify_sq_in, sq_state, from);
	ifc_set(ifc_ptr(in, modify_sq_in, ctx), sqc, state, to);
	assert_int_equal(mlx5dv_devx_obj_modify(sq.qp.obj, in, sizeof(in), out, sizeof(out)), 0);
}

static int make(void **state)
{
	RIG_IN(in, ifc_len(create_sq_in), CREATE_SQ);
	uint8_t *ctx = ifc_ptr(in, create_sq_in, ctx), *wq = ifc_ptr(ctx, sqc, wq);

	memset(&sq, 0, sizeof(sq));
	rig_cq(&rig, LOG_SQ + 1, rig.eqn, &sq.cq);
	sq.qp.rig = &rig;
	sq.qp.umem = rig_umem(&rig, (64 << LOG_SQ) + 64);
	sq.qp.sq = sq.qp.umem.addr;
	sq.qp.sq_size = 1 << LOG_SQ;
	sq.qp.db = (void *)(sq.qp.umem.addr + (64 << LOG_SQ));
	ifc_set(ctx, sqc, cqn, sq.cq.cqn);
	ifc_set(wq, wq, wq_type, IFC_WQ_CYCLIC);
	ifc_set(wq, wq, pd, rig.pdn);
	ifc_set(wq, wq, uar_page, rig.uar->page_id);
	ifc_set(wq, wq, log_wq_stride, 6);
	ifc_set(wq, wq, log_wq_sz, LOG_SQ);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, sq.qp.umem.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, sq.qp.umem.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, 64 << LOG_SQ);
	sq.qp.obj = frames_create(&rig, in, sizeof(in), &sq.qp.qpn);
	change_state(IFC_WQ_RST, IFC_WQ_RDY);
	return 0;
}

static int drop(void **state)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(sq.qp.obj), 0);
	rig_umem_drop(&sq.qp.umem);
	rig_cq_drop(&sq.cq);
	return 0;
}

static uint8_t *object_in(uint8_t *in, size_t len, unsigned int type, unsigned int log)
{
	uint8_t *body = in + IFC_LEN_general_obj_in_cmd_hdr;

	memset(in, 0, len);
	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_GENERAL_OBJECT);
	ifc_set(in, general_obj_in_cmd_hdr, obj_type, type);
	ifc_set(in, general_obj_in_cmd_hdr, log_obj_range, log);
	ifc_set(body, aso_object, access_pd, rig.pdn);
	return body;
}

#define OBJECT_LEN (IFC_LEN_general_obj_in_cmd_hdr + IFC_LEN_aso_object)

static struct mlx5dv_devx_obj *object(unsigned int type, unsigned int log, uint8_t fill,
				      uint32_t *id)
{
	uint8_t in[OBJECT_LEN], out[0x10] = { 0 };
	uint8_t *body = object_in(in, sizeof(in), type, log);
	struct mlx5dv_devx_obj *o;

	memset(body + ifc_byte(aso_object, context), fill, 64);
	o = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(o);
	*id = ifc_get(out, general_obj_out_cmd_hdr, obj_id);
	return o;
}

/* The request's ASO control segment and data, at the ring's next block. */
static uint8_t *next_wqe(uint8_t wqe[128], uint32_t id, unsigned int opmod, unsigned int ds)
{
	memset(wqe, 0, 128);
	ifc_store(wqe, 0, 8, opmod);
	ifc_store(wqe, 8, 16, sq.qp.post & 0xffff);
	ifc_store(wqe, 24, 8, ACCESS_ASO);
	ifc_store(wqe, 32, 24, sq.qp.qpn);
	ifc_store(wqe, 56, 8, ds);
	wqe[11] = 8; /* a completion */
	ifc_store(wqe, 96, 32, id);
	ifc_set(wqe + 16, aso_ctrl_seg, condition_0_operand, ALWAYS);
	ifc_set(wqe + 16, aso_ctrl_seg, condition_1_operand, ALWAYS);
	ifc_set(wqe + 16, aso_ctrl_seg, data_mask_mode, BYTEWISE);
	return wqe + 16;
}

static void read_to(uint8_t *seg, uint32_t off)
{
	ifc_set(seg, aso_ctrl_seg, va, ((uintptr_t)rig.memory + off) | READ);
	ifc_set(seg, aso_ctrl_seg, l_key, rig.mr->lkey);
}

/* Posts, and the completion's opcode: 0 is a good one, 13 an error. */
static unsigned int run(const uint8_t *wqe, unsigned int blocks)
{
	const struct mlx5_cqe64 *cqe;
	unsigned int opcode;

	for (unsigned int i = 0; i < blocks; i++)
		memcpy(sq.qp.sq + 64 * ((sq.qp.post + i) % sq.qp.sq_size), wqe + 64 * i, 64);
	sq.qp.post += blocks;
	rig_ring(&sq.qp);
	cqe = rig_cq_wait(&sq.cq);
	opcode = mlx5dv_get_cqe_opcode((void *)cqe);
	rig_cq_take(&sq.cq);
	return opcode;
}

static void a_context_is_read_and_written(void **state)
{
	static const unsigned int types[] = { IFC_OBJ_ASO_CT, IFC_OBJ_ASO_FLOW_METER,
					      IFC_OBJ_ASO_FIRST_HIT };
	static const unsigned int mods[] = { CT, METER, HITS };

	for (unsigned int i = 0; i < 3; i++) {
		struct mlx5dv_devx_obj *obj;
		uint8_t wqe[128], *seg;
		uint32_t id;

		obj = object(types[i], 2, 0x11, &id);
		seg = next_wqe(wqe, id + 3, mods[i], 8);
		memset(seg + 48, 0xab, 64);
		read_to(seg, 64);
		ifc_set(seg, aso_ctrl_seg, data_mask,
			0xf000000000000001); /* bytes 0 to 3, and 63 */
		memset(rig.memory, 0, 256);
		assert_int_equal(run(wqe, 2), 0);
		assert_int_equal(rig.memory[64], 0x11); /* as it was */
		assert_int_equal(rig.memory[63], 0);
		assert_int_equal(rig.memory[128], 0);
		seg = next_wqe(wqe, id + 3, mods[i], 4);
		read_to(seg, 64);
		assert_int_equal(run(wqe, 1), 0);
		assert_int_equal(rig.memory[64], 0xab);
		assert_int_equal(rig.memory[67], 0xab);
		assert_int_equal(rig.memory[68], 0x11);
		assert_int_equal(rig.memory[127], 0xab);
		seg = next_wqe(wqe, id + 2, mods[i], 4); /* its neighbour is as it was */
		read_to(seg, 64);
		assert_int_equal(run(wqe, 1), 0);
		assert_int_equal(rig.memory[64], 0x11);
		assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	}
}

static void bits_change_under_conditions(void **state)
{
	uint8_t wqe[128], *seg;
	uint32_t id;
	struct mlx5dv_devx_obj *obj = object(IFC_OBJ_ASO_CT, 0, 0x22, &id);

	for (unsigned int i = 0; i < 3; i++) {
		seg = next_wqe(wqe, id, CT, 4);
		ifc_set(seg, aso_ctrl_seg, data_mask_mode, BITWISE);
		ifc_set(seg, aso_ctrl_seg, condition_0_operand, EQUAL);
		ifc_set(seg, aso_ctrl_seg, condition_0_offset, 5);
		ifc_set(seg, aso_ctrl_seg, condition_0_mask, 0xffff);
		ifc_set(seg, aso_ctrl_seg, condition_0_data, i == 1 ? 0x12342222 : 0x2223);
		ifc_set(seg, aso_ctrl_seg, data_offset, 4);
		ifc_set(seg, aso_ctrl_seg, bitwise_data, UINT64_MAX);
		ifc_set(seg, aso_ctrl_seg, data_mask, 0x00000000000000f0);
		read_to(seg, 0);
		assert_int_equal(run(wqe, 1), 0);
		assert_int_equal(rig.memory[4 * 4 + 7], i == 2 ? 0xf2 : 0x22);
		assert_int_equal(rig.memory[4 * 4 + 6], 0x22);
	}
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

/* Requests of two blocks wrap around the ring's end. */
static void requests_wrap_around(void **state)
{
	uint8_t wqe[128], *seg;
	uint32_t id;
	struct mlx5dv_devx_obj *obj = object(IFC_OBJ_ASO_FIRST_HIT, 0, 0, &id);

	seg = next_wqe(wqe, id, HITS, 4);
	read_to(seg, 0);
	assert_int_equal(run(wqe, 1), 0);
	for (unsigned int i = 0; i < 20; i++) {
		seg = next_wqe(wqe, id, HITS, 8);
		memset(seg + 48, i + 1, 64);
		ifc_set(seg, aso_ctrl_seg, data_mask, UINT64_MAX);
		read_to(seg, 0);
		assert_int_equal(run(wqe, 2), 0);
		assert_int_equal(rig.memory[0], i);
		assert_int_equal(rig.memory[63], i);
	}
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

/* Each needs a queue of its own, which is in error afterwards. */
static void impossible_accesses_are_errors(void **state)
{
	struct mlx5dv_devx_obj *obj;
	uint32_t id;

	obj = object(IFC_OBJ_ASO_CT, 0, 0, &id);
	for (unsigned int i = 0; i < 7; i++) {
		uint8_t wqe[128], *seg;

		make(NULL);
		seg = next_wqe(wqe, i == 0 ? id + 1 : id,
			       i == 1   ? METER
			       : i == 2 ? 0
					: CT,
			       i == 3 ? 3 : 4);
		read_to(seg, 0);
		if (i == 4)
			ifc_set(seg, aso_ctrl_seg, l_key, 0x12345);
		if (i == 5)
			ifc_set(seg, aso_ctrl_seg, data_mask_mode, 2);
		if (i == 6) {
			ifc_set(seg, aso_ctrl_seg, data_mask_mode, BITWISE);
			ifc_set(seg, aso_ctrl_seg, data_offset, 15);
		}
		assert_int_equal(run(wqe, 1), 13);
		drop(NULL);
	}
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

static void an_object_of_another_domain_is_protected(void **state)
{
	RIG_IN(alloc, 0x10, ALLOC_PD);
	uint8_t in[OBJECT_LEN], out[0x10] = { 0 }, wqe[128], *seg;
	struct mlx5dv_devx_obj *pd, *obj;
	uint32_t pdn;

	pd = frames_create(&rig, alloc, sizeof(alloc), &pdn);
	ifc_set(object_in(in, sizeof(in), IFC_OBJ_ASO_CT, 0), aso_object, access_pd, pdn);
	obj = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(obj);
	seg = next_wqe(wqe, ifc_get(out, general_obj_out_cmd_hdr, obj_id), CT, 4);
	read_to(seg, 0);
	assert_int_equal(run(wqe, 1), 13);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(pd), 0);
}

static void objects_that_cannot_be_are_refused(void **state)
{
	uint8_t in[OBJECT_LEN], out[0x10];

	object_in(in, sizeof(in), IFC_OBJ_ASO_CT, 13);
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out)));
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_PARAM);
	ifc_set(object_in(in, sizeof(in), IFC_OBJ_ASO_CT, 0), aso_object, access_pd, 0xabcdef);
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out)));
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_RES);
	object_in(in, sizeof(in), IFC_OBJ_ASO_CT, 0);
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in) - 8, out, sizeof(out)));
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_INPUT_LEN);
}

static void queries_and_modifications_reach_one_context(void **state)
{
	uint8_t in[OBJECT_LEN], out[OBJECT_LEN] = { 0 };
	uint8_t *body = out + IFC_LEN_general_obj_in_cmd_hdr, *ctx;
	uint32_t id;
	struct mlx5dv_devx_obj *obj = object(IFC_OBJ_ASO_FLOW_METER, 3, 0x33, &id);

	ctx = object_in(in, sizeof(in), IFC_OBJ_ASO_FLOW_METER, 0);
	ifc_set(in, cmd_in, opcode, IFC_OP_MODIFY_GENERAL_OBJECT);
	ifc_set(in, general_obj_in_cmd_hdr, obj_id, id + 5);
	memset(ctx + ifc_byte(aso_object, context), 0x44, 64);
	assert_int_equal(mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, 0x10), 0);
	for (uint32_t i = 4; i < 7; i++) {
		RIG_IN(query, 0x10, QUERY_GENERAL_OBJECT);

		ifc_set(query, general_obj_in_cmd_hdr, obj_type, IFC_OBJ_ASO_FLOW_METER);
		ifc_set(query, general_obj_in_cmd_hdr, obj_id, id + i);
		assert_int_equal(mlx5dv_devx_obj_query(obj, query, sizeof(query), out, sizeof(out)),
				 0);
		assert_int_equal(body[ifc_byte(aso_object, context)], i == 5 ? 0x44 : 0x33);
		assert_int_equal(ifc_get(body, aso_object, access_pd), rig.pdn);
	}
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_context_is_read_and_written),
		T(bits_change_under_conditions),
		T(requests_wrap_around),
		cmocka_unit_test(impossible_accesses_are_errors),
		T(an_object_of_another_domain_is_protected),
		cmocka_unit_test(objects_that_cannot_be_are_refused),
		cmocka_unit_test(queries_and_modifications_reach_one_context),
	};
	int failed;

	rig_open(&rig);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
