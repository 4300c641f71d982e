/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QUERY_HCA_CAP, by capability type. Programs decide by these bits: they describe this adapter, not
 * a ConnectX, and a bit is set together with the code that implements it. Current and maximal
 * values are the same, but for the one that SET_HCA_CAP changes.
 */
#include "mlx5/devx_cap.h"

#include <errno.h>

#include "hca/device/crypto.h"
#include "hca/device/lag.h"
#include "hca/memory/dm_op.h"
#include "hca/raw/flow.h"
#include "mlx5/devx_aso.h"
#include "mlx5/cqe_comp.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_control.h"
#include "mlx5/devx_flow_types.h"
#include "mlx5/devx_general.h"
#include "mlx5/devx_geneve.h"
#include "mlx5/dv.h"
#include "mlx5/privilege.h"
#include "mlx5/sig.h"
#include "mlx5/tag.h"
#include "mlx5/wqe.h"

/*
 * flex_parser_protocols: Geneve, MPLS over GRE and UDP, VXLAN-GPE, ICMP, ICMPv6, an option of Geneve, GTP-U
 * and its words.
 */
#define PARSERS                                                                                    \
	(1u << 3 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11 |         \
	 1u << 16 | 1u << 17 | 1u << 18 | 1u << 19)

struct page {
	const struct hca_adapter *adapter;
	const struct hca_limits *limits;
	bool ethernet;
	bool current; /* values in use, not the best possible */
	const struct hca_ctx *ctx;
	uint8_t *cap;
};

static bool has(const struct page *p, enum hca_feature feature)
{
	return hca_model_has(p->adapter->model, feature);
}

static uint8_t log2_down(uint64_t n)
{
	return n ? 63 - __builtin_clzll(n) : 0;
}

static uint8_t log2_up(uint64_t n)
{
	return n > 1 ? 64 - __builtin_clzll(n - 1) : 0;
}

/* ---- general ---- */

#define SET(field, value) ifc_set(p->cap, cmd_hca_cap, field, value)

static void fill_limits(const struct page *p)
{
	const struct hca_limits *l = p->limits;

	SET(log_max_srq_sz, log2_up(l->max_srq_wr));
	SET(log_max_qp_sz, log2_down(l->max_qp_wr));
	SET(log_max_qp, log2_down(l->max_qp));
	SET(log_max_srq, log2_down(l->max_srq));
	SET(log_max_cq_sz, log2_up(l->max_cqe));
	SET(log_max_cq, log2_down(l->max_cq));
	SET(log_max_eq_sz, 22);
	SET(log_max_eq, 7);
	SET(max_num_eqs, 127);
	SET(log_max_mkey, log2_down(l->max_mr));
	SET(log_max_mrw_sz, 64);
	SET(log_max_ra_req_qp, log2_down(l->max_qp_init_rd_atom));
	SET(log_max_ra_res_qp, log2_down(l->max_qp_rd_atom));
	SET(log_max_ra_req_dc, log2_down(l->max_qp_init_rd_atom));
	SET(log_max_ra_res_dc, log2_down(l->max_qp_rd_atom));
	SET(log_max_msg, log2_down(l->max_msg_size));
	SET(log_max_pd, log2_down(l->max_pd));
	SET(log_max_xrcd, 23);
	SET(log_max_mcg, log2_down(l->max_mcast_grp));
	SET(max_qp_mcg, l->max_mcast_qp_attach);
	SET(log_max_transport_domain, 20);
	SET(max_wqe_sz_sq, MLX5_SQ_ENTRY_MAX);
	SET(max_wqe_sz_rq, MLX5_RQ_ENTRY_MAX);
	SET(max_wqe_sz_sq_dc, MLX5_SQ_ENTRY_MAX);
	SET(log_max_atomic_size_qp, 3);
	SET(log_max_atomic_size_dc, 3);
	SET(local_ca_ack_delay, p->adapter->model->ack_delay);
	SET(max_flow_counter_15_0, 0xffff);
	SET(flow_counter_bulk_alloc, 0xff);
	SET(log_max_rq, 20);
	SET(log_max_sq, 20);
	SET(log_max_rqt, 20);
	SET(log_max_rqt_size, 11);
	SET(log_max_tir, 20);
	SET(log_max_tis, 20);
	SET(log_max_tis_per_sq, 0);
	SET(log_max_rmp, 20);
	if (mlx5_has_tags(p->adapter->model)) {
		SET(tag_matching, 1);
		SET(rndv_offload_rc, 1);
		SET(log_tag_matching_list_sz, MLX5_TAG_LOG_LIST);
		SET(log_max_xrq, 20);
	}
	SET(log_max_wq_sz, 15);
	SET(log_max_stride_sz_rq, 9);
	/*
	 * RQs can have as few strides as this bit tells of (mlx5dv's striding_rq_caps says so), but UCX takes it for
	 * XRQs with strides, a packet each, which are not offered.
	 */
	SET(ext_stride_num_range, 0);
	SET(log_min_stride_sz_rq, 4);
	SET(log_max_stride_sz_sq, 6);
	SET(log_min_stride_sz_sq, 6);
}

