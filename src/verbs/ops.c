/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dispatch tables that the public inline functions call through. Everything starts as an
 * answer of EOPNOTSUPP from the table below; what exists is put in its place here (calls that
 * need no driver) and by the driver. docs/support.py reads the table: a line is always
 * OP_KIND(field) and goes when the call is implemented for every model.
 */
#include "util/explain.h"
#include "verbs/context.h"

#define OPS                                                                                        \
	OP_PTR(alloc_mw)                                                                           \
	OP_ERRNO(bind_mw)                                                                          \
	OP_ERRNO(dealloc_mw)                                                                       \
	OP_NEG(poll_cq)                                                                            \
	OP_ERRNO(req_notify_cq)                                                                    \
	OP_POST(post_srq_recv)                                                                     \
	OP_POST(post_send)                                                                         \
	OP_POST(post_recv)

#define OPS_EX                                                                                     \
	OP_VOID(free_buf)                                                                          \
	OP_PTR(alloc_buf)                                                                          \
	OP_ERRNO(dm_export_dmabuf_fd)                                                              \
	OP_PTR(reg_mr_ex)                                                                          \
	OP_ERRNO(dealloc_dmah)                                                                     \
	OP_PTR(alloc_dmah)                                                                         \
	OP_ERRNO(advise_mr)                                                                        \
	OP_PTR(alloc_null_mr)                                                                      \
	OP_ERRNO(read_counters)                                                                    \
	OP_ERRNO(attach_counters_point_flow)                                                       \
	OP_PTR(create_counters)                                                                    \
	OP_ERRNO(destroy_counters)                                                                 \
	OP_PTR(reg_dm_mr)                                                                          \
	OP_PTR(alloc_dm)                                                                           \
	OP_ERRNO(free_dm)                                                                          \
	OP_ERRNO(modify_flow_action_esp)                                                           \
	OP_ERRNO(destroy_flow_action)                                                              \
	OP_PTR(create_flow_action_esp)                                                             \
	OP_ERRNO(modify_qp_rate_limit)                                                             \
	OP_PTR(alloc_parent_domain)                                                                \
	OP_ERRNO(dealloc_td)                                                                       \
	OP_PTR(alloc_td)                                                                           \
	OP_ERRNO(modify_cq)                                                                        \
	OP_POST(post_srq_ops)                                                                      \
	OP_ERRNO(destroy_rwq_ind_table)                                                            \
	OP_PTR(create_rwq_ind_table)                                                               \
	OP_ERRNO(destroy_wq)                                                                       \
	OP_ERRNO(modify_wq)                                                                        \
	OP_PTR(create_wq)                                                                          \
	OP_PTR(create_cq_ex)                                                                       \
	OP_ERRNO(ibv_destroy_flow)                                                                 \
	OP_PTR(ibv_create_flow)                                                                    \
	OP_PTR(open_qp)                                                                            \
	OP_PTR(create_qp_ex)                                                                       \
	OP_ERRNO(get_srq_num)                                                                      \
	OP_PTR(create_srq_ex)                                                                      \
	OP_PTR(open_xrcd)                                                                          \
	OP_ERRNO(close_xrcd)

#define OP_DEFINE(type, field, answer)                                                             \
	static type missing_##field(void)                                                          \
	{                                                                                          \
		explain_stub(#field);                                                              \
		return answer;                                                                     \
	}
#define OP_PTR(field)	OP_DEFINE(void *, field, NULL)
#define OP_ERRNO(field) OP_DEFINE(int, field, EOPNOTSUPP)
#define OP_NEG(field)	OP_DEFINE(int, field, -EOPNOTSUPP)
#define OP_VOID(field)	OP_DEFINE(void, field, )
/* the first request of the chain is the one that was not posted */
#define OP_POST(field)                                                                             \
	static int missing_##field(void *queue, void *wr, void **bad_wr)                           \
	{                                                                                          \
		*bad_wr = wr;                                                                      \
		return explain_stub(#field);                                                       \
	}
OPS
OPS_EX
#undef OP_PTR
#undef OP_ERRNO
#undef OP_NEG
#undef OP_VOID
#undef OP_POST

void vb_ops_init(struct verbs_context *verbs)
{
	/* A stub reads no argument, or those its kind of call has, so any of them may call it. */
#define OP_SET(field)	verbs->context.ops.field = (void *)missing_##field;
#define OP_PTR(field)	OP_SET(field)
#define OP_ERRNO(field) OP_SET(field)
#define OP_NEG(field)	OP_SET(field)
#define OP_POST(field)	OP_SET(field)
	OPS
#undef OP_SET
#define OP_SET(field)  verbs->field = (void *)missing_##field;
#define OP_VOID(field) OP_SET(field)
	OPS_EX

	verbs->query_port = vb_query_port;
	verbs->query_device_ex = vb_query_device_ex;
	verbs->query_rt_values = vb_query_rt_values;
}
