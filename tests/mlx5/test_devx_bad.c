/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device commands that are wrong, systematically: every opcode that there is and every other one, by
 * every call, with mailboxes of every length, of zeros and of anything, for objects that exist, have
 * gone, or are of another context. The answer is EINVAL (the mailbox is too short, or the command
 * goes through another call), or EREMOTEIO with a status, and nothing else changes.
 */
#include "devx_frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096 + 64, GUARD = 64, ROUNDS = 40 };

static struct rig rig;

static const struct {
	uint16_t op;
	const char *name;
} ops[] = {
#define IFC_OP(name, code) { code, #name },
#include "mlx5/ifc_op.def"
#undef IFC_OP
};

#define OPS (sizeof(ops) / sizeof(ops[0]))

/* ---- one command, watched ---- */

struct box {
	uint8_t in[ROOM], before[ROOM], out[ROOM + GUARD];
};

static struct box box;
static uint32_t seed = 20261115;

static uint32_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

enum call { GENERAL, CREATE, QUERY, MODIFY, CREATE_EQ, CALLS };

/* The errno value. What was created goes again at once. */
static int issue(enum call call, struct mlx5dv_devx_obj *obj, size_t inlen, size_t outlen)
{
	struct mlx5dv_devx_obj *made;
	struct mlx5dv_devx_eq *eq;

	switch (call) {
	case GENERAL:
		return mlx5dv_devx_general_cmd(rig.ctx, box.in, inlen, box.out, outlen);
	case QUERY:
		return mlx5dv_devx_obj_query(obj, box.in, inlen, box.out, outlen);
	case MODIFY:
		return mlx5dv_devx_obj_modify(obj, box.in, inlen, box.out, outlen);
	case CREATE_EQ:
		eq = mlx5dv_devx_create_eq(rig.ctx, box.in, inlen, box.out, outlen);
		return eq ? mlx5dv_devx_destroy_eq(eq) : errno;
	default:
		made = mlx5dv_devx_obj_create(rig.ctx, box.in, inlen, box.out, outlen);
		return made ? mlx5dv_devx_obj_destroy(made) : errno;
	}
}

/* An answer is one of three, and stays within its mailbox. */
static int check(enum call call, struct mlx5dv_devx_obj *obj, size_t inlen, size_t outlen)
{
	int err;

	memcpy(box.before, box.in, ROOM);
	memset(box.out, 0x5a, sizeof(box.out));
	err = issue(call, obj, inlen, outlen);
	assert_memory_equal(box.in, box.before, ROOM);
	for (size_t i = outlen; i < outlen + GUARD; i++)
		assert_int_equal(box.out[i], 0x5a);
	if (err == EREMOTEIO) {
		assert_true(outlen >= 16);
		assert_int_not_equal(box.out[0], 0x5a);
		assert_int_not_equal(ifc_get(box.out, cmd_out, status), IFC_STATUS_OK);
		assert_int_not_equal(ifc_get(box.out, cmd_out, syndrome), 0);
	} else if (!err) {
		assert_int_equal(ifc_get(box.out, cmd_out, status), IFC_STATUS_OK);
	} else if (err != EINVAL) {
		fail_msg("opcode 0x%x: errno %d", (unsigned int)ifc_get(box.in, cmd_in, opcode),
			 err);
	}
	return err;
}

static void zeros(uint16_t op)
{
	memset(box.in, 0, sizeof(box.in));
	ifc_set(box.in, cmd_in, opcode, op);
}

static bool is_known(unsigned int op)
{
	for (size_t i = 0; i < OPS; i++)
		if (ops[i].op == op)
			return true;
	return false;
}

/* ---- objects to send commands for ---- */

static struct rig_cq cq;
static struct rig_qp qp;
static struct mlx5dv_devx_obj *objects[4];

static int make(void **state)
{
	RIG_IN(pd, 16, ALLOC_PD);
	RIG_IN(td, 16, ALLOC_TRANSPORT_DOMAIN);
	uint32_t number;

	rig_open(&rig);
	rig_cq(&rig, 4, rig.eqn, &cq);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	objects[0] = frames_create(&rig, pd, sizeof(pd), &number);
	objects[1] = frames_create(&rig, td, sizeof(td), &number);
	objects[2] = cq.obj;
	objects[3] = qp.obj;
	return 0;
}

static int drop(void **state)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(objects[0]), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(objects[1]), 0);
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	rig_close(&rig);
	return 0;
}