static void fill_features(const struct page *p)
{
	SET(hca_cap_2, 1);
	SET(vhca_id, DEVX_VHCA_ID(p->adapter));
	SET(uctx_cap, mlx5_privileges_offered(p->adapter));
	SET(event_cap, 1);
	SET(relaxed_ordering_write, 1);
	SET(relaxed_ordering_read, 1);
	SET(access_register_user, 1);
	SET(terminate_scatter_list_mkey, 1);
	SET(vport_counters, 1);
	SET(vport_group_manager, 1);
	SET(vhca_group_manager, 1);
	SET(cqe_version, 1);
	SET(compact_address_vector, 1);
	SET(umr_fence, 2);
	SET(cq_oi, 1);
	SET(cq_moderation, 1);
	SET(cq_resize, 1);
	SET(max_indirection, 1);
	SET(fixed_buffer_size, 1);
	SET(log_max_klm_list_size, 16);
	SET(block_lb_mc, 1);
	SET(mem_rq_rmp, 1);
	SET(basic_cyclic_rcv_wqe, 1);
	SET(imaicl, 1);
	SET(xrc, 1);
	SET(dct, 1);
	SET(dc_v2, 1);
	SET(log_max_dci_stream_channels, has(p, HCA_HAS_DC_STREAMS) ? MLX5_LOG_STREAMS : 0);
	SET(log_max_dci_errored_streams, has(p, HCA_HAS_DC_STREAMS) ? MLX5_LOG_STREAMS : 0);
	SET(ud, 1);
	SET(uc, 1);
	SET(rc, 1);
	SET(qkv, 1);
	SET(pkv, 1);
	SET(atomic, 1);
	SET(pg, 1);
	SET(bf, 1);
	SET(log_bf_reg_size, 9); /* both halves of a register */
	SET(uar_4k, 1);
	SET(uar_sz, 5);
	SET(log_uar_page_sz, 0);
	SET(num_of_uars_per_page, 1);
	SET(log_pg_sz, 12);
	SET(modify_tis, 1);
	SET(max_tc, 8);
	SET(num_vhca_ports, p->adapter->port_count);
	SET(native_port_num, 1);
	SET(stat_rate_support, 0x3ffc);
	SET(cqe_compression, 1);
	SET(cqe_compression_128b, 1);
	SET(cqe_compression_max_num, MLX5_COMP_MOST);
	SET(mini_cqe_resp_stride_index, 1);
	SET(dp_ordering_ooo_all_rc, has(p, HCA_HAS_OUT_OF_ORDER));
	SET(dp_ordering_ooo_all_xrc, has(p, HCA_HAS_OUT_OF_ORDER));
	SET(dp_ordering_ooo_all_dc, has(p, HCA_HAS_OUT_OF_ORDER));
	SET(dp_ordering_ooo_all_ud, has(p, HCA_HAS_OUT_OF_ORDER)); /* datagrams have no order */
	SET(general_obj_types, devx_general_types(p->adapter, 0));
	if (has(p, HCA_HAS_GENEVE_OPTIONS)) {
		SET(max_geneve_tlv_options, DEVX_GENEVE_OPTIONS);
		SET(max_geneve_tlv_option_data_len, DEVX_GENEVE_DATA_MOST);
		SET(geneve_tlv_option_offset, 1);
	}
	SET(flex_parser_protocols, has(p, HCA_HAS_EDITS) ? PARSERS : 0);
}

