/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames into receive queues that device commands made: two queues on the program's own rings, a
 * table of them, a TIR that hashes over it, and a direct rule that leads there and counts.
 */
#include "devx_frames.h"

#include <endian.h>
#include <string.h>
#include <time.h>

enum { FRAMES = 64, PORT = 777 };

static struct rig rig;

static struct mlx5dv_devx_obj *make_table(const struct frames_rq *queues, uint32_t *number)
{
	uint8_t in[ifc_len(create_rqt_in) + 8] = { 0 };
	uint8_t *ctx = ifc_ptr(in, create_rqt_in, rqt_context);

	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_RQT);
	ifc_set(ctx, rqtc, rqt_max_size, 2);
	ifc_set(ctx, rqtc, rqt_actual_size, 2);
	ifc_set_at(ctx, rqtc, rq_num, 0, queues[0].number);
	ifc_set_at(ctx, rqtc, rq_num, 1, queues[1].number);
	return frames_create(&rig, in, sizeof(in), number);
}

static struct mlx5dv_devx_obj *make_tir(uint32_t table, uint32_t *number)
{
	RIG_IN(in, ifc_len(create_tir_in), CREATE_TIR);
	uint8_t *ctx = ifc_ptr(in, create_tir_in, ctx);
	uint8_t *select = ifc_ptr(ctx, tirc, rx_hash_field_selector_outer);

	ifc_set(ctx, tirc, disp_type, IFC_TIR_INDIRECT);
	ifc_set(ctx, tirc, indirect_table, table);
	ifc_set(ctx, tirc, rx_hash_fn, IFC_RX_HASH_TOEPLITZ);
	memset(ifc_ptr(ctx, tirc, rx_hash_toeplitz_key), 0x6d, 40);
	ifc_set(select, rx_hash_field_select, l4_prot_type, IFC_L4_UDP);
	ifc_set(select, rx_hash_field_select, selected_fields, IFC_HASH_L4_SPORT);
	return frames_create(&rig, in, sizeof(in), number);
}

/* With a key of zeros every hash is 0, and the table's first entry gets everything. */
static void set_hash(struct mlx5dv_devx_obj *tir, uint32_t number, uint8_t key)
{
	RIG_IN(in, ifc_len(modify_tir_in), MODIFY_TIR);
	uint8_t out[16] = { 0 }, *ctx = ifc_ptr(in, modify_tir_in, ctx);
	uint8_t *select = ifc_ptr(ctx, tirc, rx_hash_field_selector_outer);

	ifc_set(in, modify_tir_in, tirn, number);
	ifc_set(in, modify_tir_in, modify_bitmask, IFC_MODIFY_TIR_HASH);
	memset(ifc_ptr(ctx, tirc, rx_hash_toeplitz_key), key, 40);
	ifc_set(select, rx_hash_field_select, l4_prot_type, IFC_L4_UDP);
	ifc_set(select, rx_hash_field_select, selected_fields, IFC_HASH_L4_SPORT);
	assert_int_equal(mlx5dv_devx_obj_modify(tir, in, sizeof(in), out, sizeof(out)), 0);
}

/* Each source port once, and both queues some, or only the first one. */
static void check_arrivals(struct frames_rq *queues, bool both)
{
	unsigned int got[2] = { 0, 0 };
	bool seen[FRAMES] = { false };
	time_t end = time(NULL) + 20;

	while (got[0] + got[1] < FRAMES) {
		for (int i = 0; i < 2; i++) {
			const uint8_t *frame;

			if (!rig_cq_ready(&queues[i].cq))
				continue;
			rig_cq_take(&queues[i].cq);
			frame = rig.memory + i * (RIG_MEMORY / 2) + got[i]++ * FRAMES_SIZE;
			assert_int_equal(frame[34], 0);
			assert_true(frame[35] < FRAMES && !seen[frame[35]]);
			seen[frame[35]] = true;
		}
		assert_true(time(NULL) < end);
	}
	assert_true(got[0] && !got[1] == !both);
}

static void spread_frames(bool keep_hash)
{
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + 64];
	} mask = { .p.match_sz = 64 }, value = { .p.match_sz = 64 };
	uint8_t *masked = (uint8_t *)mask.p.match_buf, *wanted = (uint8_t *)value.p.match_buf;
	RIG_IN(in, 0x10, ALLOC_FLOW_COUNTER);
	struct mlx5dv_devx_obj *table, *tir, *counter;
	struct mlx5dv_dr_action *actions[2];
	struct mlx5dv_dr_domain *domain;
	struct mlx5dv_dr_table *root;
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_rule *rule;
	uint32_t table_number, tir_number, counter_number;
	struct frames_rq queues[2];

	frames_rq(&rig, &queues[0], 0);
	frames_rq(&rig, &queues[1], RIG_MEMORY / 2);
	table = make_table(queues, &table_number);
	tir = make_tir(table_number, &tir_number);
	counter = frames_create(&rig, in, sizeof(in), &counter_number);
	domain = mlx5dv_dr_domain_create(rig.ctx, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	root = mlx5dv_dr_table_create(domain, 0);
	memset(masked + FRAMES_UDP_DPORT, 0xff, 2);
	wanted[FRAMES_UDP_DPORT] = PORT >> 8;
	wanted[FRAMES_UDP_DPORT + 1] = PORT & 0xff;
	matcher = mlx5dv_dr_matcher_create(root, 0, 1, &mask.p);
	actions[0] = mlx5dv_dr_action_create_flow_counter(counter, 0);
	actions[1] = mlx5dv_dr_action_create_dest_devx_tir(tir);
	assert_true(matcher && actions[0] && actions[1]);
	rule = mlx5dv_dr_rule_create(matcher, &value.p, 2, actions);
	assert_non_null(rule);
	assert_int_equal(mlx5dv_devx_obj_destroy(tir), EBUSY);
	if (!keep_hash)
		set_hash(tir, tir_number, 0);
	frames_send(&rig, FRAMES, PORT);
	check_arrivals(queues, keep_hash);
	assert_int_equal(frames_counted(counter, counter_number), FRAMES);
	assert_null(mlx5dv_dr_action_create_dest_devx_tir(counter));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_dr_rule_destroy(rule), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(actions[0]), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(actions[1]), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(matcher), 0);
	assert_int_equal(mlx5dv_dr_table_destroy(root), 0);
	assert_int_equal(mlx5dv_dr_domain_destroy(domain), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(counter), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(table), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(tir), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(queues[0].obj), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(table), 0);
	frames_rq_drop(&queues[0]);
	frames_rq_drop(&queues[1]);
}

static void frames_spread_over_queues_made_by_commands(void **state)
{
	spread_frames(true);
}

static void another_key_is_the_one_that_counts(void **state)
{
	spread_frames(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_spread_over_queues_made_by_commands),
		cmocka_unit_test(another_key_is_the_one_that_counts),
	};
	int failed;

	rig_open(&rig);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
