/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands: kind of object, call, least mailbox lengths, function.
 */
#include "mlx5/devx_table.h"

#include "hca/raw/flow.h"
#include "mlx5/devx_cap.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_counter.h"
#include "mlx5/devx_cq.h"
#include "mlx5/devx_dct.h"
#include "mlx5/devx_eq.h"
#include "mlx5/devx_flow.h"
#include "mlx5/devx_fte.h"
#include "mlx5/devx_general.h"
#include "mlx5/devx_lag.h"
#include "mlx5/devx_mem.h"
#include "mlx5/devx_misc.h"
#include "mlx5/devx_mkey.h"
#include "mlx5/devx_port.h"
#include "mlx5/devx_psv.h"
#include "mlx5/devx_qp.h"
#include "mlx5/devx_reg.h"
#include "mlx5/devx_rqt.h"
#include "mlx5/devx_sched.h"
#include "mlx5/devx_sq.h"
#include "mlx5/devx_srq.h"
#include "mlx5/devx_tir.h"
#include "mlx5/devx_wq.h"

#define HEAD    0x10
#define CAP_MIN 0x110 /* capability pages have several lengths */

#define ROW(op, kind, verb, in, out, run)                                                          \
	{                                                                                          \
		IFC_OP_##op, DEVX_##kind, DEVX_##verb, (uint16_t)(in), (uint16_t)(out), 0, 0, run  \
	}
/* Commands that name the object elsewhere than most. */
#define ROW_AT(op, kind, verb, in, out, layout, field, run)                                        \
	{                                                                                          \
		IFC_OP_##op, DEVX_##kind, DEVX_##verb, (uint16_t)(in), (uint16_t)(out),            \
			IFC_BIT(layout, field), IFC_WIDTH(layout, field), run                      \
	}
#define LEN(layout) IFC_LEN_##layout

/* A state change without attributes is only its header. */
#define EDGE(op, in) ROW(op, QP, MODIFY, in, HEAD, devx_modify_qp)