/* Memory-to-memory operations; those of SQs need a port that has SQs. */
static void fill_mmo(const struct page *p)
{
	uint8_t can = p->adapter->model->mmo;
	bool copies = can & HCA_MMO_CAN_DMA, deflates = can & HCA_MMO_CAN_DEFLATE,
	     inflates = can & HCA_MMO_CAN_INFLATE, lz4 = can & HCA_MMO_CAN_UNLZ4;

	SET(dma_mmo_qp, copies);
	SET(dma_mmo_sq, copies && p->ethernet);
	SET(log_dma_mmo_max_size, copies ? HCA_MMO_LOG_DMA : 0);
	SET(compress_mmo_qp, deflates);
	SET(compress_mmo_sq, deflates && p->ethernet);
	SET(compress_min_block_size, deflates ? 4 : 0);
	SET(log_compress_mmo_size, deflates ? HCA_MMO_LOG_CODEC : 0);
	SET(decompress_deflate_v1, inflates && !(can & HCA_MMO_RESULTS_2));
	SET(decompress_deflate_v2, inflates && can & HCA_MMO_RESULTS_2);
	SET(decompress_mmo_sq, inflates && p->ethernet);
	SET(decompress_lz4_data_only_v2, lz4);
	SET(decompress_lz4_no_checksum_v2, lz4);
	SET(decompress_lz4_checksum_v2, lz4);
	SET(log_decompress_mmo_size, inflates ? HCA_MMO_LOG_CODEC : 0);
}

static void fill_signatures(const struct page *p)
{
	struct mlx5dv_sig_caps caps;

	mlx5_sig_caps(p->adapter, &caps);
	SET(sho, 1);
	SET(sigerr_cqe, 1);
	SET(sigerr_domain_and_sig_type, 1);
	SET(drain_sigerr, 1);
	SET(log_max_bsf_list_size, 3); /* of 16 bytes: signatures and encryption */
	SET(sig_block_4048, !!(caps.block_size & MLX5DV_BLOCK_SIZE_CAP_4048));
	SET(sig_crc32c, !!(caps.crc_type & MLX5DV_SIG_CRC_TYPE_CAP_CRC32C));
	SET(sig_crc64_xp10, !!(caps.crc_type & MLX5DV_SIG_CRC_TYPE_CAP_CRC64_XP10));
}

static void fill_aso(const struct page *p)
{
	SET(flow_access_aso_opc_mod,
	    1u << MLX5_ASO_OPMOD_CT | 1u << MLX5_ASO_OPMOD_METER | 1u << MLX5_ASO_OPMOD_FIRST_HIT);
	SET(log_flow_hit_aso_max_alloc, DEVX_ASO_LOG_RANGE);
	SET(log_max_num_flow_hit_aso, DEVX_ASO_LOG_COUNT);
	SET(max_flow_execute_aso, 8);
}

