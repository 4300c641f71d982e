/* SPDX-License-Identifier: BSD-2-Clause */
/* Models: each has the features of its generation, and refuses the others. */
#include "devx_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct row {
	const char *model;
	uint32_t part;
	uint32_t lane_speed; /* bit of active_speed_ex */
	bool edits;          /* ConnectX-5: rules that change frames, device memory */
	bool streams;        /* ConnectX-6 */
	bool aso;            /* ConnectX-6 Dx */
	bool any_order;      /* ConnectX-7 */
	bool crypto;
};

static const struct row rows[] = {
	{ "ConnectX-4", 0x1013, 32, false, false, false, false, false },
	{ "ConnectX-4-Lx", 0x1015, 32, false, false, false, false, false },
	{ "ConnectX-5", 0x1017, 32, true, false, false, false, false },
	{ "ConnectX-5-Ex", 0x1019, 32, true, false, false, false, false },
	{ "ConnectX-6", 0x101b, 64, true, true, false, false, true },
	{ "ConnectX-6-Dx", 0x101d, 32, true, true, true, false, true },
	{ "ConnectX-6-Lx", 0x101f, 32, true, true, true, false, false },
	{ "ConnectX-7", 0x1021, 128, true, true, true, true, true },
	{ "ConnectX-8", 0x1023, 256, true, true, true, true, true },
	{ "BlueField-2", 0xa2d6, 32, true, true, true, false, true },
	{ "BlueField-3", 0xa2dc, 128, true, true, true, true, true },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static struct ibv_context *open_row(size_t i)
{
	char name[16];

	snprintf(name, sizeof(name), "mlx5_%zu", i);
	return pair_open(name);
}

static void query_page(struct ibv_context *ctx, unsigned int page, uint8_t *out, size_t len)
{
	RIG_IN(in, ifc_len(query_hca_cap_in), QUERY_HCA_CAP);

	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(page, true));
	assert_int_equal(mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, len), 0);
}

static void part_and_speed_are_the_models(void **state)
{
	for (size_t i = 0; i < ROWS; i++) {
		struct ibv_context *ctx = open_row(i);
		struct ibv_device_attr attr;
		struct ibv_port_attr port;

		assert_int_equal(ibv_query_device(ctx, &attr), 0);
		assert_int_equal(attr.vendor_part_id, rows[i].part);
		assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
		assert_int_equal(port.active_speed_ex, rows[i].lane_speed);
		/* what does not fit into a byte is shown as NDR */
		assert_int_equal(port.active_speed,
				 rows[i].lane_speed > 128 ? 128 : rows[i].lane_speed);
		ibv_close_device(ctx);
	}
}

static void capabilities_are_the_generations(void **state)
{
	static uint8_t out[ifc_len(query_hca_cap_out)];
	const uint8_t *cap = ifc_cptr(out, query_hca_cap_out, capability), *rx;

	for (size_t i = 0; i < ROWS; i++) {
		struct ibv_context *ctx = open_row(i);
		uint64_t types;

		query_page(ctx, IFC_CAP_GENERAL, out, sizeof(out));
		assert_int_equal(ifc_get(cap, cmd_hca_cap, sho), 1);
		assert_int_equal(ifc_get(cap, cmd_hca_cap, sig_crc32c), rows[i].streams);
		assert_int_equal(!!ifc_get(cap, cmd_hca_cap, log_max_dci_stream_channels),
				 rows[i].streams);
		assert_int_equal(ifc_get(cap, cmd_hca_cap, dp_ordering_ooo_all_rc),
				 rows[i].any_order);
		assert_int_equal(ifc_get(cap, cmd_hca_cap, aes_xts), rows[i].crypto);
		assert_int_equal(!!ifc_get(cap, cmd_hca_cap, max_geneve_tlv_options), rows[i].aso);
		types = ifc_get(cap, cmd_hca_cap, general_obj_types);
		assert_int_equal(types >> IFC_OBJ_ASO_FLOW_METER & 1, rows[i].aso);
		assert_int_equal(types >> IFC_OBJ_GENEVE_TLV_OPT & 1, rows[i].aso);
		query_page(ctx, IFC_CAP_NIC_FLOW_TABLE, out, sizeof(out));
		rx = ifc_cptr(cap, flow_table_nic_cap, flow_table_properties_nic_receive);
		assert_int_equal(ifc_get(rx, flow_table_prop_layout, ft_support), 1);
		assert_int_equal(ifc_get(rx, flow_table_prop_layout, reformat), rows[i].edits);
		query_page(ctx, IFC_CAP_ODP, out, sizeof(out));
		assert_int_equal(ifc_get(cap, odp_cap, mem_page_fault), rows[i].any_order);
		for (size_t k = 0; k < 2; k++) {
			const uint8_t *scheme =
				k ? ifc_cptr(cap, odp_cap, memory_page_fault_scheme_cap)
				  : ifc_cptr(cap, odp_cap, transport_page_fault_scheme_cap);
			const uint8_t *rc = ifc_cptr(scheme, odp_scheme_cap, rc_odp_caps),
				      *dc = ifc_cptr(scheme, odp_scheme_cap, dc_odp_caps);

			assert_int_equal(ifc_get(rc, odp_per_transport_service_cap, read),
					 !k || rows[i].any_order);
			assert_int_equal(ifc_get(dc, odp_per_transport_service_cap, read),
					 rows[i].edits && (!k || rows[i].any_order));
		}
		query_page(ctx, IFC_CAP_DEVICE_MEMORY, out, sizeof(out));
		assert_int_equal(ifc_get(cap, device_mem_cap, memic), rows[i].edits);
		query_page(ctx, IFC_CAP_ETHERNET, out, sizeof(out));
		assert_int_equal(ifc_get(cap, eth_cap, wqe_inline_mode),
				 rows[i].edits ? IFC_INLINE_MODE_CAP_NONE : IFC_INLINE_MODE_CAP_L2);
		assert_int_equal(ifc_get(cap, eth_cap, enhanced_multi_pkt_send_wqe), rows[i].edits);
		ibv_close_device(ctx);
	}
}