static const struct devx_row rows[] = {
	/* the device and its ports */
	ROW(QUERY_HCA_CAP, NONE, GENERAL_CMD, HEAD, CAP_MIN, devx_query_hca_cap),
	ROW(SET_HCA_CAP, NONE, GENERAL_CMD, CAP_MIN, HEAD, devx_set_hca_cap),
	ROW(QUERY_ADAPTER, NONE, GENERAL_CMD, HEAD, LEN(query_adapter_out), devx_query_adapter),
	ROW(QUERY_ISSI, NONE, GENERAL_CMD, HEAD, LEN(query_issi_out), devx_query_issi),
	ROW(NOP, NONE, GENERAL_CMD, HEAD, HEAD, devx_nop),
	ROW(QUERY_SPECIAL_CONTEXTS, NONE, GENERAL_CMD, HEAD, HEAD, devx_query_special),
	ROW(QUERY_NIC_VPORT_CONTEXT, NONE, GENERAL_CMD, HEAD, LEN(query_nic_vport_context_out),
	    devx_query_nic_vport),
	ROW(QUERY_ESW_VPORT_CONTEXT, NONE, GENERAL_CMD, HEAD, LEN(query_esw_vport_context_out),
	    devx_query_esw_vport),
	ROW(QUERY_VPORT_STATE, NONE, GENERAL_CMD, HEAD, HEAD, devx_query_vport_state),
	ROW(QUERY_HCA_VPORT_CONTEXT, NONE, GENERAL_CMD, HEAD, LEN(query_hca_vport_context_out),
	    devx_query_hca_vport),
	ROW(QUERY_HCA_VPORT_GID, NONE, GENERAL_CMD, HEAD, LEN(query_hca_vport_gid_out) + 16,
	    devx_query_hca_gid),
	ROW(QUERY_HCA_VPORT_PKEY, NONE, GENERAL_CMD, HEAD, LEN(query_hca_vport_pkey_out) + 4,
	    devx_query_hca_pkey),
	ROW(QUERY_ROCE_ADDRESS, NONE, GENERAL_CMD, HEAD, LEN(query_roce_address_out),
	    devx_query_roce_address),
	ROW(QUERY_VNIC_ENV, NONE, GENERAL_CMD, HEAD, HEAD, devx_zeros),
	ROW(QUERY_VPORT_COUNTER, NONE, GENERAL_CMD, LEN(query_vport_counter_in),
	    LEN(query_vport_counter_out), devx_query_vport_counter),
	ROW(QUERY_CONG_STATUS, NONE, GENERAL_CMD, HEAD, HEAD, devx_zeros),
	ROW(QUERY_CONG_STATISTICS, NONE, GENERAL_CMD, HEAD, HEAD, devx_zeros),
	ROW(CREATE_LAG, NONE, GENERAL_CMD, LEN(create_lag_in), HEAD, devx_create_lag),
	ROW(QUERY_LAG, NONE, GENERAL_CMD, HEAD, HEAD, devx_query_lag),
	ROW(MODIFY_LAG, NONE, GENERAL_CMD, LEN(modify_lag_in), HEAD, devx_modify_lag),
	ROW(DESTROY_LAG, NONE, GENERAL_CMD, HEAD, HEAD, devx_destroy_lag),
	ROW(ACCESS_REG, NONE, GENERAL_CMD, HEAD, HEAD, devx_access_reg),
	ROW(ACCESS_REGISTER_USER, NONE, GENERAL_CMD, HEAD, HEAD, devx_access_reg),
	ROW(SYNC_STEERING, NONE, GENERAL_CMD, HEAD, HEAD, devx_zeros),
	ROW(QUERY_EQ, NONE, GENERAL_CMD, HEAD, LEN(query_eq_out), devx_query_eq),

	/* domains and memory */
	ROW(ALLOC_PD, PD, CREATE, HEAD, HEAD, devx_alloc_pd),
	ROW(DEALLOC_PD, PD, DESTROY, HEAD, HEAD, NULL),
	ROW(ALLOC_TRANSPORT_DOMAIN, TD, CREATE, HEAD, HEAD, devx_alloc_number),
	ROW(DEALLOC_TRANSPORT_DOMAIN, TD, DESTROY, HEAD, HEAD, NULL),
	ROW(ALLOC_XRCD, XRCD, CREATE, HEAD, HEAD, devx_alloc_xrcd),
	ROW(DEALLOC_XRCD, XRCD, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_MKEY, MKEY, CREATE, LEN(create_mkey_in), HEAD, devx_create_mkey),
	ROW(QUERY_MKEY, MKEY, QUERY, HEAD, ifc_end(query_mkey_out, memory_key_mkey_entry),
	    devx_query_mkey),
	ROW(DESTROY_MKEY, MKEY, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_PSV, PSV, CREATE, HEAD, ifc_end(create_psv_out, psv0_index), devx_create_psv),
	ROW(DESTROY_PSV, PSV, DESTROY, HEAD, HEAD, NULL),

	/* events and completions */
	ROW(CREATE_EQ, EQ, CREATE_EQ, LEN(create_eq_in), HEAD, devx_create_eq),
	ROW(DESTROY_EQ, EQ, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_CQ, CQ, CREATE, LEN(create_cq_in), HEAD, devx_create_cq),
	ROW(QUERY_CQ, CQ, QUERY, HEAD, LEN(query_cq_out), devx_query_cq),
	ROW(MODIFY_CQ, CQ, MODIFY, LEN(modify_cq_in), HEAD, devx_modify_cq),
	ROW(DESTROY_CQ, CQ, DESTROY, HEAD, HEAD, NULL),

	/* queue pairs */
	ROW(CREATE_QP, QP, CREATE, LEN(create_qp_in), HEAD, devx_create_qp),
	EDGE(RST2INIT_QP, LEN(modify_qp_in)),
	EDGE(INIT2INIT_QP, LEN(modify_qp_in)),
	EDGE(INIT2RTR_QP, LEN(modify_qp_in)),
	EDGE(RTR2RTS_QP, LEN(modify_qp_in)),
	EDGE(RTS2RTS_QP, LEN(modify_qp_in)),
	EDGE(SQERR2RTS_QP, LEN(modify_qp_in)),
	EDGE(RTS2SQD_QP, LEN(modify_qp_in)),
	EDGE(SQD2RTS_QP, LEN(modify_qp_in)),
	EDGE(2ERR_QP, HEAD),
	EDGE(2RST_QP, HEAD),
	ROW(QUERY_QP, QP, QUERY, HEAD, LEN(query_qp_out), devx_query_qp),
	ROW(DESTROY_QP, QP, DESTROY, HEAD, HEAD, NULL),
	ROW(ATTACH_TO_MCG, MCG, CREATE, LEN(attach_to_mcg_in), HEAD, devx_attach_mcg),
	ROW(DETACH_FROM_MCG, MCG, DESTROY, HEAD, HEAD, NULL),

	/* shared receive queues, DC targets */
	ROW(CREATE_SRQ, SRQ, CREATE, LEN(create_srq_in), HEAD, devx_create_srq),
	ROW(QUERY_SRQ, SRQ, QUERY, HEAD, LEN(query_srq_out), devx_query_srq),
	ROW(DESTROY_SRQ, SRQ, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_XRC_SRQ, XRC_SRQ, CREATE, LEN(create_xrc_srq_in), HEAD, devx_create_xrc_srq),
	ROW(QUERY_XRC_SRQ, XRC_SRQ, QUERY, HEAD, LEN(query_xrc_srq_out), devx_query_srq),
	ROW(ARM_XRC_SRQ, XRC_SRQ, MODIFY, HEAD, HEAD, devx_arm_rq),
	ROW(DESTROY_XRC_SRQ, XRC_SRQ, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_RMP, RMP, CREATE, LEN(create_rmp_in), HEAD, devx_create_rmp),
	ROW(MODIFY_RMP, RMP, MODIFY, LEN(modify_rmp_in), HEAD, devx_modify_rmp),
	ROW(QUERY_RMP, RMP, QUERY, HEAD, LEN(query_rmp_out), devx_query_rmp),
	ROW(ARM_RQ, RMP, MODIFY, HEAD, HEAD, devx_arm_rq),
	ROW(DESTROY_RMP, RMP, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_XRQ, XRQ, CREATE, LEN(create_xrq_in), HEAD, devx_create_xrq),
	ROW(QUERY_XRQ, XRQ, QUERY, HEAD, LEN(query_xrq_out), devx_query_xrq),
	ROW(ARM_XRQ, XRQ, MODIFY, HEAD, HEAD, devx_arm_xrq),
	ROW(SET_XRQ_DC_PARAMS_ENTRY, XRQ, MODIFY, HEAD, HEAD, devx_set_xrq_dc),
	ROW(DESTROY_XRQ, XRQ, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_DCT, DCT, CREATE, ifc_byte(create_dct_in, dct_context_entry) + 0x40, HEAD,
	    devx_create_dct),
	ROW(QUERY_DCT, DCT, QUERY, HEAD, ifc_byte(query_dct_out, dct_context_entry) + 0x40,
	    devx_query_dct),
	ROW(DRAIN_DCT, DCT, MODIFY, HEAD, HEAD, devx_drain_dct),
	ROW(DESTROY_DCT, DCT, DESTROY, HEAD, HEAD, NULL),

	/* raw queues */
	ROW(CREATE_RQ, RQ, CREATE, LEN(create_rq_in), HEAD, devx_create_rq),
	ROW(MODIFY_RQ, RQ, MODIFY, LEN(modify_rq_in), HEAD, devx_modify_rq),
	ROW(QUERY_RQ, RQ, QUERY, HEAD, LEN(query_rq_out), devx_query_rq),
	ROW(DESTROY_RQ, RQ, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_SQ, SQ, CREATE, LEN(create_sq_in), HEAD, devx_create_sq),
	ROW(MODIFY_SQ, SQ, MODIFY, LEN(modify_sq_in), HEAD, devx_modify_sq),
	ROW(QUERY_SQ, SQ, QUERY, HEAD, LEN(query_sq_out), devx_query_sq),
	ROW(DESTROY_SQ, SQ, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_RQT, RQT, CREATE, LEN(create_rqt_in), HEAD, devx_create_rqt),
	ROW(MODIFY_RQT, RQT, MODIFY, LEN(modify_rqt_in), HEAD, devx_modify_rqt),
	ROW(QUERY_RQT, RQT, QUERY, HEAD, LEN(query_rqt_out), devx_query_rqt),
	ROW(DESTROY_RQT, RQT, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_TIR, TIR, CREATE, LEN(create_tir_in), HEAD, devx_create_tir),
	ROW(MODIFY_TIR, TIR, MODIFY, LEN(modify_tir_in), HEAD, devx_modify_tir),
	ROW(QUERY_TIR, TIR, QUERY, HEAD, LEN(query_tir_out), devx_query_tir),
	ROW(DESTROY_TIR, TIR, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_TIS, TIS, CREATE, LEN(create_tis_in), HEAD, devx_create_tis),
	ROW(MODIFY_TIS, TIS, MODIFY, LEN(modify_tis_in), HEAD, devx_modify_tis),
	ROW(QUERY_TIS, TIS, QUERY, HEAD, LEN(query_tis_out), devx_query_tis),
	ROW(DESTROY_TIS, TIS, DESTROY, HEAD, HEAD, NULL),

	/* counters and general objects */
	ROW(ALLOC_Q_COUNTER, Q_COUNTER, CREATE, HEAD, HEAD, devx_alloc_q_counter),
	ROW_AT(QUERY_Q_COUNTER, Q_COUNTER, QUERY, LEN(query_q_counter_in), LEN(query_q_counter_out),
	       query_q_counter_in, counter_set_id, devx_query_q_counter),
	ROW(DEALLOC_Q_COUNTER, Q_COUNTER, DESTROY, HEAD, HEAD, NULL),
	ROW(ALLOC_FLOW_COUNTER, FLOW_COUNTER, CREATE, HEAD, HEAD, devx_alloc_flow_counter),
	ROW_AT(QUERY_FLOW_COUNTER, FLOW_COUNTER, QUERY, LEN(query_flow_counter_in),
	       LEN(query_flow_counter_out) + 16, query_flow_counter_in, flow_counter_id,
	       devx_query_flow_counter),
	ROW(DEALLOC_FLOW_COUNTER, FLOW_COUNTER, DESTROY, HEAD, HEAD, NULL),

	/* flow tables; SET_FLOW_TABLE_ENTRY makes and changes */
	ROW(CREATE_FLOW_TABLE, FLOW_TABLE, CREATE, LEN(create_flow_table_in), HEAD,
	    devx_create_flow_table),
	ROW_AT(QUERY_FLOW_TABLE, FLOW_TABLE, QUERY, LEN(flow_cmd_in), LEN(query_flow_table_out),
	       flow_cmd_in, table_id, devx_query_flow_table),
	ROW_AT(MODIFY_FLOW_TABLE, FLOW_TABLE, MODIFY, LEN(modify_flow_table_in), HEAD, flow_cmd_in,
	       table_id, devx_modify_flow_table),
	ROW(DESTROY_FLOW_TABLE, FLOW_TABLE, DESTROY, HEAD, HEAD, NULL),
	ROW(CREATE_FLOW_GROUP, FLOW_GROUP, CREATE, LEN(create_flow_group_in), HEAD,
	    devx_create_flow_group),
	ROW_AT(QUERY_FLOW_GROUP, FLOW_GROUP, QUERY, LEN(query_flow_group_in),
	       LEN(query_flow_group_out), query_flow_group_in, group_id, devx_query_flow_group),
	ROW(DESTROY_FLOW_GROUP, FLOW_GROUP, DESTROY, HEAD, HEAD, NULL),
	ROW(SET_FLOW_TABLE_ENTRY, FLOW_ENTRY, CREATE, LEN(set_fte_in), HEAD, devx_create_fte),
	ROW_AT(SET_FLOW_TABLE_ENTRY, FLOW_ENTRY, MODIFY, LEN(set_fte_in), HEAD, set_fte_in,
	       flow_index, devx_modify_fte),
	ROW_AT(QUERY_FLOW_TABLE_ENTRY, FLOW_ENTRY, QUERY, LEN(query_fte_in), LEN(query_fte_out),
	       query_fte_in, flow_index, devx_query_fte),
	ROW(DELETE_FLOW_TABLE_ENTRY, FLOW_ENTRY, DESTROY, HEAD, HEAD, NULL),
	ROW(ALLOC_PACKET_REFORMAT_CONTEXT, REFORMAT, CREATE, LEN(alloc_packet_reformat_context_in),
	    HEAD, devx_alloc_reformat),
	ROW(DEALLOC_PACKET_REFORMAT_CONTEXT, REFORMAT, DESTROY, HEAD, HEAD, NULL),
	ROW(ALLOC_MODIFY_HEADER_CONTEXT, MODIFY_HEADER, CREATE, LEN(alloc_modify_header_context_in),
	    HEAD, devx_alloc_modify_header),
	ROW(DEALLOC_MODIFY_HEADER_CONTEXT, MODIFY_HEADER, DESTROY, HEAD, HEAD, NULL),

	/* scheduling */
	ROW(CREATE_SCHEDULING_ELEMENT, SCHED, CREATE, LEN(create_scheduling_element_in),
	    LEN(create_scheduling_element_out), devx_create_sched),
	ROW_AT(QUERY_SCHEDULING_ELEMENT, SCHED, QUERY, LEN(query_scheduling_element_in),
	       LEN(query_scheduling_element_out), query_scheduling_element_in,
	       scheduling_element_id, devx_query_sched),
	ROW_AT(MODIFY_SCHEDULING_ELEMENT, SCHED, MODIFY, LEN(modify_scheduling_element_in), HEAD,
	       modify_scheduling_element_in, scheduling_element_id, devx_modify_sched),
	ROW(DESTROY_SCHEDULING_ELEMENT, SCHED, DESTROY, HEAD, HEAD, NULL),

	ROW(CREATE_GENERAL_OBJECT, GENERAL, CREATE, HEAD, HEAD, devx_create_general),
	ROW_AT(QUERY_GENERAL_OBJECT, GENERAL, QUERY, HEAD, HEAD, general_obj_in_cmd_hdr, obj_id,
	       devx_query_general),
	ROW_AT(MODIFY_GENERAL_OBJECT, GENERAL, MODIFY, HEAD, HEAD, general_obj_in_cmd_hdr, obj_id,
	       devx_modify_general),
	ROW(DESTROY_GENERAL_OBJECT, GENERAL, DESTROY, HEAD, HEAD, NULL),
};

const struct devx_row *devx_row_find(uint16_t op, enum devx_verb verb)
{
	const struct devx_row *other = NULL;

	for (size_t i = 0; i < array_size(rows); i++)
		if (rows[i].op == op) {
			if (rows[i].verb == verb)
				return &rows[i];
			other = &rows[i];
		}
	return other;
}