static int fill_general(const struct page *p)
{
	uint32_t gids = p->limits->gid_table_len + 1;

	fill_limits(p);
	fill_features(p);
	fill_mmo(p);
	fill_signatures(p);
	if (has(p, HCA_HAS_ASO))
		fill_aso(p);
	SET(port_type, p->ethernet ? IFC_PORT_TYPE_ETH : IFC_PORT_TYPE_IB);
	SET(num_ports, p->adapter->port_count);
	SET(lag_master, hca_lag_is_on(p->adapter));
	SET(num_lag_ports, p->adapter->lag_count);
	SET(lag_tx_port_affinity, hca_lag_is_on(p->adapter));
	SET(init2_lag_tx_port_affinity, hca_lag_is_on(p->adapter));
	SET(rts2rts_lag_tx_port_affinity, hca_lag_is_on(p->adapter));
	SET(gid_table_size, log2_up(gids) > 3 ? log2_up(gids) - 3 : 0);
	SET(pkey_table_size, 0); /* 128, the smallest value */
	SET(device_frequency_khz, p->adapter->model->core_clock_khz);
	SET(device_frequency_mhz, p->adapter->model->core_clock_khz / 1000);
	SET(roce, p->ethernet && !p->adapter->roce_off);
	SET(qos, p->ethernet);
	SET(rts2rts_qp_udp_sport, p->ethernet);
	SET(eth_net_offloads, p->ethernet);
	SET(nic_flow_table, 1);
	SET(adv_rdma, 1);
	SET(crypto, p->adapter->model->crypto != HCA_CRYPTO_NONE);
	SET(aes_xts, p->adapter->model->crypto != HCA_CRYPTO_NONE);
	SET(aes_xts_single_block_le_tweak, p->adapter->model->crypto == HCA_CRYPTO_SINGLE_LE);
	SET(aes_xts_multi_block_be_tweak, p->adapter->model->crypto == HCA_CRYPTO_MULTI_BE);
	SET(log_max_dek, p->adapter->model->crypto ? HCA_LOG_DEKS : 0);
	SET(ib_virt, !p->ethernet);
	SET(eth_virt, p->ethernet);
	SET(sq_ts_format, IFC_TS_CAP_FREE_RUNNING);
	SET(rq_ts_format, IFC_TS_CAP_FREE_RUNNING);
	return 0;
}

#undef SET

static int fill_general_2(const struct page *p)
{
	ifc_set(p->cap, cmd_hca_cap_2, log_min_stride_wqe_sz, 4);
	ifc_set(p->cap, cmd_hca_cap_2, general_obj_types_127_64,
		devx_general_types(p->adapter, 64));
	ifc_set(p->cap, cmd_hca_cap_2, dp_ordering_force, has(p, HCA_HAS_OUT_OF_ORDER));
	if (has(p, HCA_HAS_NO_RECORD)) {
		ifc_set(p->cap, cmd_hca_cap_2, send_dbr_mode_no_dbr_ext, 1);
		ifc_set(p->cap, cmd_hca_cap_2, log_max_send_dbr_less_qp_sq, 15);
	}
	if (has(p, HCA_HAS_ASO)) {
		ifc_set(p->cap, cmd_hca_cap_2, log_conn_track_max_alloc, DEVX_ASO_LOG_RANGE);
		ifc_set(p->cap, cmd_hca_cap_2, log_max_conn_track_offload, DEVX_ASO_LOG_COUNT);
	}
	return 0;
}

/* ---- the other pages ---- */

static void fill_odp_scheme(const struct page *p, uint8_t *scheme)
{
	uint8_t *const of[] = {
		ifc_ptr(scheme, odp_scheme_cap, rc_odp_caps),
		ifc_ptr(scheme, odp_scheme_cap, xrc_odp_caps),
		ifc_ptr(scheme, odp_scheme_cap, dc_odp_caps),
	};
	uint8_t *ud = ifc_ptr(scheme, odp_scheme_cap, ud_odp_caps);

	for (size_t i = 0; i < (has(p, HCA_HAS_DC_ODP) ? 3 : 2); i++) {
		ifc_set(of[i], odp_per_transport_service_cap, send, 1);
		ifc_set(of[i], odp_per_transport_service_cap, receive, 1);
		ifc_set(of[i], odp_per_transport_service_cap, write, 1);
		ifc_set(of[i], odp_per_transport_service_cap, read, 1);
		ifc_set(of[i], odp_per_transport_service_cap, atomic, 1);
		ifc_set(of[i], odp_per_transport_service_cap, srq_receive, 1);
	}
	ifc_set(ud, odp_per_transport_service_cap, send, 1);
}

/* Pages are faulted in by the copy itself, so both schemes can do the same. */
static int fill_odp(const struct page *p)
{
	fill_odp_scheme(p, ifc_ptr(p->cap, odp_cap, transport_page_fault_scheme_cap));
	if (!has(p, HCA_HAS_MEMORY_FAULTS))
		return 0;
	fill_odp_scheme(p, ifc_ptr(p->cap, odp_cap, memory_page_fault_scheme_cap));
	ifc_set(p->cap, odp_cap, mem_page_fault, 1);
	return 0;
}