static void direct_verbs_tell_the_same(void **state)
{
	for (size_t i = 0; i < ROWS; i++) {
		struct ibv_context *ctx = open_row(i);
		struct mlx5dv_context dv = { .comp_mask = MLX5DV_CONTEXT_MASK_DC_ODP_CAPS |
							  MLX5DV_CONTEXT_MASK_DCI_STREAMS |
							  MLX5DV_CONTEXT_MASK_OOO_RECV_WRS |
							  MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD };
		struct ibv_device_attr_ex attr;

		assert_int_equal(ibv_query_device_ex(ctx, NULL, &attr), 0);
		assert_int_equal(!!attr.tm_caps.max_num_tags, rows[i].edits);
		assert_int_equal(mlx5dv_query_device(ctx, &dv), 0);
		assert_int_equal(!!dv.dc_odp_caps, rows[i].edits);
		assert_int_equal(!!(dv.flags & MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW), rows[i].edits);
		assert_int_equal(!!dv.dci_streams_caps.max_log_num_concurent, rows[i].streams);
		assert_int_equal(!!(dv.comp_mask & MLX5DV_CONTEXT_MASK_OOO_RECV_WRS),
				 rows[i].any_order);
		assert_int_equal(!!dv.ooo_recv_wrs_caps.max_rc, rows[i].any_order);
		assert_int_equal(!!(dv.sig_caps.crc_type & MLX5DV_SIG_CRC_TYPE_CAP_CRC64_XP10),
				 rows[i].streams);
		ibv_close_device(ctx);
	}
}

static void expect(bool offered, const void *got, int err)
{
	if (offered)
		assert_non_null(got);
	else
		assert_null(got);
	if (!offered)
		assert_int_equal(err, EOPNOTSUPP);
}

static void device_memory_and_rules_that_edit_came_with_connectx_5(void **state)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	/* adds to the time to live: ADD, field OUT_IP_TTL */
	uint64_t add = htobe64(2ull << 60 | 0xaull << 48 | 0xffull);

	for (size_t i = 0; i < ROWS; i++) {
		struct ibv_context *ctx = open_row(i);
		struct mlx5dv_dr_domain *domain;
		struct ibv_flow_action *action;
		struct ibv_dm *dm;

		errno = 0;
		dm = ibv_alloc_dm(ctx, &attr);
		expect(rows[i].edits, dm, errno);
		errno = 0;
		domain = mlx5dv_dr_domain_create(ctx, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
		expect(rows[i].edits, domain, errno);
		errno = 0;
		action = mlx5dv_create_flow_action_modify_header(ctx, sizeof(add), &add,
								 MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
		expect(rows[i].edits, action, errno);
		if (rows[i].edits) {
			assert_int_equal(ibv_destroy_flow_action(action), 0);
			assert_int_equal(mlx5dv_dr_domain_destroy(domain), 0);
			assert_int_equal(ibv_free_dm(dm), 0);
		}
		ibv_close_device(ctx);
	}
}

static void receives_out_of_order_came_with_connectx_7(void **state)
{
	for (size_t i = 0; i < ROWS; i++) {
		struct ibv_context *ctx = open_row(i);
		struct ibv_pd *pd = ibv_alloc_pd(ctx);
		struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
		struct ibv_qp_init_attr_ex attr = {
			.send_cq = cq,
			.recv_cq = cq,
			.cap = { .max_send_wr = 4, .max_recv_wr = 4, 1, 1 },
			.qp_type = IBV_QPT_RC,
			.comp_mask = IBV_QP_INIT_ATTR_PD,
			.pd = pd,
		};
		struct mlx5dv_qp_init_attr extra = {
			.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
			.create_flags = MLX5DV_QP_CREATE_OOO_DP,
		};
		struct ibv_qp *qp;

		errno = 0;
		qp = mlx5dv_create_qp(ctx, &attr, &extra);
		expect(rows[i].any_order, qp, errno);
		if (qp)
			ibv_destroy_qp(qp);
		ibv_destroy_cq(cq);
		ibv_dealloc_pd(pd);
		ibv_close_device(ctx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(part_and_speed_are_the_models),
		cmocka_unit_test(capabilities_are_the_generations),
		cmocka_unit_test(direct_verbs_tell_the_same),
		cmocka_unit_test(device_memory_and_rules_that_edit_came_with_connectx_5),
		cmocka_unit_test(receives_out_of_order_came_with_connectx_7),
	};
	char text[1024] = "";
	size_t len = 0;

	for (size_t i = 0; i < ROWS; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%smlx5_%zu,model=%s",
					i ? ";" : "", i, rows[i].model);
	setenv("VERBENA_ADAPTERS", text, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
