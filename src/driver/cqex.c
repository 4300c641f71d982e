/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/cqex.h"

#include "driver/poll.h"

static void end_poll(struct ibv_cq_ex *ex)
{
	drv_end_poll(to_drv_cq_ex(ex));
}

void drv_cqex_fill(struct drv_cq *cq, uint64_t wc_flags, const struct ibv_cq_ex *all)
{
	struct ibv_cq_ex *ex = &cq->vb.ex;

	ex->start_poll = all->start_poll;
	ex->next_poll = all->next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = all->read_opcode;
	ex->read_vendor_err = all->read_vendor_err;
	ex->read_wc_flags = all->read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = all->read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = all->read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = all->read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = all->read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = all->read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = all->read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = all->read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = all->read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = all->read_completion_wallclock_ns;
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		ex->read_cvlan = all->read_cvlan;
	if (wc_flags & IBV_WC_EX_WITH_FLOW_TAG)
		ex->read_flow_tag = all->read_flow_tag;
	if (wc_flags & IBV_WC_EX_WITH_TM_INFO)
		ex->read_tm_info = all->read_tm_info;
}