static int fill_atomic(const struct page *p)
{
	ifc_set(p->cap, atomic_caps, atomic_operations,
		IFC_ATOMIC_CMP_SWAP | IFC_ATOMIC_FETCH_ADD | IFC_ATOMIC_MASKED_CMP_SWAP |
			IFC_ATOMIC_MASKED_FETCH_ADD);
	ifc_set(p->cap, atomic_caps, atomic_size_qp, 4 | 8);
	ifc_set(p->cap, atomic_caps, atomic_size_dc, 4 | 8);
	ifc_set(p->cap, atomic_caps, supported_atomic_req_8B_endianness_mode_1, 1);
	ifc_set(p->cap, atomic_caps, atomic_req_8B_endianness_mode,
		p->current && atomic_load(&p->ctx->atomic_reply_be) ? IFC_ATOMIC_REPLY_BE
								    : IFC_ATOMIC_REPLY_HOST);
	return 0;
}

static int fill_roce(const struct page *p)
{
	if (!p->ethernet || p->adapter->roce_off)
		return -ENODEV;
	ifc_set(p->cap, roce_cap, l3_type, 3); /* IPv4 and IPv6 */
	ifc_set(p->cap, roce_cap, roce_version, 1 << IFC_ROCE_V1 | 1 << IFC_ROCE_V2);
	ifc_set(p->cap, roce_cap, r_roce_dest_udp_port, 4791);
	ifc_set(p->cap, roce_cap, r_roce_min_src_udp_port, 0xc000);
	ifc_set(p->cap, roce_cap, r_roce_max_src_udp_port, 0xffff);
	ifc_set(p->cap, roce_cap, roce_address_table_size, p->limits->gid_table_len);
	ifc_set(p->cap, roce_cap, qp_ts_format, IFC_TS_CAP_FREE_RUNNING);
	return 0;
}

static int fill_ethernet(const struct page *p)
{
	if (!p->ethernet)
		return -ENODEV;
	ifc_set(p->cap, eth_cap, csum_cap, 1);
	ifc_set(p->cap, eth_cap, vlan_cap, 1);
	ifc_set(p->cap, eth_cap, enhanced_multi_pkt_send_wqe, has(p, HCA_HAS_FRAMES));
	ifc_set(p->cap, eth_cap, max_lso_cap, 18);
	ifc_set(p->cap, eth_cap, wqe_inline_mode,
		has(p, HCA_HAS_NO_INLINE) ? IFC_INLINE_MODE_CAP_NONE : IFC_INLINE_MODE_CAP_L2);
	ifc_set(p->cap, eth_cap, rss_ind_tbl_cap, 11);
	ifc_set(p->cap, eth_cap, scatter_fcs, 1);
	return 0;
}

/* Rates and limits of scheduling elements act on send queues. */
static int fill_qos(const struct page *p)
{
	ifc_set(p->cap, qos_cap, nic_sq_scheduling, p->ethernet);
	ifc_set(p->cap, qos_cap, nic_rate_limit, p->ethernet);
	ifc_set(p->cap, qos_cap, nic_element_type,
		p->ethernet ? 1 << IFC_SCHED_TSAR | 1 << IFC_SCHED_QUEUE_GROUP : 0);
	ifc_set(p->cap, qos_cap, nic_tsar_type, p->ethernet);
	ifc_set(p->cap, qos_cap, packet_pacing, p->ethernet);
	ifc_set(p->cap, qos_cap, packet_pacing_burst_bound, p->ethernet);
	ifc_set(p->cap, qos_cap, packet_pacing_max_rate, p->ethernet ? HCA_RATE_MOST : 0);
	ifc_set(p->cap, qos_cap, packet_pacing_min_rate, p->ethernet);
	ifc_set(p->cap, qos_cap, packet_pacing_rate_table_size, p->ethernet ? 128 : 0);
	ifc_set(p->cap, qos_cap, flow_meter_old, p->ethernet);
	ifc_set(p->cap, qos_cap, flow_meter, p->ethernet);
	ifc_set(p->cap, qos_cap, log_max_flow_meter, p->ethernet ? DEVX_ASO_LOG_COUNT : 0);
	ifc_set(p->cap, qos_cap, flow_meter_reg_id, p->ethernet ? 0xff : 0); /* c_0 to c_7 */
	ifc_set(p->cap, qos_cap, log_meter_aso_max_alloc, p->ethernet ? DEVX_ASO_LOG_RANGE : 0);
	ifc_set(p->cap, qos_cap, log_max_num_meter_aso, p->ethernet ? DEVX_ASO_LOG_COUNT : 0);
	return 0;
}

