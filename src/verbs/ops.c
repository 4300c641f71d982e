/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dispatch tables that the public inline functions call through. Entries of the tables below answer
 * EOPNOTSUPP until the driver sets them; the others are calls that need no driver. docs/support.py reads
 * the tables: a line is always OP_KIND(field); delete it when the call is implemented for every model.
 */
#include "verbs/ops.h"

#include "util/explain.h"
#include "verbs/advise.h"
#include "verbs/counters.h"
#include "verbs/cq.h"
#include "verbs/dm.h"
#include "verbs/flow.h"
#include "verbs/mr.h"
#include "verbs/mw.h"
#include "verbs/parent.h"
#include "verbs/qp.h"
#include "verbs/qp_attr.h"
#include "verbs/qp_xrc.h"
#include "verbs/query.h"
#include "verbs/srq.h"
#include "verbs/wq.h"
#include "verbs/xrcd.h"

#define OPS                                                                                        \
	OP_ERRNO(bind_mw)                                                                          \
	OP_NEG(poll_cq)                                                                            \
	OP_ERRNO(req_notify_cq)                                                                    \
	OP_POST(post_srq_recv)                                                                     \
	OP_POST(post_send)                                                                         \
	OP_POST(post_recv)

#define OPS_EX OP_POST(post_srq_ops)

#define OP_DEFINE(type, field, answer)                                                             \
	static type missing_##field(void)                                                          \
	{                                                                                          \
		explain_stub(#field);                                                              \
		return answer;                                                                     \
	}
#define OP_PTR(field)   OP_DEFINE(void *, field, NULL)
#define OP_ERRNO(field) OP_DEFINE(int, field, EOPNOTSUPP)
#define OP_NEG(field)   OP_DEFINE(int, field, -EOPNOTSUPP)
#define OP_VOID(field)  OP_DEFINE(void, field, )
/* the first request of the chain is the one that was not posted */
#define OP_POST(field)                                                                             \
	static int missing_##field(void *queue, void *wr, void **bad_wr)                           \
	{                                                                                          \
		*bad_wr = wr;                                                                      \
		return explain_stub(#field);                                                       \
	}
/* clang-format off */
OPS
OPS_EX
/* clang-format on */
#undef OP_PTR
#undef OP_ERRNO
#undef OP_NEG
#undef OP_VOID
#undef OP_POST

	void
	vb_ops_init(struct verbs_context *verbs)
{
	/* A stub reads no argument, or only the arguments of its kind of call: the cast is safe. */
#define OP_SET(field)   verbs->context.ops.field = (void *)missing_##field;
#define OP_PTR(field)   OP_SET(field)
#define OP_ERRNO(field) OP_SET(field)
#define OP_NEG(field)   OP_SET(field)
#define OP_POST(field)  OP_SET(field)
	/* clang-format off */
	OPS
#undef OP_SET
#define OP_SET(field)  verbs->field = (void *)missing_##field;
#define OP_VOID(field) OP_SET(field)
	OPS_EX
			/* clang-format on */

			verbs->context.ops.alloc_mw = vb_alloc_mw;
	verbs->context.ops.dealloc_mw = vb_dealloc_mw;
	verbs->alloc_td = vb_alloc_td;
	verbs->dealloc_td = vb_dealloc_td;
	verbs->alloc_parent_domain = vb_alloc_parent_domain;
	verbs->alloc_null_mr = vb_alloc_null_mr;
	verbs->advise_mr = vb_advise_mr;
	verbs->reg_mr_ex = ibv_reg_mr_ex;
	verbs->alloc_buf = ibv_alloc_buf;
	verbs->free_buf = ibv_free_buf;
	verbs->alloc_dmah = ibv_alloc_dmah;
	verbs->dealloc_dmah = ibv_dealloc_dmah;
	verbs->alloc_dm = vb_alloc_dm;
	verbs->dm_export_dmabuf_fd = ibv_dm_export_dmabuf_fd;
	verbs->free_dm = vb_free_dm;
	verbs->reg_dm_mr = vb_reg_dm_mr;
	verbs->create_cq_ex = vb_create_cq_ex;
	verbs->modify_cq = vb_modify_cq;
	verbs->create_srq_ex = vb_create_srq_ex;
	verbs->get_srq_num = vb_get_srq_num;
	verbs->create_wq = vb_create_wq;
	verbs->modify_wq = vb_modify_wq;
	verbs->destroy_wq = vb_destroy_wq;
	verbs->create_rwq_ind_table = vb_create_rwq_ind_table;
	verbs->destroy_rwq_ind_table = vb_destroy_rwq_ind_table;
	verbs->open_xrcd = vb_open_xrcd;
	verbs->close_xrcd = vb_close_xrcd;
	verbs->create_qp_ex = vb_create_qp_ex;
	verbs->open_qp = vb_open_qp;
	verbs->modify_qp_rate_limit = vb_modify_qp_rate_limit;
	verbs->query_port = vb_query_port;
	verbs->query_device_ex = vb_query_device_ex;
	verbs->query_rt_values = vb_query_rt_values;
	verbs->ibv_create_flow = vb_create_flow;
	verbs->ibv_destroy_flow = vb_destroy_flow;
	verbs->create_flow_action_esp = vb_create_flow_action_esp;
	verbs->modify_flow_action_esp = vb_modify_flow_action_esp;
	verbs->destroy_flow_action = vb_destroy_flow_action;
	verbs->create_counters = vb_create_counters;
	verbs->destroy_counters = vb_destroy_counters;
	verbs->attach_counters_point_flow = vb_attach_counters_point_flow;
	verbs->read_counters = vb_read_counters;
}