static struct mlx5dv_devx_obj *object_for(enum call call, unsigned int i)
{
	return call == QUERY || call == MODIFY ? objects[i % 4] : NULL;
}

/* ---- the tests ---- */

static void mailboxes_without_room_for_a_head_are_refused(void **state)
{
	for (size_t i = 0; i < OPS; i++)
		for (int call = 0; call < CALLS; call++) {
			struct mlx5dv_devx_obj *obj = object_for(call, i);

			zeros(ops[i].op);
			for (size_t len = 0; len < 16; len += 5) {
				assert_int_equal(check(call, obj, len, 64), EINVAL);
				assert_int_equal(check(call, obj, 64, len), EINVAL);
			}
		}
}

static void mailboxes_of_zeros_of_any_length_end_in_an_answer(void **state)
{
	static const size_t lengths[] = { 16, 17, 64, 0x110, 0x400 };
	const size_t n = sizeof(lengths) / sizeof(lengths[0]);

	for (size_t i = 0; i < OPS; i++)
		for (int call = 0; call < CALLS; call++) {
			zeros(ops[i].op);
			for (size_t k = 0; k < n * n; k++)
				check(call, object_for(call, k), lengths[k / n], lengths[k % n]);
		}
}

/* The queue pair's own commands: one byte less than what is right is EINVAL, not a guess. */
static void a_byte_less_than_is_right_is_too_short(void **state)
{
	static const struct {
		uint16_t op;
		enum call call;
		size_t in, out;
	} least[] = {
		{ IFC_OP_CREATE_CQ, CREATE, ifc_len(create_cq_in), 16 },
		{ IFC_OP_CREATE_QP, CREATE, ifc_len(create_qp_in), 16 },
		{ IFC_OP_CREATE_MKEY, CREATE, ifc_len(create_mkey_in), 16 },
		{ IFC_OP_CREATE_RQ, CREATE, ifc_len(create_rq_in), 16 },
		{ IFC_OP_CREATE_SQ, CREATE, ifc_len(create_sq_in), 16 },
		{ IFC_OP_CREATE_TIR, CREATE, ifc_len(create_tir_in), 16 },
		{ IFC_OP_CREATE_RMP, CREATE, ifc_len(create_rmp_in), 16 },
		{ IFC_OP_CREATE_SRQ, CREATE, ifc_len(create_srq_in), 16 },
		{ IFC_OP_CREATE_XRC_SRQ, CREATE, ifc_len(create_xrc_srq_in), 16 },
		{ IFC_OP_QUERY_ADAPTER, GENERAL, 16, ifc_len(query_adapter_out) },
		{ IFC_OP_QUERY_NIC_VPORT_CONTEXT, GENERAL, 16,
		  ifc_len(query_nic_vport_context_out) },
	};

	for (size_t i = 0; i < sizeof(least) / sizeof(least[0]); i++) {
		zeros(least[i].op);
		assert_int_equal(check(least[i].call, NULL, least[i].in - 1, least[i].out + 16),
				 EINVAL);
		assert_int_equal(check(least[i].call, NULL, least[i].in, least[i].out - 1), EINVAL);
		assert_int_not_equal(check(least[i].call, NULL, least[i].in, least[i].out), EINVAL);
	}
}

static void unknown_opcodes_have_a_status_of_their_own(void **state)
{
	for (unsigned int op = 0; op < 0x10000; op += op < 0x1000 ? 1 : 97) {
		if (is_known(op))
			continue;
		for (int call = GENERAL; call <= MODIFY; call++) {
			zeros((uint16_t)op);
			assert_int_equal(check(call, object_for(call, op), 64, 64), EREMOTEIO);
			assert_int_equal(ifc_get(box.out, cmd_out, status), IFC_STATUS_BAD_OP);
		}
	}
}

static void a_command_goes_through_its_own_call(void **state)
{
	zeros(IFC_OP_CREATE_CQ);
	assert_int_equal(check(GENERAL, NULL, 4096, 4096), EINVAL);
	assert_int_equal(check(QUERY, cq.obj, 4096, 4096), EINVAL);
	zeros(IFC_OP_QUERY_HCA_CAP);
	assert_int_equal(check(CREATE, NULL, 4096, 4096), EINVAL);
	assert_int_equal(check(MODIFY, cq.obj, 4096, 4096), EINVAL);
	zeros(IFC_OP_QUERY_CQ);
	ifc_set(box.in, query_cq_in, cqn, cq.cqn);
	assert_int_equal(check(QUERY, cq.obj, 4096, 4096), 0);
	assert_int_equal(check(QUERY, qp.obj, 4096, 4096), EINVAL);
	ifc_set(box.in, query_cq_in, cqn, cq.cqn + 1);
	assert_int_equal(check(QUERY, cq.obj, 4096, 4096), EINVAL);
}