static int fill_device_memory(const struct page *p)
{
	ifc_set(p->cap, device_mem_cap, memic, p->limits->max_dm_size > 0);
	ifc_set(p->cap, device_mem_cap, log_min_memic_alloc_size, 6);
	ifc_set(p->cap, device_mem_cap, log_max_memic_addr_alignment, 6);
	ifc_set(p->cap, device_mem_cap, max_memic_size, p->limits->max_dm_size);
	ifc_set(p->cap, device_mem_cap, memic_bar_size, p->limits->max_dm_size >> 6);
	if (!p->limits->max_dm_size)
		return 0;
	ifc_set(p->cap, device_mem_cap, memic_operations, HCA_DM_OP_MASK);
	ifc_set(p->cap, device_mem_cap, memic_increment_sizes, HCA_DM_OP_SIZES);
	ifc_set(p->cap, device_mem_cap, memic_test_and_set_sizes, HCA_DM_OP_SIZES);
	return 0;
}

/*
 * The fields of the match parameters, a bit each in the order of the device. Missing: source_vhca_port,
 * source_eswitch_port (of the switch only), samples of programmed parsers, control words of MPLS,
 * metadata_reg_b, outer_emd_tag, IPsec syndromes, headers of InfiniBand.
 */
static void fill_fields(uint8_t *fields)
{
	static const uint32_t known[] = { 0xfffffffc, 0xffffff99, 0xfffffbff, 0xe7c13fff };

	for (size_t i = 0; i < array_size(known); i++)
		ifc_store(fields, 32 * i, 32, known[i]);
}

static void fill_table_sizes(uint8_t *table)
{
	ifc_set(table, flow_table_prop_layout, log_max_destination, log2_down(DEVX_FLOW_DESTS));
	ifc_set(table, flow_table_prop_layout, log_max_ft_size, DEVX_FLOW_LOG_SIZE);
	ifc_set(table, flow_table_prop_layout, max_ft_level, DEVX_FLOW_LEVELS);
	ifc_set(table, flow_table_prop_layout, log_max_ft_num, 16);
	ifc_set(table, flow_table_prop_layout, log_max_flow_counter, 16);
	ifc_set(table, flow_table_prop_layout, log_max_flow, 16);
	fill_fields(ifc_ptr(table, flow_table_prop_layout, ft_field_support));
	fill_fields(ifc_ptr(table, flow_table_prop_layout, ft_field_bitmask_support));
}

static void fill_edits(uint8_t *table, bool receive)
{
	ifc_set(table, flow_table_prop_layout, reformat, 1);
	ifc_set(table, flow_table_prop_layout, decap, receive);
	ifc_set(table, flow_table_prop_layout, pop_vlan, 1);
	ifc_set(table, flow_table_prop_layout, push_vlan, 1);
	ifc_set(table, flow_table_prop_layout, reformat_l3_tunnel_to_l2, receive);
	ifc_set(table, flow_table_prop_layout, reformat_l2_to_l3_tunnel, !receive);
	ifc_set(table, flow_table_prop_layout, reformat_and_modify_action, 1);
	ifc_set(table, flow_table_prop_layout, reformat_and_vlan_action, 1);
	ifc_set(table, flow_table_prop_layout, modify_and_vlan_action, 1);
	ifc_set(table, flow_table_prop_layout, log_max_modify_header_context, 16);
	ifc_set(table, flow_table_prop_layout, max_modify_header_actions, DEVX_FLOW_MODIFY);
}

