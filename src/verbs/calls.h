/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that programs reach through the dispatch tables and that need no driver; ops.c puts
 * them there. They answer as the public call of the same name does.
 */
#ifndef VERBS_CALLS_H
#define VERBS_CALLS_H

#include "verbs/public.h"

struct ibv_td *vb_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int vb_dealloc_td(struct ibv_td *td);
struct ibv_pd *vb_alloc_parent_domain(struct ibv_context *context,
				      struct ibv_parent_domain_init_attr *attr);

struct ibv_mr *vb_alloc_null_mr(struct ibv_pd *pd);
int vb_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		 struct ibv_sge *list, uint32_t count);

struct ibv_mw *vb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vb_dealloc_mw(struct ibv_mw *mw);

struct ibv_dm *vb_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int vb_free_dm(struct ibv_dm *dm);
struct ibv_mr *vb_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			    unsigned int access);

struct ibv_cq_ex *vb_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int vb_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);

struct ibv_srq *vb_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int vb_get_srq_num(struct ibv_srq *srq, uint32_t *number);

struct ibv_wq *vb_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int vb_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int vb_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *vb_create_rwq_ind_table(struct ibv_context *context,
						  struct ibv_rwq_ind_table_init_attr *attr);
int vb_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);

struct ibv_xrcd *vb_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int vb_close_xrcd(struct ibv_xrcd *xrcd);

struct ibv_qp *vb_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *vb_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
int vb_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);

struct ibv_flow *vb_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int vb_destroy_flow(struct ibv_flow *flow);
struct ibv_flow_action *vb_create_flow_action_esp(struct ibv_context *context,
						  struct ibv_flow_action_esp_attr *attr);
int vb_modify_flow_action_esp(struct ibv_flow_action *action,
			      struct ibv_flow_action_esp_attr *attr);
int vb_destroy_flow_action(struct ibv_flow_action *action);
struct ibv_counters *vb_create_counters(struct ibv_context *context,
					struct ibv_counters_init_attr *attr);
int vb_destroy_counters(struct ibv_counters *counters);
int vb_attach_counters_point_flow(struct ibv_counters *counters,
				  struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int vb_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count,
		     uint32_t flags);

#endif