static void mailboxes_of_anything_end_in_an_answer(void **state)
{
	print_message("seed %u\n", seed);
	for (size_t i = 0; i < OPS; i++)
		for (int round = 0; round < ROUNDS; round++) {
			enum call call = any() % CALLS;
			unsigned int density = any() % 4;

			zeros(ops[i].op);
			for (size_t k = 4; k < ROOM; k++)
				box.in[k] = any() % 8 <= density ? (uint8_t)any() : 0;
			/* Numbers that exist lead further in. */
			ifc_set(box.in, obj_in, number, any() % 2 ? cq.cqn : qp.qpn);
			check(call, object_for(call, any()), 16 + any() % (ROOM - 16),
			      16 + any() % (ROOM - 16));
		}
}

static void an_op_mod_that_there_is_not_is_a_bad_parameter(void **state)
{
	static const uint16_t with_mode[] = { IFC_OP_QUERY_HCA_CAP, IFC_OP_ACCESS_REG };

	for (size_t i = 0; i < sizeof(with_mode) / sizeof(with_mode[0]); i++) {
		zeros(with_mode[i]);
		ifc_set(box.in, cmd_in, op_mod, 0x7ffe);
		assert_int_equal(check(GENERAL, NULL, 4096, 4096), EREMOTEIO);
		assert_int_equal(ifc_get(box.out, cmd_out, status), IFC_STATUS_BAD_PARAM);
	}
}

static int create_qp_on(uint32_t pdn, uint32_t cqn)
{
	uint8_t *qpc = ifc_ptr(box.in, create_qp_in, qpc);

	zeros(IFC_OP_CREATE_QP);
	ifc_set(qpc, qpc, st, IFC_QP_ST_RC);
	ifc_set(qpc, qpc, pd, pdn);
	ifc_set(qpc, qpc, cqn_snd, cqn);
	ifc_set(qpc, qpc, cqn_rcv, cqn);
	ifc_set(qpc, qpc, log_sq_size, 2);
	ifc_set(qpc, qpc, log_rq_size, 2);
	ifc_set(qpc, qpc, uar_page, rig.uar->page_id);
	ifc_set(qpc, qpc, dbr_umem_valid, 1);
	ifc_set(qpc, qpc, dbr_umem_id, qp.umem.umem->umem_id);
	ifc_set(box.in, create_qp_in, wq_umem_valid, 1);
	ifc_set(box.in, create_qp_in, wq_umem_id, qp.umem.umem->umem_id);
	return check(CREATE, NULL, ifc_len(create_qp_in), 16);
}

static void objects_that_have_gone_or_are_anothers_are_bad_resources(void **state)
{
	struct rig other;
	struct rig_cq gone;

	assert_int_equal(create_qp_on(rig.pdn, cq.cqn), 0);
	rig_cq(&rig, 4, rig.eqn, &gone);
	rig_cq_drop(&gone);
	assert_int_equal(create_qp_on(rig.pdn, gone.cqn), EREMOTEIO);
	assert_int_equal(ifc_get(box.out, cmd_out, status), IFC_STATUS_BAD_RES);
	rig_open(&other);
	rig_cq(&other, 4, other.eqn, &gone);
	assert_int_equal(create_qp_on(rig.pdn, gone.cqn), EREMOTEIO);
	assert_int_equal(ifc_get(box.out, cmd_out, status), IFC_STATUS_BAD_RES);
	assert_int_equal(create_qp_on(other.pdn, cq.cqn), EREMOTEIO);
	assert_int_equal(ifc_get(box.out, cmd_out, status), IFC_STATUS_BAD_RES);
	rig_cq_drop(&gone);
	rig_close(&other);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)
	const struct CMUnitTest tests[] = {
		T(mailboxes_without_room_for_a_head_are_refused),
		T(mailboxes_of_zeros_of_any_length_end_in_an_answer),
		T(a_byte_less_than_is_right_is_too_short),
		T(unknown_opcodes_have_a_status_of_their_own),
		T(a_command_goes_through_its_own_call),
		T(mailboxes_of_anything_end_in_an_answer),
		T(an_op_mod_that_there_is_not_is_a_bad_parameter),
		T(objects_that_have_gone_or_are_anothers_are_bad_resources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