/* Flow tables of either direction, by direct rules (dr.c) and by commands (devx_flow.c). */
static void fill_flow_table(const struct page *p, uint8_t *table, bool receive)
{
	ifc_set(table, flow_table_prop_layout, ft_support, 1);
	ifc_set(table, flow_table_prop_layout, flow_tag, receive);
	ifc_set(table, flow_table_prop_layout, flow_counter, 1);
	ifc_set(table, flow_table_prop_layout, flow_modify_en, 1);
	ifc_set(table, flow_table_prop_layout, identified_miss_table, 1);
	ifc_set(table, flow_table_prop_layout, flow_table_modify, 1);
	if (has(p, HCA_HAS_EDITS))
		fill_edits(table, receive);
	fill_table_sizes(table);
}

/* Tables of packets of queue pairs: their rules count and drop. */
static void fill_rdma_table(uint8_t *table)
{
	ifc_set(table, flow_table_prop_layout, ft_support, 1);
	ifc_set(table, flow_table_prop_layout, flow_counter, 1);
	ifc_set(table, flow_table_prop_layout, flow_modify_en, 1);
	ifc_set(table, flow_table_prop_layout, identified_miss_table, 1);
	ifc_set(table, flow_table_prop_layout, flow_table_modify, 1);
	fill_table_sizes(table);
}

/* Tables of frames, of Ethernet ports. */
static void fill_frame_tables(const struct page *p)
{
	if (has(p, HCA_HAS_EDITS)) {
		ifc_set(p->cap, flow_table_nic_cap, encap_general_header, 1);
		ifc_set(p->cap, flow_table_nic_cap, log_max_packet_reformat_context, 16);
		ifc_set(p->cap, flow_table_nic_cap, max_encap_header_size, FLOW_DATA_MAX);
	}
	fill_flow_table(p, ifc_ptr(p->cap, flow_table_nic_cap, flow_table_properties_nic_receive),
			true);
	fill_flow_table(p, ifc_ptr(p->cap, flow_table_nic_cap, flow_table_properties_nic_transmit),
			false);
}

static int fill_nic_flow(const struct page *p)
{
	if (p->ethernet)
		fill_frame_tables(p);
	fill_rdma_table(
		ifc_ptr(p->cap, flow_table_nic_cap, flow_table_properties_nic_receive_rdma));
	fill_rdma_table(
		ifc_ptr(p->cap, flow_table_nic_cap, flow_table_properties_nic_transmit_rdma));
	return 0;
}

static int fill_adv_rdma(const struct page *p)
{
	fill_rdma_table(ifc_ptr(p->cap, adv_rdma_cap, rdma_transport_rx_flow_table_properties));
	fill_rdma_table(ifc_ptr(p->cap, adv_rdma_cap, rdma_transport_tx_flow_table_properties));
	return 0;
}

static int fill_device_event(const struct page *p)
{
	const uint64_t of_objects = 1ull << IFC_EVENT_COMP | 1ull << IFC_EVENT_PATH_MIG |
				    1ull << IFC_EVENT_COMM_EST | 1ull << IFC_EVENT_SQ_DRAINED |
				    1ull << IFC_EVENT_CQ_ERROR | 1ull << IFC_EVENT_WQ_CATAS |
				    1ull << IFC_EVENT_PATH_MIG_FAILED |
				    1ull << IFC_EVENT_WQ_INVALID_REQUEST |
				    1ull << IFC_EVENT_WQ_ACCESS | 1ull << IFC_EVENT_SRQ_CATAS |
				    1ull << IFC_EVENT_SRQ_LAST_WQE | 1ull << IFC_EVENT_SRQ_LIMIT;
	const uint64_t of_none = 1ull << IFC_EVENT_PORT_STATE | 1ull << IFC_EVENT_INTERNAL_ERROR;

	ifc_set(p->cap, device_event_cap, user_affiliated_events, of_objects);
	ifc_set(p->cap, device_event_cap, user_unaffiliated_events, of_none);
	return 0;
}

static int fill_crypto(const struct page *p)
{
	bool wrapped = p->adapter->crypto.kek_len;

	if (!p->adapter->model->crypto)
		return 0;
	ifc_set(p->cap, crypto_caps, wrapped_crypto_operational, wrapped);
	ifc_set(p->cap, crypto_caps, wrapped_import_method,
		wrapped ? IFC_IMPORT_METHOD_AES_XTS : 0);
	ifc_set(p->cap, crypto_caps, log_max_num_deks, HCA_LOG_DEKS);
	ifc_set(p->cap, crypto_caps, log_max_num_import_keks, wrapped ? HCA_LOG_SECRETS : 0);
	ifc_set(p->cap, crypto_caps, log_max_num_creds, wrapped ? HCA_LOG_SECRETS : 0);
	ifc_set(p->cap, crypto_caps, num_nv_import_keks, wrapped);
	ifc_set(p->cap, crypto_caps, num_nv_credentials, wrapped);
	return 0;
}

static int fill_nothing(const struct page *p)
{
	(void)p;
	return 0;
}

static int (*const fill[])(const struct page *p) = {
	[IFC_CAP_GENERAL] = fill_general,
	[IFC_CAP_ETHERNET] = fill_ethernet,
	[IFC_CAP_ODP] = fill_odp,
	[IFC_CAP_ATOMIC] = fill_atomic,
	[IFC_CAP_ROCE] = fill_roce,
	[IFC_CAP_IPOIB] = fill_nothing,
	[IFC_CAP_NIC_FLOW_TABLE] = fill_nic_flow,
	[IFC_CAP_ESW_FLOW_TABLE] = fill_nothing,
	[IFC_CAP_ESW] = fill_nothing,
	[IFC_CAP_QOS] = fill_qos,
	[IFC_CAP_DEVICE_MEMORY] = fill_device_memory,
	[IFC_CAP_VDPA] = fill_nothing,
	[IFC_CAP_DEVICE_EVENT] = fill_device_event,
	[IFC_CAP_CRYPTO] = fill_crypto,
	[IFC_CAP_WQE_BASED_FLOW_TABLE] = fill_nothing,
	[IFC_CAP_PARSE_GRAPH_NODE] = fill_nothing,
	[IFC_CAP_GENERAL_2] = fill_general_2,
	[IFC_CAP_ADV_RDMA] = fill_adv_rdma,
};

int devx_query_hca_cap(struct devx_cmd *c)
{
	unsigned int number = devx_op_mod(c) >> 1;
	struct page p = {
		.adapter = c->adapter,
		.limits = &c->adapter->limits,
		.ethernet = c->devx->ctx->ethernet,
		.current = devx_op_mod(c) & 1,
		.ctx = &c->devx->ctx->vb->hca,
		.cap = ifc_ptr(c->out, query_hca_cap_out, capability),
	};

	if (number >= array_size(fill) || !fill[number])
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OP_MOD,
				   "op_mod 0x%x names page 0x%x, which the device does not have",
				   devx_op_mod(c), number);
	if (ifc_get(c->in, query_hca_cap_in, other_function))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "there is no other function");
	if (fill[number](&p))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OP_MOD,
				   "page 0x%x is for Ethernet ports (and RoCE) only", number);
	return 0;
}

/*
 * The one value that a driver chooses: the byte order in which the requester stores the reply of an atomic
 * of 8 bytes. The kernel's driver chooses the host's; a program that drives the device itself may not.
 */
int devx_set_hca_cap(struct devx_cmd *c)
{
	const uint8_t *cap = ifc_cptr(c->in, set_hca_cap_in, capability);
	unsigned int number = devx_op_mod(c) >> 1;
	unsigned int mode = ifc_get(cap, atomic_caps, atomic_req_8B_endianness_mode);

	if (number != IFC_CAP_ATOMIC)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OP_MOD,
				   "op_mod 0x%x: values of page 0x%x are fixed", devx_op_mod(c),
				   number);
	if (ifc_get(c->in, set_hca_cap_in, other_function))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "there is no other function");
	if (mode > IFC_ATOMIC_REPLY_HOST)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "byte order %u of atomic replies; %u (big endian) and %u (the "
				   "host's) are offered",
				   mode, IFC_ATOMIC_REPLY_BE, IFC_ATOMIC_REPLY_HOST);
	atomic_store(&c->devx->ctx->vb->hca.atomic_reply_be, mode == IFC_ATOMIC_REPLY_BE);
	return 0;
}
